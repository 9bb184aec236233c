"""The limits of a ratio of two estimated means, without assuming that the ratio is a share.

The mean of A - theta D is 0 at the true ratio theta; the limits are where that cannot be excluded
(Fieller, 1954).
"""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.moments import moments
from levelled.metrics.linearised import RatioMoments

FORMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
"""A, D and A - D: their variances give that of A - theta D for every theta."""

_MOST_DF = 2.0
"""Degrees of freedom for each drawn item on the rarer side of the ratio."""


def with_covariance(variances: FloatArray) -> FloatArray:
    """The variances of A and D and their covariance, from the variances of A, D and A - D."""
    VA, VD, difference = variances
    with np.errstate(invalid="ignore"):  # infinite after one draw
        return np.array([VA, VD, (VA + VD - difference) / 2])


def middle_and_half(A: float, D: float, variances: FloatArray) -> tuple[float, float] | None:
    """The middle and half the width of the limits; None where D is not clear of 0.

        (A - theta D)^2 <= V(theta),    V quadratic in theta

    `variances` are those of A and D and their covariance, times t^2.

    >>> middle_and_half(0.1, 0.5, np.zeros(3))
    (0.2, 0.0)
    """
    VA, VD, VAD = variances.tolist()
    square = D**2 - VD
    if square <= 0 or D <= 0:
        return None
    middle = (A * D - VAD) / square
    return middle, float(np.sqrt(max(middle**2 - (A**2 - VA) / square, 0.0)))


def fieller_limits(
    numerator: FloatArray, denominator: FloatArray, ratio: RatioMoments, draws: Draws, level: float
) -> tuple[float, float] | None:
    """The limits from draws alone; `ratio` are their moments.

    The variances count as known from 2 labels for each one on the rarer side, A > 0 or A < D.
    """
    values = np.stack([numerator, denominator])
    found = moments(FORMS @ values, draws.probability, draws.pool_size)
    df = np.clip(np.minimum(ratio.residual.df, _MOST_DF * ratio.minority), 1.0, None)
    t = float(t_quantile(df, (1 + level) / 2))
    A, D = found.value[:2].tolist()
    solved = middle_and_half(A, D, t**2 * with_covariance(found.variance))
    return None if solved is None else (solved[0] - solved[1], solved[0] + solved[1])
