"""Inputs of any kind, one row an item: counting and picking them."""

from collections.abc import Sequence
from typing import Any

from levelled._check import IntArray

__all__ = ["Rows", "n_rows", "take"]

Rows = Any
"""Inputs, one row an item: an array, a sparse matrix, a data frame, or a list of texts."""


def n_rows(X: Rows) -> int:
    """The number of items."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Rows, index: IntArray) -> Rows:
    """The rows at these places, in the same kind of container."""
    if hasattr(X, "iloc"):  # pandas: positions, whatever its index says
        return X.iloc[index]
    if hasattr(X, "tocsr") and not hasattr(X, "__array__"):  # some sparse formats take no rows
        return X.tocsr()[index]
    if isinstance(X, Sequence):
        return [X[at] for at in index]
    return X[index]
