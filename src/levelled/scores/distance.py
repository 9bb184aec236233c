"""Distances between the items left in the pool and the items drawn."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, choice, floats
from levelled.errors import InputError

_BLOCK = 2**18  # distances held at once


def geometric(
    X_left: ArrayLike, X_drawn: ArrayLike, norm: Literal["squared", "absolute"] = "squared"
) -> FloatArray:
    """The summed distance from each item left to all items drawn.

        s_j = sum_k |x_j - x_k|^2    or    s_j = sum_k |x_j - x_k|,    k drawn, j left

    The linear-regression experiments of the paper (appendix C.1): squared distances for the
    Boltzmann proposal, absolute ones for the epsilon-greedy. Items are numbers [N] or features
    [..., N, D] with Euclidean distance, and the same leading axes for the items drawn; the scores
    are [..., N]. Nothing drawn yet: every score is 0.

    >>> geometric([0.0, 1.0, 3.0], [1.0, 2.0])
    array([5., 1., 5.])
    >>> geometric([0.0, 1.0, 3.0], [1.0, 2.0], norm="absolute")
    array([3., 1., 3.])
    """
    choice("norm", norm, ("squared", "absolute"))
    left, drawn = _features("X_left", X_left), _features("X_drawn", X_drawn)
    if left.shape[:-2] != drawn.shape[:-2]:
        raise InputError(
            f"X_left and X_drawn must have the same axes before items and features; their shapes "
            f"are {left.shape} and {drawn.shape}."
        )
    if not drawn.shape[-2]:
        return np.zeros(left.shape[:-1])
    if left.shape[-1] != drawn.shape[-1]:
        raise InputError(
            f"X_left has {left.shape[-1]} features and X_drawn {drawn.shape[-1]}: distances need "
            f"the same."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _squared(left, drawn) if norm == "squared" else _absolute(left, drawn)
    if not np.isfinite(scores).all():
        raise InputError(
            "The distances are too large for a floating-point number. Standardise the features."
        )
    return scores


def _features(name: str, values: ArrayLike) -> FloatArray:
    array = floats(name, values)
    if array.ndim == 1:
        array = array[:, None]
    if not array.ndim:
        raise InputError(f"{name} must be numbers [N] or features [..., N, D]; it is one number.")
    return array


def _squared(left: FloatArray, drawn: FloatArray) -> FloatArray:
    # Around the drawn items' mean the cross terms vanish, and nothing large cancels.
    mean = drawn.mean(axis=-2, keepdims=True)
    off, within = left - mean, drawn - mean
    around = np.sum(within**2, axis=(-2, -1))[..., None]
    return np.einsum("...nd,...nd->...n", off, off) * drawn.shape[-2] + around


def _absolute(left: FloatArray, drawn: FloatArray) -> FloatArray:
    from scipy.spatial.distance import cdist

    if left.ndim > 2:
        return np.stack([_absolute(*each) for each in zip(left, drawn, strict=True)])
    rows = max(1, _BLOCK // len(drawn))
    parts = [cdist(left[at : at + rows], drawn).sum(axis=1) for at in range(0, len(left), rows)]
    return np.concatenate([np.zeros(0), *parts])
