"""A race by key as one SELECT, for data that stays in a database.

The engine computes keys, counts and totals; `draws_from_result` turns its result into draws. The
weights are added up as whole numbers, in four sums of 24 bits each, so that the totals are exact
on every engine, in any order and for up to 2^39 rows.

Most items cannot be among the first: with total W and largest weight w, at least
(W / w) (x - x^2 / 2) keys are expected below x / w, and each such item has u >= e^-x. So texts are
compared, digest by digest, before numbers and logarithms are made of the few that pass. x is chosen
such that fewer than k + 1 pass less than once in 10^17 races; the result is then too short, and
`draws_from_result` refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled._check import FloatArray, choice, whole
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.samplers import keyed
from levelled.samplers.blocks import check_drawable, check_seed
from levelled.samplers.keyed import LARGEST, LEAST, KeyedPart, exact_sum

if TYPE_CHECKING:
    import pyarrow as pa

BASE, DIGITS = 2**24, 4
"""Weights are added up as numbers of four digits in this base.

Sums of 2^39 digits of 24 bits fit 63 bits. Three digits would cut weights of less than 2^-19 of the
largest within the 53 bits of a float; four do so from 2^-43 on.
"""
TOTALS = [f"total_{number}" for number in range(1, DIGITS + 1)]
"""The columns with the sums of the digits."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one engine."""

    digest: str  # the md5 of {text} in hexadecimal
    bits: str  # the number that {digits}, in hexadecimal, stand for
    double: str = "DOUBLE"
    integer: str = "INTEGER"
    long: str = "BIGINT"
    text: str = "VARCHAR"
    hex: str | None = None  # 13 digits of {number}; without it, the keys of all rows are compared
    fence: str = ""  # ends a subquery that is not to be merged with what reads it
    quote: str = '"'
    never: str = ""  # signs that a name cannot have
    file: str | None = None  # a pattern of names that have dots in them
    is_run_in_tests: bool = True

    def quoted(self, name: str) -> str:
        """A name that can only be read as a name."""
        if not name or not name.isprintable() or {*name} & {*self.never}:
            raise InputError(f"{name!r} cannot be the name of a table or a column.")
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def quoted_table(self, table: str) -> str:
        """A name that may be qualified: catalogue.schema.table."""
        if self.file is not None and re.search(self.file, table):
            return self.quoted(table)
        return ".".join(map(self.quoted, table.split(".")))


DIALECTS = {
    "duckdb": Dialect(
        digest="md5({text})",
        bits="CAST('0x' || {digits} AS BIGINT)",
        hex="printf('%013x', {number})",
        file=r"\.(parquet|csv|json|jsonl|ndjson)(\.\w+)?$",
    ),
    "postgresql": Dialect(
        double="DOUBLE PRECISION",
        text="TEXT",
        digest="md5(convert_to({text}, 'UTF8')) COLLATE \"C\"",
        bits="CAST(CAST('x' || {digits} AS BIT(52)) AS BIGINT)",
        hex="lpad(to_hex({number}), 13, '0')",
        fence=" OFFSET 0",
    ),
    "spark": Dialect(
        integer="INT",
        text="STRING",
        digest="md5({text})",
        bits="CAST(conv({digits}, 16, 10) AS BIGINT)",
        hex="lower(lpad(hex({number}), 13, '0'))",
        quote="`",
        never="\\",
    ),
    "bigquery": Dialect(
        double="FLOAT64",
        integer="INT64",
        long="INT64",
        text="STRING",
        digest="TO_HEX(MD5({text}))",
        bits="CAST(CONCAT('0x', {digits}) AS INT64)",
        quote="`",
        never="`\\",
        is_run_in_tests=False,
    ),
    "snowflake": Dialect(
        double="FLOAT",
        digest="MD5({text})",
        bits="TO_NUMBER({digits}, 'XXXXXXXXXXXXX')",
        is_run_in_tests=False,
    ),
}
"""The engines whose SELECT can be written."""


_NOT_RUN = "-- The tests of Levelled parse this dialect, but run it on no engine."


