"""Estimates after each label, from one pass over the labels.

R_PURE and R_LURE are the plain and the levelled unbiased risk estimator (`pure`, `lure`).
"""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, choice
from levelled.draws import Draws
from levelled.estimators import lure, pure
from levelled.estimators.loss_sample import check_losses


def running(losses: ArrayLike, draws: Draws, estimator: str = "lure") -> FloatArray:
    """The estimate after 1, 2, ..., M labels, as it would have been read at the time.

    Stopping when the estimate looks right biases it (the scale of R_LURE's error depends on M).
    Decide by an interval that may be watched instead, such as `Betting`.

    >>> running([1.0, 0.0], Draws([2, 0], [0.5, 0.25], pool_size=4))
    array([0.5       , 0.33333333])
    """
    losses = check_losses(losses, draws)
    compute = _RUNNING[choice("estimator", estimator, tuple(_RUNNING))]
    return compute(losses, draws.probability, draws.pool_size)


def running_naive(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """The mean of the first m losses, [..., M]."""
    return np.cumsum(losses, axis=-1) / np.arange(1, losses.shape[-1] + 1)


def running_pure(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """R_PURE of every prefix, [..., M]: the mean of the first m terms."""
    total = np.cumsum(pure.terms(losses, probability, pool_size), axis=-1)
    return total / np.arange(1, losses.shape[-1] + 1)


def running_lure(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """R_LURE of every prefix, [..., M], from two cumulative sums.

    The weights depend on M only through the factor N - M:

        R_LURE(M) = 1/M (sum_m L_m + (N - M) sum_m slope_m L_m)
    """
    M = np.arange(1.0, losses.shape[-1] + 1)
    levelled = np.cumsum(lure.slopes(probability, pool_size) * losses, axis=-1)
    levelled *= pool_size - M
    levelled += np.cumsum(losses, axis=-1)
    levelled /= M
    return levelled


_RUNNING = {"lure": running_lure, "pure": running_pure, "naive": running_naive}
