"""Columns of classes: predictions and slices, as text of few values or as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled._check import BoolArray
from levelled.errors import PoolError
from levelled.metrics.classes import class_text
from levelled.sources.coded import Coded
from levelled.sources.columns import is_number, is_text

__all__ = ["Numbers", "Texts", "refuse"]

Numbers = NDArray[np.float64] | NDArray[np.int64]

MISSING = "(missing)"
"""The slice of items whose value is not known."""

_MOST_SLICES = 10_000
_WHOLE = r"^-?(0|[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def refuse(wrong: BoolArray, ids: pa.Array, told: Callable[[int], str]) -> None:
    """Name the first item that is wrong, if any."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise PoolError(f"Item {ids[row].as_py()!r} {told(row)}")


@dataclass(slots=True)
class Texts:
    """A column of classes that comes in batches.

    Numbers are kept as they are until it is known whether they are classes; all else as numbers
    of its distinct values.
    """

    column: str
    what: str | None = None
    """What an item without a value lacks; None where it may lack it."""
    parts: list[pa.Array] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        """Take in a batch."""
        column = batch.column(self.column)
        coded = pa.types.is_dictionary(column.type)
        kind = column.type.value_type if coded else column.type
        if not (is_text(kind) or is_number(kind) or pa.types.is_boolean(kind) or kind == pa.null()):
            raise PoolError(f"The column {self.column!r} must hold text or numbers, not {kind}.")
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(kind))
        if self.what is not None:
            refuse(
                missing.to_numpy(zero_copy_only=False),
                ids,
                lambda row: f"has no {self.what} in the column {self.column!r}.",
            )
        plain = is_number(kind) and not coded and self.what is not None
        self.parts.append(column if plain or coded else column.dictionary_encode())

    def labels(
        self, ids: pa.ChunkedArray, classes: Sequence[str] | None, untyped: bool
    ) -> Coded | Numbers:
        """Numbers if the column holds nothing else and no classes are known, else classes."""
        if classes is None and all(is_number(part.type) for part in self.parts):
            whole = all(pa.types.is_integer(part.type) for part in self.parts)
            kind = pa.int64() if whole else pa.float64()
            numbers: Numbers = pa.chunked_array([p.cast(kind) for p in self.parts]).to_numpy()
            return numbers
        values, codes = self._coded()
        if classes is None and untyped and (read := _as_numbers(values)) is not None:
            return read[codes]
        found = _compact(values.to_pylist(), codes)
        return found if classes is None else _in_classes(found, classes, self.column, ids)

    def slices(self) -> Coded:
        """The slice of each item."""
        values, codes = self._coded()
        if len(values) > _MOST_SLICES:
            raise PoolError(
                f"The column {self.column!r} has {len(values)} different values, too many for "
                f"slices. Put them into groups first."
            )
        return _compact(values.to_pylist(), codes)

    def _coded(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The distinct values as text, and the number of each item's; -1 for gaps."""
        chunks = pa.chunked_array([_with_text(part) for part in self.parts]).unify_dictionaries()
        codes = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in chunks.chunks]
        return chunks.chunk(0).dictionary, np.concatenate(codes)


def _with_text(part: pa.Array) -> pa.DictionaryArray:
    """Classes as numbers of their text."""
    if not pa.types.is_dictionary(part.type):
        part = part.dictionary_encode()
    values = part.dictionary
    if not is_text(values.type):
        texts = [None if value is None else class_text(value) for value in values.to_pylist()]
        values = pa.array(texts, type=pa.string())
    return pa.DictionaryArray.from_arrays(
        part.indices.cast(pa.int32()), values.cast(pa.large_string())
    )


def _as_numbers(values: pa.Array) -> Numbers | None:
    """Numbers, if every text writes one and would be written so again."""
    if values.null_count or not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py():
        return None
    whole = pc.all(pc.match_substring_regex(values, _WHOLE)).as_py()
    try:
        found: Numbers = values.cast(pa.int64() if whole else pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # more digits than a number holds
        return None
    return found if np.isfinite(found).all() else None


def _compact(values: Sequence[str | None], codes: NDArray[np.int32]) -> Coded:
    """The values that occur, each once, in order of their names."""
    texts = [MISSING if value is None else class_text(value) for value in values]
    texts.append(MISSING)  # where -1 points
    used = np.bincount(codes + 1, minlength=len(texts)) > 0
    names = sorted({text for text, some in zip(texts, [*used[1:], used[0]], strict=True) if some})
    place = {name: number for number, name in enumerate(names)}
    table = np.array([place.get(text, -1) for text in texts], dtype=np.int32)
    return Coded(tuple(names), table[codes])


def _in_classes(found: Coded, classes: Sequence[str], column: str, ids: pa.ChunkedArray) -> Coded:
    """The same with the classes as its values."""
    place = {name: number for number, name in enumerate(classes)}
    table = np.array([place.get(name, -1) for name in found.values], dtype=np.int32)
    if (table < 0).any():
        other = int(np.argmin(table))
        row = int(np.argmax(found.codes == other))
        raise PoolError(
            f"Item {ids[row].as_py()!r} has the prediction {found.values[other]!r} in the column "
            f"{column!r}, which is none of the classes {', '.join(map(repr, classes[:12]))}."
        )
    return Coded(tuple(classes), table[found.codes])