def select_statement(
    dialect: str,
    table: str,
    k: int,
    *,
    seed: int,
    key: str = "id",
    weight: str | None = None,
    allow_zero: bool = False,
) -> str:
    """The SELECT that draws k rows of a table by key: the same rows on every engine.

    The result has k + 1 rows: the draws in order and a spare, each with its probability, to about
    12 digits; it is null after 99.9% of the weight was drawn, and where a row has no id or a wrong
    weight. `draws_from_result` checks it all and computes the probabilities anew. Names are quoted,
    so write them as the engine keeps them: Snowflake's are mostly in capitals.

    Parameters
    ----------
    dialect : "duckdb", "postgresql", "spark", "bigquery" or "snowflake"; the text for the last two
        is not run in our tests.
    table : The table, which may be qualified by dots; for DuckDB also the path of a file.
    k, seed, allow_zero : As for `race`.
    key : The column of ids, whole numbers or texts.
    weight : The column of weights; without it all rows weigh the same.

    >>> print(select_statement("duckdb", "preds", 100, seed=7, weight="score").splitlines()[-1])
    FROM levelled_about LEFT JOIN levelled_leaders ON TRUE ORDER BY draw
    """
    words = DIALECTS[choice("dialect", dialect, [*DIALECTS])]
    if table.lower().startswith("levelled_"):
        raise InputError(f"{table!r} may be a name within the SELECT: qualify it by its schema.")
    k, seed = whole("k", k, least=1), check_seed(seed)
    pool = _pool(words, table, key, weight)
    lines = [
        f"-- Draws {k} rows by key, and one to spare. Write the result to a Parquet, CSV or JSON",
        "-- Lines file, then run: levelled draw --from-result FILE --out draws.parquet",
        *([] if words.is_run_in_tests else [_NOT_RUN]),
        *_about(words, k, pool, allow_zero),
        *_leaders(words, k, seed, pool),
        "SELECT draw, id, weight,",
        "  CASE WHEN pool_size = drawable + excluded AND total - drawn + weight > total / 1000",
        "    THEN weight / (total - drawn + weight) END AS probability,",
        "  race_key, pool_size, excluded, pool_size - drawable - excluded AS wrong_rows, wrong_id,",
        f"  unit, {', '.join(TOTALS)}, '{seed}' AS seed, {k} AS draws_wanted",
        "FROM levelled_about LEFT JOIN levelled_leaders ON TRUE ORDER BY draw",
    ]
    return "\n".join(lines)


def _pool(words: Dialect, table: str, key: str, weight: str | None) -> str:
    """All rows; `weight` is null if the row cannot be drawn.

    It is written out wherever it is read: some engines keep a copy of a CTE that is read twice.
    """
    column = "1" if weight is None else words.quoted(weight)
    least, largest = (f"CAST('{one:g}' AS {words.double})" for one in (LEAST, LARGEST))
    return (
        f"(SELECT id, given, CASE WHEN id IS NOT NULL\n"
        f"      AND given >= {least} AND given <= {largest} THEN given END AS weight\n"
        f"    FROM (SELECT {words.quoted(key)} AS id, CAST({column} AS {words.double}) AS given\n"
        f"      FROM {words.quoted_table(table)}) AS named) AS pool"
    )


def _about(words: Dialect, k: int, pool: str, allow_zero: bool) -> list[str]:
    """CTEs of one row: counts, the unit of the sums, the sums, and the bound on keys."""
    zero = "id IS NOT NULL AND given = 0" if allow_zero else "1 = 0"
    return [
        "WITH levelled_counted AS (",
        "  SELECT count(*) AS pool_size, count(weight) AS drawable, max(weight) AS largest,",
        f"    count(CASE WHEN {zero} THEN 1 END) AS excluded,",
        f"    min(CASE WHEN weight IS NOT NULL OR ({zero}) THEN NULL",
        f"      ELSE CAST(id AS {words.text}) END) AS wrong_id",
        f"  FROM {pool}",
        "), levelled_scaled AS (",
        "  SELECT levelled_counted.*, power(2, ceil(ln(largest) / ln(2))) AS unit",
        "  FROM levelled_counted",
        *_sums(words, pool),
        *_bound(words, k),
    ]


