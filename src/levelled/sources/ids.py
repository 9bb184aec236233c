"""Ids of items: read from a column, without gaps or repeats, and looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.labels import Id
from levelled.sources.columns import is_text

_ROWS = 16_384
_CELLS = 1 << 26
_COMPARED = 1 << 20
_ODD = np.uint64(0x9E3779B97F4A7C15)


def batch_ids(batch: pa.RecordBatch, name: str, start: int) -> pa.Array:
    """The ids of a batch as text or int64, refusing gaps; `start` is the pool row of its first.

    Without the name of a column they are the numbers of the rows.
    """
    if not name:
        return pa.array(np.arange(start, start + len(batch)))
    column = batch.column(name)
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


def join_ids(ids: list[pa.Array], name: str) -> pa.ChunkedArray:
    """The ids of all batches, of one type."""
    kinds = {one.type for one in ids if len(one)}
    if len(kinds) == 1:
        return pa.chunked_array([one for one in ids if len(one)])
    if pa.int64() in kinds:
        raise PoolError(
            f"The column {name!r} holds whole numbers in some places and text in others. Write "
            f"all ids as text."
        )
    return pa.chunked_array([one.cast(pa.large_string()) for one in ids])


def check_unique(ids: pa.ChunkedArray) -> None:
    """Refuse an id that occurs twice."""
    keys = IdKeys(len(ids))
    for chunk in ids.chunks:
        keys.add(chunk)
    keys.refuse_repeats(lambda: ids.chunks)


class IdKeys:
    """64 bits for each id of a pool, by which ids that occur twice are found.

    Ids come in batches and are not kept: keys take eight bytes an item. Only ids whose keys are
    equal are compared, in a second pass.
    """

    def __init__(self, pool_size: int) -> None:
        self._keys = np.empty(pool_size, dtype=np.uint64)
        self._n = 0

    def add(self, ids: pa.Array) -> None:
        """Take in the ids of the next rows."""
        self._keys[self._n : self._n + len(ids)] = _keys(ids)
        self._n += len(ids)

    def refuse_repeats(self, again: Callable[[], Iterable[pa.Array]]) -> None:
        """Refuse an id that occurs twice; `again` gives all ids once more."""
        self._keys.sort()
        parts = [
            self._keys[start : start + _COMPARED + 1]
            for start in range(0, max(self._n, 1), _COMPARED)
        ]
        twice = np.unique(np.concatenate([one[1:][one[1:] == one[:-1]] for one in parts]))
        if not twice.size:
            return
        seen: dict[Id, int] = {}
        start = 0
        for chunk in again():
            for at in np.flatnonzero(np.isin(_keys(chunk), twice)).tolist():
                name, row = chunk[at].as_py(), start + at
                if name in seen:
                    raise PoolError(
                        f"The id {name!r} is in row {seen[name]} and again in row {row} (counted "
                        f"from 0). Every item needs an id of its own: take out copies, or number "
                        f"the rows."
                    )
                seen[name] = row
            start += len(chunk)


def rows_of(ids: Iterable[pa.Array], wanted: Sequence[Id], *, where: str = "The pool") -> IntArray:
    """The rows of some ids, from the ids of all rows in order.

    A number and its text find each other. `where` names the rows if an id is not among them.
    """
    row_of: dict[str, int] = {}
    names = {str(one) for one in wanted}
    numbers = [*{one for one in map(_as_number, wanted) if one is not None}]
    start = 0
    for chunk in ids:
        number = pa.types.is_integer(chunk.type)
        values = pa.array(numbers if number else sorted(names), type=chunk.type)
        place = pc.is_in(chunk, value_set=values).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(place).tolist():
            row_of[str(chunk[row].as_py())] = start + row
        start += len(chunk)
    rows = [row_of.get(str(one), -1) for one in wanted]
    if -1 in rows:
        n_missing = rows.count(-1)
        raise PoolError(
            f"{where} has no row for the id {wanted[rows.index(-1)]!r}"
            + (f", nor for {n_missing - 1} others." if n_missing > 1 else ".")
        )
    return np.array(rows, dtype=np.int64)


def _as_number(value: Id) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if str(number) == str(value) and -(2**63) <= number < 2**63 else None


def _keys(chunk: pa.Array) -> NDArray[np.uint64]:
    """64 bits for each id: equal for equal ids, and almost never for different ones."""
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
    hashes = np.zeros(len(text), dtype=np.uint64)
    for number, word in enumerate(cells.view(np.uint64).T):
        mixed = (hashes ^ word) * _ODD
        mixed ^= mixed >> np.uint64(29)
        hashes = np.where(8 * number <= lengths, mixed, hashes)  # whatever the other widths
    return hashes
