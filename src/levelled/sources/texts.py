"""Columns of classes and slices as codes of their distinct values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled.errors import PoolError
from levelled.labels import class_text
from levelled.predictions import Categorical, Numbers
from levelled.sources.columns import is_text

MISSING = "(missing)"
"""The slice of items whose value is not known."""

_MOST_SLICES = 10_000
_WHOLE = r"^-?(0|[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def with_text(part: pa.Array) -> pa.DictionaryArray:
    """Classes as codes of their text."""
    if not pa.types.is_dictionary(part.type):
        part = part.dictionary_encode()
    values = part.dictionary
    if not is_text(values.type):
        texts = [None if value is None else class_text(value) for value in values.to_pylist()]
        values = pa.array(texts, type=pa.string())
    return pa.DictionaryArray.from_arrays(
        part.indices.cast(pa.int32()), values.cast(pa.large_string())
    )


def parse_numbers(values: pa.Array) -> Numbers | None:
    """Numbers, if every text writes one and would be written so again."""
    if values.null_count or not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py():
        return None
    whole = pc.all(pc.match_substring_regex(values, _WHOLE)).as_py()
    try:
        numbers: Numbers = values.cast(pa.int64() if whole else pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # more digits than a number holds
        return None
    return numbers if np.isfinite(numbers).all() else None


def compact(values: Sequence[str | None], codes: NDArray[np.int32]) -> Categorical:
    """The values that occur, each once, in order of their names."""
    texts = [MISSING if value is None else class_text(value) for value in values]
    texts.append(MISSING)  # where -1 points
    used = np.bincount(codes + 1, minlength=len(texts)) > 0
    names = sorted({text for text, some in zip(texts, [*used[1:], used[0]], strict=True) if some})
    place = {name: number for number, name in enumerate(names)}
    table = np.array([place.get(text, -1) for text in texts], dtype=np.int32)
    return Categorical(tuple(names), table[codes])


def check_slices(name: str, n_values: int) -> None:
    """Refuse a column with so many values that they cannot be slices."""
    if n_values > _MOST_SLICES:
        raise PoolError(
            f"The column {name!r} has more than {_MOST_SLICES} different values, too many for "
            f"slices. Put them into groups first."
        )
