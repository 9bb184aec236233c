"""A race by key: the time of an item is computed from the seed and its id.

    u = (the first 52 bits of md5("seed:id") + 1/2) / 2^52,    key = -ln(u) / weight

The key is exponential with the weight as its rate, so that the items with the smallest keys, in
order, are draws without replacement in proportion to weight. They depend on the seed, the ids and
the weights alone: not on files, batches, workers or the order of rows, nor on the engine, as every
engine has md5. An id is written in decimal, or is text in UTF-8; the colon ends the seed, so that
no two pairs of seed and id have the same text. Equal keys go by id.

A part keeps the k + 1 smallest keys: one more than is drawn, in case two engines or processors
round the last digit of a logarithm differently. Weights are added up without rounding, so that the
total does not depend on the order or on the split. Parts are moved as Arrow tables of one row.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, whole
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError, WeightError
from levelled.samplers import blocks

if TYPE_CHECKING:
    import pyarrow as pa


_LONGEST = 55  # bytes of a message that fits one block of 64, with its end mark and its length
_TEXTS = 16_384  # texts hashed at once: they stay in the cache
_Words = NDArray[np.uint64]
_Block = NDArray[np.uint32]

# RFC 1321: the four words of the state, the constants of the 64 steps, and their rotations.
_STATE = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES = [np.uint32(math.floor(abs(math.sin(step + 1)) * 2**32)) for step in range(64)]
_TURNS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
_PLACES = ((1, 0), (5, 1), (3, 5), (7, 0))  # step i of a round reads word (a * i + b) % 16


def first_words(prefix: bytes, texts: pa.StringArray) -> _Words:
    """The first 8 bytes of md5(prefix + text) for each text, as big-endian numbers.

    The prefix must be shorter than 56 bytes.

    >>> import pyarrow as pa
    >>> [f"{word:016x}" for word in first_words(b"7:", pa.array(["12", "a" * 80])).tolist()]
    ['d22e2ce9601dc1bb', '10a46f45e3d53bda']
    """
    words = np.empty(len(texts), np.uint64)
    for start in range(0, len(texts), _TEXTS):
        chunk = texts.slice(start, _TEXTS)
        _, offsets, buffer = chunk.buffers()
        edges = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(buffer or b"", np.uint8)
        length = np.diff(edges)
        long = len(prefix) + length > _LONGEST
        block = _message(prefix, data, edges, np.where(long, 0, length))
        words[start : start + _TEXTS] = _digest(block)
        for at in np.flatnonzero(long).tolist():
            text = data[edges[at] : edges[at + 1]].tobytes()
            whole = hashlib.md5(prefix + text, usedforsecurity=False).digest()
            words[start + at] = int.from_bytes(whole[:8], "big")
    return words


def _message(
    prefix: bytes, data: NDArray[np.uint8], edges: NDArray[np.int32], length: NDArray[np.int32]
) -> _Block:
    """The padded message of each text as 16 words: an array [16, texts]."""
    n, skip = len(length), len(prefix)
    message = np.zeros((n, 64), np.uint8)
    message[:, :skip] = np.frombuffer(prefix, np.uint8)
    within = np.arange(length.max(), dtype=np.int32)
    if len(within):
        signs = data.take(edges[:-1, None] + within, mode="clip")
        signs *= within < length[:, None]
        message[:, skip : skip + len(within)] = signs
    message[np.arange(n), skip + length] = 0x80
    words = message.view("<u4").astype(np.uint32)
    words[:, 14] = 8 * (skip + length)
    return np.ascontiguousarray(words.T)


def _digest(message: _Block) -> _Words:
    """The 64 steps of md5 on one block a text, and the first two words of the result."""
    a, b, c, d = (np.full(message.shape[1], word, np.uint32) for word in _STATE)
    mixed, high = np.empty_like(a), np.empty_like(a)
    for step in range(64):
        part, within = divmod(step, 16)
        _mix(part, b, c, d, mixed, high)
        factor, offset = _PLACES[part]
        mixed += message[(factor * step + offset) % 16]
        mixed += _SINES[step]
        mixed += a
        turn = _TURNS[part][within % 4]
        np.right_shift(mixed, np.uint32(32 - turn), out=high)
        np.left_shift(mixed, np.uint32(turn), out=mixed)
        mixed |= high
        mixed += b
        a, b, c, d, mixed = d, mixed, b, c, a
    a += np.uint32(_STATE[0])
    b += np.uint32(_STATE[1])
    return (a.byteswap().astype(np.uint64) << np.uint64(32)) | b.byteswap()


def _mix(part: int, b: _Block, c: _Block, d: _Block, out: _Block, spare: _Block) -> None:
    """The function of a round, into `out`: F, G, H and I of the RFC."""
    if part == 0:  # (b & c) | (~b & d)
        np.bitwise_xor(c, d, out=out)
        out &= b
        out ^= d
    elif part == 1:  # (d & b) | (~d & c)
        np.bitwise_xor(b, c, out=out)
        out &= d
        out ^= c
    elif part == 2:
        np.bitwise_xor(b, c, out=out)
        out ^= d
    else:
        np.invert(d, out=spare)
        spare |= b
        np.bitwise_xor(c, spare, out=out)


def column_of(batch: pa.RecordBatch | pa.Table, name: str, place: str) -> pa.Array:
    """A column of a batch as one array; `place` says in errors what the batch is."""
    if name not in batch.schema.names:
        there = ", ".join(map(repr, batch.schema.names[:12]))
        raise InputError(f"{place} has no column {name!r}; it has {there}.")
    column = batch.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def ids_of(batch: pa.Table, key: str) -> pa.Array:
    """The column of ids, as int64 or string."""
    import pyarrow as pa

    ids = column_of(batch, key, _PLACE)
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    if not (is_text or pa.types.is_integer(kind) or (not len(ids) and pa.types.is_null(kind))):
        raise InputError(
            f"Ids must be whole numbers or texts, which every engine writes in the same way; the "
            f"column {key!r} is {kind}. Cast it to text."
        )
    if ids.null_count:
        row = int(np.argmax(np.asarray(ids.is_null())))
        raise InputError(f"Row {row} of the batch has no id in the column {key!r}.")
    try:
        return ids.cast(pa.string() if is_text else pa.int64())
    except pa.ArrowInvalid as wrong:
        raise InputError(f"The ids in {key!r} cannot be used: {wrong}") from wrong


def weights_of(column: pa.Array | pa.ChunkedArray, name: str, place: str) -> FloatArray:
    """A column as weights, without a copy if it holds doubles; `place` says what it is part of.

    A gap becomes NaN, which a race refuses.

    >>> import pyarrow as pa
    >>> weights_of(pa.array([1, 2]), "score", "The pool")
    array([1., 2.])
    """
    import pyarrow as pa

    kind, types = column.type, pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"{place} has no numbers in the column {name!r}, but {kind}.")
    if not types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    array: FloatArray = column.to_numpy(zero_copy_only=False)
    return array


def name_row(wrong: WeightError, row: str, column: str, *, log: bool) -> WeightError:
    """The same error in terms of a row and a column that the user knows."""
    if np.isnan(wrong.value):
        message = f"{row} has no number in the column {column!r}: it is missing or NaN."
    elif wrong.value == (-np.inf if log else 0.0):
        message = (
            f"{row} has weight zero in the column {column!r}, so no weighting can make an estimate "
            f"over the whole pool unbiased. Mix the weights with uniform ones (--floor 0.05), or "
            f"allow weights of zero (allow_zero=True, --allow-zero): those items are then left out "
            f"and counted as excluded."
        )
    else:
        message = f"{blocks.wanted(log=log)}. {row} has {wrong.value} in the column {column!r}."
    return WeightError(message, wrong.row, wrong.value)


_TERMS = 1 << 14  # terms added at once: they stay in the cache, and sums of halves fit a float
_HALF = 26  # bits of the lower half of a mantissa of 53


def exact_sum(values: FloatArray) -> Fraction:
    """The sum of finite floats as a fraction.

    Terms of the same exponent are integers in the same unit. Their upper and lower halves are
    added as floats that stay whole numbers below 2**53.

    >>> exact_sum(np.array([1e300, 0.5, -1e300]))
    Fraction(1, 2)
    """
    sums: dict[int, int] = {}
    for start in range(0, len(values), _TERMS):
        mantissa, exponent = np.frexp(values[start : start + _TERMS])
        whole = (mantissa * 2.0**53).astype(np.int64)
        lowest = int(exponent.min())
        upper = np.bincount(exponent - lowest, whole >> _HALF)
        lower = np.bincount(exponent - lowest, whole & (1 << _HALF) - 1)
        for at in np.flatnonzero((upper != 0) | (lower != 0)).tolist():
            total = (int(upper[at]) << _HALF) + int(lower[at])
            sums[lowest + at] = sums.get(lowest + at, 0) + total
    if not sums:
        return Fraction(0)
    unit = min(sums)
    total = sum(part << (exponent - unit) for exponent, part in sums.items())
    return Fraction(total) * Fraction(2) ** (unit - 53)


_PLACE = "The batch"
_ROWS = 1 << 18  # rows of a piece: they stay in the cache
# Keys are -ln(u) / weight with 10^-16 < -ln(u) < 37, and a pool has fewer than 10^20 items: for
# weights in these limits no key and no sum leaves the range of a float, on any engine.
LEAST, LARGEST = 1e-280, 1e280


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
        object.__setattr__(self, "seed", blocks.check_seed(self.seed))


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

    ids = ids_of(batch, race.key)
    weights = _weights(batch, race, ids)
    drawable = np.flatnonzero(weights > (-np.inf if race.log else 0.0))
    words = first_words(f"{race.seed}:".encode(), ids.cast(pa.string()))
    ordered = np.sort(words)  # sorting hashes is quicker than comparing ids
    for word in ordered[1:][ordered[1:] == ordered[:-1]]:
        same = ids.take(np.flatnonzero(words == word)).to_pylist()
        if len(set(same)) < len(same):
            raise _repeated(max(same, key=same.count))
    number, shift = blocks.scaled(weights[drawable], log=race.log)
    waits = -np.log(blocks.uniform(words[drawable]))
    keys = np.log(waits) - weights[drawable] if race.log else waits / weights[drawable]
    if len(keys) > race.k + 1:  # a partition finds the bound without sorting all keys
        until = min(until, np.partition(keys, race.k)[race.k])
    at = np.flatnonzero(keys <= until)
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
    # Not too many rows at a time for the cache.
    pieces = (one.slice(at, _ROWS) for one in batches for at in range(0, one.num_rows, _ROWS))
    for batch in pieces:
        parts.append(keyed_part(batch, race, first_row=n_rows, until=until))
        n_rows += batch.num_rows
        if sum(one.leaders.num_rows for one in parts) > 2 * race.k + 2:
            parts = [join(parts)]
            until = parts[0].until
    blocks.check_drawable(race.k, n_rows, 0)
    return draws_of(join(parts))


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
    blocks.check_drawable(part.k, part.rows, part.excluded)
    drawn = part.leaders.slice(0, part.k)
    weight, shift = (drawn.column(name).to_numpy() for name in ("weight", "shift"))
    left = {one: part.totals[one] - exact_sum(weight[shift == one]) for one in part.totals}
    top = max((one for one in left if left[one]), default=-np.inf)
    rest = sum(float(left[one]) * np.exp(one - top) for one in sorted(left) if left[one])
    rows = drawn.column("row")
    return Draws(
        np.arange(part.k) if rows.null_count else rows.to_numpy(),
        blocks.probabilities(weight, shift, rest, top),
        part.rows,
        part.excluded,
        ids=drawn.column("id").to_pylist(),
    )


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
        weights = weights_of(column_of(batch, race.weight, _PLACE), race.weight, _PLACE)
        _check_weights(weights, race, ids)
    except WeightError as wrong:
        item = f"Item {ids[wrong.row].as_py()!r}"
        raise name_row(wrong, item, race.weight, log=race.log) from None
    return weights


def _check_weights(weights: FloatArray, race: KeyedRace, ids: pa.Array) -> None:
    if race.log:
        zero, good = np.isneginf(weights), np.abs(weights) <= blocks.FARTHEST
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


def _repeated(one: str | int) -> InputError:
    return InputError(
        f"The id {one!r} comes twice. An item is drawn by its id, so each row needs one of its own."
    )


_ABOUT = ("k", "log", "rows", "excluded")
_LEADERS = ("id", "row", "weight", "shift", "key")


def race_part(
    batch: object,
    k: int,
    *,
    seed: int,
    key: str,
    weight: str | None = "weight",
    log: bool = False,
    allow_zero: bool = False,
    first_row: int | None = None,
) -> pa.Table:
    """Run a race by key over a batch of rows, which any engine may call for its own partitions.

    The result is a table of one row, for `merge` and `finish`: it holds the k + 1 items with the
    smallest keys, the number of rows and their exact total. The draws are the same, bit for bit,
    whatever the batches and in whatever order and process they run. Each id belongs to one row:
    an id that comes twice is found if both rows are in the same batch or among the first items
    of their batches.

    Parameters
    ----------
    batch : An Arrow table or record batch, a data frame with an Arrow interface, or a mapping of
        arrays.
    k, seed, log, allow_zero : As for `race`, the same for all batches.
    key : The column of ids, whole numbers or texts.
    weight : The column of weights, or None for equal ones; plain weights lie between 1e-280 and
        1e280.
    first_row : The number of the batch's first row, if rows have numbers; without it the draws have
        ids alone.

    >>> from levelled.samplers import finish, merge
    >>> batches = [{"id": [1, 2], "weight": [1.0, 2.0]}, {"id": [3, 4], "weight": [3.0, 4.0]}]
    >>> parts = [race_part(batch, 2, seed=7, key="id") for batch in batches]
    >>> draws = finish(merge(parts))
    >>> draws, draws.ids
    (Draws(2 of 4, probabilities 0.333 to 0.4), (4, 2))
    """
    race = KeyedRace(k, seed, key, weight, log, allow_zero)
    first_row = None if first_row is None else whole("first_row", first_row, least=0)
    return to_arrow(keyed_part(as_table(batch), race, first_row=first_row))


def is_arrow(parts: object) -> bool:
    """Tell an Arrow table or batch from other parts."""
    return hasattr(parts, "__arrow_c_stream__") or hasattr(parts, "__arrow_c_array__")


def to_arrow(part: KeyedPart) -> pa.Table:
    """A part as a table of one row."""
    import pyarrow as pa

    totals = {str(shift): str(total) for shift, total in part.totals.items()}
    columns: dict[str, Any] = {
        "k": [part.k],
        "seed": [str(part.seed)],
        "log": [part.log],
        "rows": [part.rows],
        "excluded": [part.excluded],
        "totals": [json.dumps(totals)],
    }
    ends = pa.array([0, part.leaders.num_rows], pa.int32())
    for name in _LEADERS:
        values = part.leaders.column(name).combine_chunks()
        columns[name] = pa.ListArray.from_arrays(ends, values)
    return pa.table(columns)


def from_arrow(parts: object) -> list[KeyedPart]:
    """The parts in a table that `race_part` made, or in several, of any number of rows each."""
    tables: Iterable[object] = [parts] if is_arrow(parts) else parts  # type: ignore[assignment]
    return [one for table in tables for one in _parts_in(as_table(table))]


def _parts_in(table: pa.Table) -> Iterator[KeyedPart]:
    import pyarrow as pa

    missing = {*_ABOUT, "seed", "totals", *_LEADERS} - {*table.column_names}
    if missing:
        raise InputError(
            f"Parts of a race must be the tables that race_part returns; this one has no column "
            f"{min(missing)!r}."
        )
    for at in range(table.num_rows):
        row = {name: table.column(name)[at] for name in table.column_names}
        totals = json.loads(row["totals"].as_py())
        leaders = {name: row[name].values for name in _LEADERS}
        if leaders["id"].type == pa.large_string():  # engines may have made it so
            leaders["id"] = leaders["id"].cast(pa.string())
        yield KeyedPart(
            **{name: row[name].as_py() for name in _ABOUT},
            seed=int(row["seed"].as_py()),
            totals={float(shift): Fraction(total) for shift, total in totals.items()},
            leaders=pa.table(leaders),
        )


def as_table(batch: object) -> pa.Table:
    """A table, record batch, data frame or mapping of arrays as a table."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    try:
        return batch if isinstance(batch, pa.Table) else pa.table(batch)
    except (TypeError, ValueError) as wrong:
        raise InputError(
            f"A batch must be an Arrow table or a data frame, not a {type(batch).__name__}: {wrong}"
        ) from wrong
