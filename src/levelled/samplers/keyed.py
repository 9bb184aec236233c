"""A race by key: the time of an item is computed from the seed and its id.

    u = (the first 52 bits of md5("seed:id") + 1/2) / 2^52,    key = -ln(u) / weight

The key is exponential with the weight as its rate, so that the items with the smallest keys, in
order, are draws without replacement in proportion to weight. They depend on the seed, the ids and
the weights alone: not on files, batches, workers or the order of rows, nor on the engine, as every
engine has md5. An id is written in decimal, or is text in UTF-8; the colon ends the seed, so that
no two pairs of seed and id have the same text. Equal keys go by id.

A part keeps the k + 1 smallest keys: one more than is drawn, in case two engines or processors
round the last digit of a logarithm differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray, whole
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError, WeightError
from levelled.samplers.arrivals import uniform
from levelled.samplers.blocks import FARTHEST, check_drawable, probabilities, scaled
from levelled.samplers.columns import column_of, ids_of, name_row, weights_of
from levelled.samplers.exact import exact_sum
from levelled.samplers.md5 import first_words

if TYPE_CHECKING:
    import pyarrow as pa

PLACE = "The batch"
_ROWS = 1 << 18
LEAST, LARGEST = 1e-280, 1e280  # weights for which no key and no sum leaves the range of a float


@dataclass(frozen=True, slots=True)
class KeyedRace:
    """The settings of a race by key: `key` is the column of ids, `weight` that of weights."""

    k: int
    seed: int
    key: str
    weight: str | None
    log: bool
    allow_zero: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=0))
        object.__setattr__(self, "seed", check_seed(self.seed))


def check_seed(seed: int) -> int:
    """Return a seed that all races take."""
    if whole("seed", seed, least=0) >= 2**128:
        raise InputError(f"seed must be below 2**128; it is {seed}.")
    return int(seed)


@dataclass(frozen=True, slots=True, eq=False)
class KeyedPart:
    """The result of a race by key over some of the rows.

    `totals` has the exact sum of the weights in units of e^shift, for each shift. `leaders` has
    the columns id, row (null where rows have no numbers), weight, shift and key, in order of key.
    """

    k: int
    seed: int
    log: bool
    rows: int
    excluded: int
    totals: Mapping[float, Fraction]
    leaders: pa.Table

    @property
    def until(self) -> float:
        """The largest key that is kept: items with larger ones are not drawn."""
        full = self.leaders.num_rows > self.k
        return float(self.leaders.column("key")[-1].as_py()) if full else np.inf


def keyed_part(
    batch: pa.Table, race: KeyedRace, *, first_row: int | None = None, until: float = np.inf
) -> KeyedPart:
    """The race over one batch, without keys above `until`."""
    import pyarrow as pa

    ids = ids_of(batch, race.key, PLACE)
    weights = _weights(batch, race, ids)
    drawable = np.flatnonzero(weights > (-np.inf if race.log else 0.0))
    words = first_words(f"{race.seed}:".encode(), ids.cast(pa.string()))
    _check_distinct(words, ids)
    number, shift = scaled(weights[drawable], log=race.log)
    keys = _keys(words[drawable], weights[drawable], log=race.log)
    at = _smallest(keys, race.k + 1, until)
    row = drawable[at]
    leaders = {
        "id": ids.take(pa.array(row)),
        "row": pa.nulls(len(at), pa.int64()) if first_row is None else row + first_row,
        "weight": number[at],
        "shift": shift[at],
        "key": keys[at],
    }
    return KeyedPart(
        race.k,
        race.seed,
        race.log,
        rows=len(ids),
        excluded=len(ids) - len(drawable),
        totals={float(one): exact_sum(number[shift == one]) for one in np.unique(shift)},
        leaders=_in_order(pa.table(leaders), race.k + 1),
    )


def race_by_key(batches: Iterable[pa.Table], race: KeyedRace) -> Draws:
    """The draws of a race over batches, in one pass; rows are counted from the first batch on."""
    parts, n_rows, until = [], 0, np.inf
    for batch in _pieces(batches):
        parts.append(keyed_part(batch, race, first_row=n_rows, until=until))
        n_rows += batch.num_rows
        if sum(one.leaders.num_rows for one in parts) > 2 * race.k + 2:
            parts = [join(parts)]
            until = parts[0].until
    check_drawable(race.k, n_rows, 0)
    return draws_of(join(parts))


def _pieces(batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, not too many at a time for the cache."""
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def join(parts: Iterable[KeyedPart]) -> KeyedPart:
    """All parts as one, in any order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [*parts]
    if not parts:
        raise InputError("There is no part to merge.")
    if len({(one.k, one.seed, one.log) for one in parts}) > 1:
        raise InputError("Parts of one race share k, seed and log; these do not.")
    some = [one.leaders for one in parts if one.leaders.num_rows] or [parts[0].leaders]
    if len({one.schema.field("id").type for one in some}) > 1:
        raise InputError("The ids of some parts are whole numbers and those of others are texts.")
    leaders = pa.concat_tables(some).combine_chunks()
    if pc.count_distinct(leaders["id"]).as_py() < leaders.num_rows:
        counts = pc.value_counts(leaders["id"])
        raise _repeated(next(one["values"] for one in counts.to_pylist() if one["counts"] > 1))
    k, seed, log = parts[0].k, parts[0].seed, parts[0].log
    rows, excluded = sum(one.rows for one in parts), sum(one.excluded for one in parts)
    totals: dict[float, Fraction] = {}
    for shift, total in (item for one in parts for item in one.totals.items()):
        totals[shift] = totals.get(shift, Fraction(0)) + total
    return KeyedPart(k, seed, log, rows, excluded, totals, _in_order(leaders, k + 1))


def draws_of(part: KeyedPart) -> Draws:
    """The draws of a race, from the joined parts of all its rows.

    What is left of the total after each draw is an exact difference.
    """
    check_drawable(part.k, part.rows, part.excluded)
    drawn = part.leaders.slice(0, part.k)
    weight, shift = (drawn.column(name).to_numpy() for name in ("weight", "shift"))
    left = {one: part.totals[one] - exact_sum(weight[shift == one]) for one in part.totals}
    top = max((one for one in left if left[one]), default=-np.inf)
    rest = sum(float(left[one]) * np.exp(one - top) for one in sorted(left) if left[one])
    rows = drawn.column("row")
    return Draws(
        np.arange(part.k) if rows.null_count else rows.to_numpy(),
        probabilities(weight, shift, rest, top),
        part.rows,
        part.excluded,
        ids=drawn.column("id").to_pylist(),
    )


def _keys(words: NDArray[np.uint64], weights: FloatArray, *, log: bool) -> FloatArray:
    """The keys of items, or with log-weights the logarithms of the keys."""
    waits = -np.log(uniform(words))
    return np.log(waits) - weights if log else waits / weights


def _smallest(keys: FloatArray, n: int, until: float) -> IntArray:
    """The places of the n smallest keys that are not above `until`, and of all that equal them."""
    if len(keys) > n:
        until = min(until, np.partition(keys, n - 1)[n - 1])
    return np.flatnonzero(keys <= until)


def _in_order(leaders: pa.Table, n: int) -> pa.Table:
    """The n rows with the smallest keys, in order; equal keys go by id."""
    keys = leaders.column("key").to_numpy()
    order = np.argsort(keys, kind="stable")[:n]
    if (np.diff(np.sort(keys)[: n + 1]) == 0).any():
        ids = leaders.column("id").to_pylist()
        order = np.array(sorted(range(len(ids)), key=lambda at: (keys[at], ids[at]))[:n])
    return leaders.take(order)


def _weights(batch: pa.Table, race: KeyedRace, ids: pa.Array) -> FloatArray:
    """The weights of a batch; an error names the item."""
    if race.weight is None:
        return np.full(len(ids), 0.0 if race.log else 1.0)
    try:
        weights = weights_of(column_of(batch, race.weight, PLACE), race.weight, PLACE)
        _check_weights(weights, race, ids)
    except WeightError as wrong:
        item = f"Item {ids[wrong.row].as_py()!r}"
        raise name_row(wrong, item, race.weight, log=race.log) from None
    return weights


def _check_weights(weights: FloatArray, race: KeyedRace, ids: pa.Array) -> None:
    if race.log:
        zero, good = np.isneginf(weights), np.abs(weights) <= FARTHEST
    else:
        zero, good = weights == 0, (weights >= LEAST) & (weights <= LARGEST)
    if race.allow_zero:
        good |= zero
    if good.all():
        return
    at = int(np.argmin(good))
    if not race.log and 0 < weights[at] < np.inf:
        raise ProposalError(
            f"A race by key takes weights from {LEAST:g} to {LARGEST:g}. Item {ids[at].as_py()!r} "
            f"has {weights[at]} in the column {race.weight!r}. Pass logarithms with log=True."
        )
    raise WeightError("", at, float(weights[at]))


def _check_distinct(words: NDArray[np.uint64], ids: pa.Array) -> None:
    """Refuse a batch in which an id comes twice; sorting hashes is quicker than comparing ids."""
    ordered = np.sort(words)
    for word in ordered[1:][ordered[1:] == ordered[:-1]]:
        same = ids.take(np.flatnonzero(words == word)).to_pylist()
        if len(set(same)) < len(same):
            raise _repeated(max(same, key=same.count))


def _repeated(one: str | int) -> InputError:
    return InputError(
        f"The id {one!r} comes twice. An item is drawn by its id, so each row needs one of its own."
    )