def _sums(words: Dialect, pool: str) -> list[str]:
    """CTEs of the sums of each digit, and of the total that they make."""
    digits = [f"digit_{number}" for number in range(1, DIGITS + 1)]
    rows = f"(SELECT weight / unit * {BASE} AS digit_1\n  FROM {pool}\n"
    rows += f"  CROSS JOIN levelled_scaled WHERE weight IS NOT NULL{words.fence}) AS rest_1"
    for at in range(1, DIGITS):
        last = digits[at - 1]
        rest = f"({last} - floor({last})) * {BASE} AS {digits[at]}"
        taken = ", ".join(digits[:at])
        rows = f"(SELECT {taken}, {rest} FROM\n  {rows}{words.fence}) AS rest_{at + 1}"
    sums = [
        f"CAST(sum(CAST(floor({digit}) AS {words.integer})) AS {words.long}) AS {name}"
        for digit, name in zip(digits, TOTALS, strict=True)
    ]
    *others, last = (f"CAST({name} AS {words.double})" for name in TOTALS)
    total = f"{last} / {BASE}"
    for other in reversed(others):
        total = f"({other}\n      + {total}) / {BASE}"
    return [
        "), levelled_summed AS (",
        "  SELECT " + ",\n    ".join(sums),
        f"  FROM {rows}",
        "), levelled_weighed AS (",
        "  SELECT levelled_scaled.*, levelled_summed.*,",
        f"    {total} * unit AS total",
        "  FROM levelled_scaled CROSS JOIN levelled_summed",
    ]


def _bound(words: Dialect, k: int) -> list[str]:
    if words.hex is None:
        return ["), levelled_about AS (", "  SELECT * FROM levelled_weighed"]
    number = f"CAST(floor(exp(-x) * {2**52}) AS {words.long}) - 1"
    share = f"{2 * _expected(k)} * largest / total"
    return [
        "), levelled_limited AS (",
        f"  SELECT levelled_weighed.*, CASE WHEN {share} < 1 THEN 1 - sqrt(1 - {share}) END AS x",
        "  FROM levelled_weighed",
        "), levelled_about AS (",
        "  SELECT levelled_limited.*, coalesce(x / largest, 1e300) AS latest,",
        f"    coalesce({words.hex.format(number=number)}, '') AS bound FROM levelled_limited",
    ]


def _leaders(words: Dialect, k: int, seed: int, pool: str) -> list[str]:
    """CTEs of the digests, the keys and the rows with the smallest keys."""
    text = f"concat('{seed}:', CAST(id AS {words.text}))"
    bits = words.bits.format(digits="substr(digest, 1, 13)")
    by_key = "ORDER BY race_key, id"
    return [
        "), levelled_digests AS (",
        f"  SELECT id, weight, {words.digest.format(text=text)} AS digest",
        f"  FROM {pool}",
        "  WHERE weight IS NOT NULL",
        "), levelled_keys AS (",
        f"  SELECT id, weight, -ln((CAST({bits} AS {words.double})",
        f"    + 0.5) / {2**52}) / weight AS race_key FROM levelled_digests",
        *(["  WHERE digest >= (SELECT bound FROM levelled_about)"] if words.hex else []),
        "), levelled_leaders AS (",
        f"  SELECT id, weight, race_key, row_number() OVER ({by_key}) AS draw,",
        f"    sum(weight) OVER ({by_key} ROWS UNBOUNDED PRECEDING) AS drawn",
        "  FROM (SELECT id, weight, race_key FROM levelled_keys",
        *(["    WHERE race_key <= (SELECT latest FROM levelled_about)"] if words.hex else []),
        f"    {by_key} LIMIT {k + 1}) AS firsts",
        ")",
    ]


def _expected(k: int) -> int:
    """Keys to be expected below a bound, so that k + 1 are there almost surely.

    By Chernoff's bound there are fewer, if m are expected, at most with the probability
    exp(-(m - k)^2 / (2 m)); that is below 10^-17 here. The more are expected, the more
    logarithms an engine computes.
    """
    return int(k + 9 * sqrt(k) + 80)


_SAME = {
    **dict.fromkeys(("pool_size", "excluded", "wrong_rows", "draws_wanted"), "int64"),
    **dict.fromkeys(TOTALS, "int64"),
    "unit": "float64",
    "seed": "string",
    "wrong_id": "string",
}
"""Columns with the same value in every row."""
_TYPES = {
    "draw": "int64",
    **dict.fromkeys(("weight", "probability", "race_key"), "float64"),
    **_SAME,
}
_AGREE = 1e-9
"""How far an engine may round differently than we do, as a share of a value.

Logarithms and sums of engines differ by about 10^-15 and 10^-12; an id, a weight or a seed that was
changed moves a key by far more.
"""


