"""Inputs of any kind, one row an item: count, take, copy and protect rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from levelled._check import IntArray
from levelled.errors import InputError

Rows = Any
"""Inputs, one row an item: an array, a sparse matrix, a data frame, or a list of texts."""


def n_rows(X: Rows, name: str = "X") -> int:
    """The number of items; refuses what has no rows."""
    shape = getattr(X, "shape", None)
    sparse = hasattr(X, "tocsr")  # some sparse formats are mappings
    no_rows = isinstance(X, str | bytes | Mapping) and not sparse
    if no_rows or not (shape or hasattr(X, "__len__")) or shape == ():
        raise InputError(
            f"{name} must hold one row an item: an array, a frame or a list of texts; this is "
            f"{f'the {type(X).__name__} {X!r}' if np.isscalar(X) else f'a {type(X).__name__}'}."
        )
    if np.ma.is_masked(X):
        raise InputError(f"{name} has masked values: leave those items out, or fill them in.")
    return int(shape[0]) if shape else len(X)


def n_features(X: Rows) -> int:
    """The number of features of an item, or of numbers in an image.

    >>> n_features(np.zeros((5, 3))), n_features(np.zeros((5, 28, 28)))
    (3, 784)
    """
    shape = np.shape(take(X, np.zeros(1, dtype=np.int64)))
    if len(shape) < 2:
        raise AttributeError(f"The items of a {type(X).__name__} have no features to count.")
    return math.prod(shape[1:])


def take(X: Rows, index: IntArray) -> Rows:
    """The rows at these places, in the same kind of container."""
    if hasattr(X, "iloc"):  # pandas: positions, whatever its index says
        return X.iloc[index]
    if hasattr(X, "tocsr") and not hasattr(X, "__array__"):  # some sparse formats take no rows
        return X.tocsr()[index]
    if isinstance(X, Sequence):
        return [X[at] for at in index]
    try:
        return X[index]
    except TypeError as wrong:
        raise InputError(
            f"Rows cannot be taken from a {type(X).__name__}: make it an array, a frame (a table "
            f"of Arrow has to_pandas()) or a list of texts."
        ) from wrong


def copy_rows(X: Rows) -> Rows:
    """The same rows in memory of their own."""
    if isinstance(X, np.ndarray):
        return X.copy(order="K")
    for method in ("copy", "clone"):
        if hasattr(X, method):
            return getattr(X, method)()
    return X


def read_only(X: Rows) -> Rows:
    """The same rows, so that a model that changes its inputs cannot change X.

    Arrays become views that cannot be written to, which costs nothing; others are copied.
    """
    if not isinstance(X, np.ndarray):
        return copy_rows(X)
    view = X.view()
    view.flags.writeable = False
    return view


def find_not_finite(X: Rows) -> str:
    """A sentence about the first column that has NaN or infinity; "" if all numbers are finite.

    >>> find_not_finite(np.array([[1.0, np.nan], [2.0, 3.0]]))
    'Column 1 is NaN or infinite in 1 of 2 rows: fill it in, for example with SimpleImputer.'
    """
    try:
        bad = ~np.isfinite(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError):  # no numbers
        return ""
    if bad.ndim != 2 or not bad.any():
        return ""
    at = int(bad.any(axis=0).argmax())
    column = X.columns[at] if hasattr(X, "columns") else at
    return (
        f"Column {column} is NaN or infinite in {bad[:, at].sum()} of {len(bad)} rows: fill it in, "
        f"for example with SimpleImputer."
    )
