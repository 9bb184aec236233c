"""Draws from the result of the SELECT that `select_statement` writes.

Nothing in it is taken on trust: keys, order and probabilities are computed anew from ids and
weights, and what does not fit together is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.samplers.blocks import check_drawable
from levelled.samplers.exact import exact_sum
from levelled.samplers.keyed import LARGEST, LEAST, KeyedPart, KeyedRace, draws_of, keyed_part
from levelled.samplers.part_tables import as_table
from levelled.samplers.sql import BASE, TOTALS

if TYPE_CHECKING:
    import pyarrow as pa

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
"""How far an engine may round differently than we do, as a share of a value."""


def draws_from_result(result: object) -> Draws:
    """The draws in the result of the SELECT of `select_statement`, with their ids.

    `result` is an Arrow table, a data frame with an Arrow interface, or a mapping of columns. It
    must be whole: all columns and rows, ids and weights unchanged. Keys and probabilities are
    computed anew, so the draws are those of `race_part` on the same rows; probabilities agree to 12
    digits.
    """
    table = _typed(as_table(result))
    about = {name: _only_value(table, name) for name in _SAME}
    k = about["draws_wanted"]
    _check_pool(table, about, k)
    race = KeyedRace(k, int(about["seed"]), "id", "weight", log=False, allow_zero=False)
    part = keyed_part(table, race, first_row=0)
    rows = part.leaders.column("row").to_numpy()
    _check_agreement("race_key", part.leaders.column("key").to_numpy(), table, rows)
    draws = replace(draws_of(_whole_pool(part, about)), index=np.arange(k))
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


def _only_value(table: pa.Table, name: str) -> Any:  # noqa: ANN401
    values = table.column(name).unique().to_pylist()
    if len(values) != 1:
        raise InputError(
            f"The column {name!r} of the result has {len(values)} values where it has one in each "
            f"row of the same SELECT: give the rows of one result."
        )
    return values[0]


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
