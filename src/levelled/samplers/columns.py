"""Columns of Arrow batches, checked, with errors that name a row or an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelled._check import FloatArray
from levelled.errors import InputError, WeightError
from levelled.samplers import blocks

if TYPE_CHECKING:
    import pyarrow as pa


def column_of(batch: pa.RecordBatch | pa.Table, name: str, place: str) -> pa.Array:
    """A column of a batch as one array; `place` says in errors what the batch is."""
    if name not in batch.schema.names:
        there = ", ".join(map(repr, batch.schema.names[:12]))
        raise InputError(f"{place} has no column {name!r}; it has {there}.")
    column = batch.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def ids_of(batch: pa.Table, key: str, place: str) -> pa.Array:
    """The column of ids, as int64 or string."""
    import pyarrow as pa

    ids = column_of(batch, key, place)
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    if not (is_text or pa.types.is_integer(kind) or (not len(ids) and pa.types.is_null(kind))):
        raise InputError(
            f"Ids must be whole numbers or texts, which every engine writes in the same way; the "
            f"column {key!r} is {kind}. Cast it to text."
        )
    if ids.null_count:
        row = int(np.argmax(np.asarray(ids.is_null())))
        raise InputError(f"Row {row} of {place.lower()} has no id in the column {key!r}.")
    try:
        return ids.cast(pa.string() if is_text else pa.int64())
    except pa.ArrowInvalid as wrong:
        raise InputError(f"The ids in {key!r} cannot be used: {wrong}") from wrong


def weights_of(column: pa.Array | pa.ChunkedArray, name: str, place: str) -> FloatArray:
    """A column as weights, without a copy if it holds doubles; `place` says what it is part of.

    >>> import pyarrow as pa
    >>> weights_of(pa.array([1, 2]), "score", "The pool")
    array([1., 2.])
    """
    import pyarrow as pa

    kind, types = column.type, pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"{place} has no numbers in the column {name!r}, but {kind}.")
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null())))
        raise WeightError(f"{place} has no number in row {row} of {name!r}.", row, np.nan)
    if not types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    array: FloatArray = column.to_numpy()
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
