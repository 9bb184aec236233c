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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray, floats
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.samplers.arrivals import uniform
from levelled.samplers.blocks import FARTHEST, check_drawable, probabilities, scaled
from levelled.samplers.exact import exact_sum
from levelled.samplers.md5 import first_words

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KeyedPart", "draws_of", "join", "keyed_part"]

LEAST, LARGEST = 1e-280, 1e280  # weights for which no key and no sum leaves the range of a float


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


def keyed_part(
    batch: pa.Table,
    k: int,
    *,
    seed: int,
    key: str,
    weight: str | None,
    log: bool,
    allow_zero: bool,
    first_row: int | None = None,
    until: float = np.inf,
) -> KeyedPart:
    """The part of `race_part` before it is made a table, without keys above `until`."""
    import pyarrow as pa

    if seed >= 2**128:
        raise InputError(f"seed must be below 2**128; it is {seed}.")
    ids = _ids(batch, key)
    weights = _weights(batch, weight, ids, log=log)
    drawable = _drawable(weights, ids, log=log, allow_zero=allow_zero)
    words = first_words(f"{seed}:".encode(), ids.cast(pa.string()))
    _check_distinct(words, ids)
    number, shift = scaled(weights[drawable], log=log)
    totals = {float(one): exact_sum(number[shift == one]) for one in np.unique(shift)}
    keys = _keys(words[drawable], weights[drawable], log=log)
    at = _smallest(keys, k + 1, until)
    row = drawable[at]
    leaders = {
        "id": ids.take(pa.array(row)),
        "row": pa.nulls(len(at), pa.int64()) if first_row is None else row + first_row,
        "weight": number[at],
        "shift": shift[at],
        "key": keys[at],
    }
    excluded = len(ids) - len(drawable)
    return KeyedPart(k, seed, log, len(ids), excluded, totals, _in_order(pa.table(leaders), k + 1))


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


def _ids(batch: pa.Table, key: str) -> pa.Array:
    """The column of ids, as int64 or string."""
    import pyarrow as pa

    ids = _column(batch, key)
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    if not (is_text or pa.types.is_integer(kind) or (not len(ids) and pa.types.is_null(kind))):
        raise InputError(
            f"Ids must be whole numbers or texts, which every engine writes in the same way; the "
            f"column {key!r} is {kind}. Cast it to text."
        )
    if ids.null_count:
        row = int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"Row {row} of the batch has no id in the column {key!r}.")
    try:
        return ids.cast(pa.string() if is_text else pa.int64())
    except pa.ArrowInvalid as wrong:
        raise InputError(f"The ids in {key!r} cannot be used: {wrong}") from wrong


def _weights(batch: pa.Table, weight: str | None, ids: pa.Array, *, log: bool) -> FloatArray:
    if weight is None:
        return np.zeros(len(ids)) if log else np.ones(len(ids))
    column = _column(batch, weight)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ProposalError(f"The item {ids[row].as_py()!r} has no weight in {weight!r}.")
    weights = floats(weight, column.to_numpy(zero_copy_only=False), ndim=1, finite=False)
    with np.errstate(invalid="ignore"):
        good = (
            np.isneginf(weights) | (np.abs(weights) <= FARTHEST)
            if log
            else (weights == 0) | ((weights >= LEAST) & (weights <= LARGEST))
        )
    if not good.all():
        at = int(np.argmin(good))
        wanted = (
            f"Log-weights must be numbers within ±{FARTHEST:g}, or -inf for weight zero"
            if log
            else f"Weights must be 0 or between {LEAST:g} and {LARGEST:g}"
        )
        raise ProposalError(
            f"{wanted}; that of the item {ids[at].as_py()!r} in {weight!r} is {weights[at]}."
        )
    return weights


def _drawable(weights: FloatArray, ids: pa.Array, *, log: bool, allow_zero: bool) -> IntArray:
    """The places of the items whose weight is not zero."""
    drawable = np.flatnonzero(weights > (-np.inf if log else 0.0))
    if len(drawable) < len(weights) and not allow_zero:
        zero = np.setdiff1d(np.arange(len(weights)), drawable)
        raise ProposalError(
            f"The weight of the item {ids[int(zero[0])].as_py()!r} is zero, as are {len(zero)} of "
            f"{len(weights)} in its batch, so no weighting can make an estimate over the whole "
            f"pool unbiased. Mix the weights with uniform ones, or pass allow_zero=True to leave "
            f"those items out and have them counted as excluded."
        )
    return drawable


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


def _column(batch: pa.Table, name: str) -> pa.Array:
    if name not in batch.column_names:
        there = ", ".join(map(repr, batch.column_names[:12]))
        raise InputError(f"The batch has no column {name!r}; it has {there}.")
    return batch.column(name).combine_chunks()
