"""An interval for losses with bounds whose predictor is refitted as labels come in."""

import numpy as np

from levelled._check import FloatArray
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.moments import Moments

PRIOR_DF = 6.0
"""The weight of the predicted variance, in degrees of freedom."""
_FAR, _NEAR = 0.9, 0.5
"""The parts of t^2 jump by which the limits away from the bound and towards it lean."""


def blended_variance(
    moments: Moments, predicted: FloatArray, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """The variance of an estimate and its degrees of freedom, from labels and predictor.

        V = (nu V^ + 6 V_p) / (nu + 6),    nu = min(df, 2 x errors seen)

    V^ is the variance that the labels show; it is worth little while few errors have been seen.
    V_p = sum_m u_m^2 / N^2 sum_left s^2 / q is the one that the predictor expects (`predicted`).
    An error counts by its share of the largest loss; above the middle of the bounds the losses
    that fall short of it are counted. Without an upper bound nu is df.
    """
    nu = moments.df * moments.exact
    if np.isfinite(bounds[1]):
        errors = (moments.total - moments.budget * bounds[0]) / (bounds[1] - bounds[0])
        errors = np.where(_is_high(moments, bounds), moments.budget - errors, errors)
        nu = np.minimum(moments.df, 2 * errors) * moments.exact
    return blend(moments.variance, predicted, nu), nu + PRIOR_DF


def blend(observed: FloatArray, predicted: FloatArray, nu: FloatArray) -> FloatArray:
    """The variance (nu V^ + 6 V_p) / (nu + 6); where nu is 0, V^ may be infinite."""
    seen = np.where(nu > 0, observed, 0)
    return np.asarray((nu * seen + PRIOR_DF * predicted) / (nu + PRIOR_DF))


def score_t(
    moments: Moments,
    predicted: FloatArray,
    bounds: tuple[float, float],
    level: float,
    jump: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """The interval R^ + (k -+ sqrt(k^2 + 4 c^2)) / 2, which leans away from the nearer bound.

        c = t sqrt(V),    k = c^2 / (max(R^ - A, 0) + sqrt(V))

    with V and the degrees of freedom of t from `blended_variance`. The spread of an estimated
    risk grows with the risk, so the interval reaches further up than down. Where rare errors of
    large weight are to be expected, few samples hold one: the estimate is then too low, and so
    is V. `jump` is the third moment that the predictor expects of the estimate, over its
    variance; an estimate that is all jumps of this size has k = t^2 jump. So a limit takes a
    part of t^2 jump for k if that is more than k:

        the limit away from the bound    .9 t^2 jump,    at most k + c / 2, or k + (R^ - A) / 2
                                                         if that is more, but never above k + c
        the limit towards it             .5 t^2 jump,    at most k + c / 4

    The second term caps what is allowed for errors that nobody has seen by half of the risk
    that was. A risk above the middle of its bounds (A, B) gets the mirror image.
    """
    V, df = blended_variance(moments, predicted, bounds)
    t = t_quantile(df, (1 + level) / 2)
    return leaning(moments.value, np.sqrt(V), t, bounds, jump)


def leaning(
    value: FloatArray,
    sd: FloatArray,
    t: FloatArray,
    bounds: tuple[float, float],
    jump: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """The limits of `score_t` for a value with this standard deviation.

    >>> low, high = leaning(np.array(0.9), np.array(0.03), np.array(2.0), (0.0, 1.0))
    >>> float(low.round(3)), float(high.round(3))
    (0.825, 0.948)
    """
    c, high = t * sd, value > (bounds[0] + bounds[1]) / 2
    away = np.maximum(np.where(high, bounds[1] - value, value - bounds[0]), 0)
    k = c**2 / np.where(sd > 0, away + sd, 1)
    lean = t**2 * np.where(high, -jump, jump)
    far = np.clip(_FAR * lean, k, k + np.clip(away / 2, c / 2, c))
    near = np.clip(_NEAR * lean, k, k + c / 4)
    near_limit = (np.sqrt(near**2 + 4 * c**2) - near) / 2
    far_limit = (np.sqrt(far**2 + 4 * c**2) + far) / 2
    below, above = np.where(high, far_limit, near_limit), np.where(high, near_limit, far_limit)
    return value - below, value + above


def _is_high(moments: Moments, bounds: tuple[float, float]) -> FloatArray:
    return np.asarray(moments.value > (bounds[0] + bounds[1]) / 2)
