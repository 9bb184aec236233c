"""Ids: one an item, never missing, never twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.sources.columns import is_text

__all__ = ["Id", "as_ids", "check_unique", "rows_of"]

Id = str | int

_ROWS = 16_384
_CELLS = 1 << 26
_ODD = np.uint64(0x9E3779B97F4A7C15)


def as_ids(column: pa.Array, name: str, start: int) -> pa.Array:
    """A column of ids as text or int64, refusing gaps; `start` is the pool row of its first."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_integer(kind):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid as wrong:
            raise PoolError(
                f"The column {name!r} holds whole numbers beyond 63 bits: write ids as text."
            ) from wrong
    elif not is_text(kind) and not pa.types.is_null(kind):
        raise PoolError(
            f"Ids are text or whole numbers; the column {name!r} holds {kind}. Write them as text."
        )
    missing = pc.is_null(column)
    if is_text(kind):
        missing = pc.or_kleene(missing, pc.equal(column, ""))
    at = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
    if at.size:
        raise PoolError(
            f"Row {start + at[0]} (counted from 0) has no id in the column {name!r}. Every item "
            f"needs one, so that its label finds it again."
        )
    return column


def check_unique(ids: pa.ChunkedArray) -> None:
    """Refuse an id that occurs twice.

    Sorted hashes of 64 bits find what may be equal, in 16 bytes an item; only those are compared.
    """
    keys = np.empty(len(ids), dtype=np.uint64)
    start = 0
    for chunk in ids.chunks:
        keys[start : start + len(chunk)] = _keys(chunk)
        start += len(chunk)
    ordered = np.sort(keys)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not twice.size:
        return
    del ordered
    seen: dict[Id, int] = {}
    for row in np.flatnonzero(np.isin(keys, twice)).tolist():
        name = ids[row].as_py()
        if name in seen:
            raise PoolError(
                f"The id {name!r} is in row {seen[name]} and again in row {row} (counted from 0). "
                f"Every item needs an id of its own: take out copies, or number the rows."
            )
        seen[name] = row


def rows_of(ids: pa.ChunkedArray, wanted: Sequence[Id]) -> IntArray:
    """The rows of these ids; a number and its text find each other."""
    number = pa.types.is_integer(ids.type)
    keys = [_as_number(one) if number else str(one) for one in wanted]
    values = pa.array([*{key for key in keys if key is not None}], type=ids.type)
    place = pc.index_in(ids, value_set=values)
    found: dict[Id, int] = {}
    start = 0
    for chunk in place.chunks:
        for row in np.flatnonzero(chunk.is_valid().to_numpy(zero_copy_only=False)).tolist():
            found[values[chunk[row].as_py()].as_py()] = start + row
        start += len(chunk)
    rows = [-1 if key is None else found.get(key, -1) for key in keys]
    if -1 in rows:
        n_missing = rows.count(-1)
        raise PoolError(
            f"The id {wanted[rows.index(-1)]!r} is not in the pool"
            + (f", nor are {n_missing - 1} others." if n_missing > 1 else ".")
        )
    return np.array(rows, dtype=np.int64)


def _as_number(value: Id) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if str(number) == str(value) and -(2**63) <= number < 2**63 else None


def _keys(chunk: pa.Array) -> NDArray[np.uint64]:
    """64 bits for each id: equal for equal ids, hardly ever for others."""
    if pa.types.is_integer(chunk.type):
        return np.asarray(chunk.to_numpy().view(np.uint64))
    parts = [_hashes(chunk.slice(start, _ROWS)) for start in range(0, len(chunk), _ROWS)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _hashes(text: pa.Array) -> NDArray[np.uint64]:
    wide = np.int64 if pa.types.is_large_string(text.type) else np.int32
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, dtype=wide)[text.offset : text.offset + len(text) + 1]
    lengths = np.diff(ends)
    width = int(lengths.max()) // 8 * 8 + 8  # at least one byte more than the text
    if len(text) * width > _CELLS and len(text) > 1:
        half = len(text) // 2
        return np.concatenate([_hashes(text.slice(0, half)), _hashes(text.slice(half))])
    cells = np.zeros((len(text), width), dtype=np.uint8)
    cells[np.arange(width) < lengths[:, None]] = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    cells[np.arange(len(text)), lengths] = 1  # so that "a" differs from "a\0"
    found = np.zeros(len(text), dtype=np.uint64)
    for number, word in enumerate(cells.view(np.uint64).T):
        mixed = (found ^ word) * _ODD
        mixed ^= mixed >> np.uint64(29)
        found = np.where(8 * number <= lengths, mixed, found)  # the width of others is no matter
    return found
