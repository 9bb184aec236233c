"""Lengths of text as features: a judge that favours long outputs is wrong in a way they predict.

length:COLUMN    log(1 + characters), summed over the messages of a conversation
length:B/A       the same of B less that of A: the ratio of two lengths
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from levelled._check import FloatArray

_PREFIX = "length:"
_CONTENT = ("content", "text", "value")
"""The field of a message that holds what was said."""


def is_length(feature: str) -> bool:
    """True for the name of a feature that is a length."""
    return feature.startswith(_PREFIX)


def length_columns(feature: str) -> tuple[str, ...]:
    """The column whose length a feature is, or the two whose ratio it is.

    >>> length_columns("length:second/first")
    ('second', 'first')
    """
    return tuple(feature.removeprefix(_PREFIX).split("/", 1))


def log_lengths(batch: pa.RecordBatch, feature: str) -> FloatArray:
    """The feature for each row of a batch; text that is missing has no characters.

    >>> batch = pa.RecordBatch.from_pydict({"a": ["Hi!", None], "b": ["Hello, you!", "x"]})
    >>> log_lengths(batch, "length:b/a").round(3)
    array([1.099, 0.693])
    """
    parts = [np.log1p(_characters(batch.column(name))) for name in length_columns(feature)]
    return parts[0] if len(parts) == 1 else parts[0] - parts[1]


def _characters(column: pa.Array) -> FloatArray:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.asarray(pc.fill_null(pc.utf8_length(column), 0).to_numpy(), dtype=np.float64)
    return np.array([_count(value) for value in column.to_pylist()], dtype=np.float64)


def _count(value: object) -> int:
    """The characters of text anywhere in a value; of a message, those of its content."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        said = [value[name] for name in _CONTENT if name in value]
        return sum(map(_count, said or value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 0