def draws_from_result(result: object) -> Draws:
    """The draws in the result of the SELECT of `select_statement`, with their ids.

    `result` is an Arrow table, a data frame with an Arrow interface, or a mapping of columns. It
    must be whole: all columns and rows, ids and weights unchanged. Keys and probabilities are
    computed anew, so the draws are those of `race_part` on the same rows; probabilities agree to 12
    digits.
    """
    table = _typed(keyed.as_table(result))
    about: dict[str, Any] = {}
    for name in _SAME:
        values = table.column(name).unique().to_pylist()
        if len(values) != 1:
            raise InputError(
                f"The column {name!r} of the result has {len(values)} values where it has one in "
                f"each row of the same SELECT: give the rows of one result."
            )
        about[name] = values[0]
    k = about["draws_wanted"]
    _check_pool(table, about, k)
    race = keyed.KeyedRace(k, int(about["seed"]), "id", "weight", log=False, allow_zero=False)
    part = keyed.keyed_part(table, race, first_row=0)
    rows = part.leaders.column("row").to_numpy()
    _check_agreement("race_key", part.leaders.column("key").to_numpy(), table, rows)
    draws = replace(keyed.draws_of(_whole_pool(part, about)), index=np.arange(k))
    _check_agreement("probability", draws.probability, table, rows[:k])
    return draws


def _typed(table: pa.Table) -> pa.Table:
    """The columns of a result in their types; some engines write names in capitals."""
    import pyarrow as pa

    table = table.rename_columns([name.lower() for name in table.column_names])
    columns = {}
    for name in ("id", *_TYPES):
        if name not in table.column_names:
            raise InputError(
                f"The result has no column {name!r}. It must be the whole result of the SELECT "
                f"that levelled draw --sql prints."
            )
        try:
            columns[name] = table.column(name).cast(_TYPES.get(name, table.field(name).type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as wrong:
            raise InputError(
                f"The column {name!r} of the result is not as the SELECT gives it: {wrong}"
            ) from wrong
    return pa.table(columns)


def _check_pool(table: pa.Table, about: Mapping[str, Any], k: int) -> None:
    """Refuse a table that cannot be drawn from, and a result that is not whole."""
    if wrong := about["wrong_rows"]:
        one = about["wrong_id"]
        raise ProposalError(
            f"{wrong} of {about['pool_size']} rows of the table have no id, or a weight that is "
            f"missing, zero, negative, infinite or not between {LEAST:g} and {LARGEST:g}: "
            f"{'a row without an id' if one is None else f'id {one!r}'}, for example. Correct "
            f"them; weights of zero are left out by a SELECT with --allow-zero."
        )
    check_drawable(k, about["pool_size"], about["excluded"])
    expected = min(k + 1, about["pool_size"] - about["excluded"])
    if sorted(table.column("draw").to_pylist()) != [*range(1, expected + 1)]:
        raise InputError(
            f"The result must have the draws 1 to {expected}, each in one row; it has "
            f"{table.num_rows} rows. Write all of it to the file; if it is whole, ids come twice "
            f"in the table: give each row an id of its own."
        )


def _check_agreement(name: str, ours: FloatArray, table: pa.Table, rows: FloatArray) -> None:
    """Refuse a column that differs from what is computed anew; nulls are passed over."""
    theirs = table.column(name).to_numpy()[rows]
    differ = np.flatnonzero(np.abs(theirs - ours) > _AGREE * ours)
    if differ.size:
        at = differ[0]
        one = table.column("id")[int(rows[at])].as_py()
        raise InputError(
            f"The result does not fit together: its {name} of id {one!r} is {theirs[at]}, but "
            f"{ours[at]} follows from its seed, ids and weights. They must come from the engine as "
            f"they are, without rounding."
        )


def _whole_pool(part: KeyedPart, about: Mapping[str, Any]) -> KeyedPart:
    """The part with the counts and the total of all rows, of which it has the first.

    The engine cuts each weight after 96 binary digits of the unit. What it cuts from the rows that
    are here is added again; of the others too much may be missing if they are all tiny.
    """
    unit = Fraction(about["unit"])
    cell = unit / BASE ** len(TOTALS)
    total = sum(about[name] * unit / BASE**digit for digit, name in enumerate(TOTALS, start=1))
    weights = part.leaders.column("weight").to_numpy()
    total += (
        exact_sum(weights) - sum(floor(Fraction(one) / cell) for one in weights.tolist()) * cell
    )
    n_others = about["pool_size"] - about["excluded"] - len(weights)
    left = total - exact_sum(weights[: part.k - 1])
    if n_others * cell > _AGREE / 1000 * left:
        raise ProposalError(
            f"The weights differ too much for sums in SQL: {float(left):g} is left for draw "
            f"{part.k}, of weights up to {about['unit']:g}. Draw fewer rows, or use "
            f"levelled.samplers.race_batches with key."
        )
    return replace(part, rows=about["pool_size"], excluded=about["excluded"], totals={0.0: total})
