"""An interval for losses with bounds whose predictor is refitted as labels come in."""

import numpy as np

from levelled._check import FloatArray
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.moments import Moments

__all__ = ["blended_variance", "score_t"]

_PRIOR_DF = 6.0
"""The weight of the predicted variance, in degrees of freedom."""


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
    observed = np.where(nu > 0, moments.variance, 0)
    return (nu * observed + _PRIOR_DF * predicted) / (nu + _PRIOR_DF), nu + _PRIOR_DF


def score_t(
    moments: Moments, predicted: FloatArray, bounds: tuple[float, float], level: float
) -> tuple[FloatArray, FloatArray]:
    """The interval R^ + (k -+ sqrt(k^2 + 4 c^2)) / 2, which leans away from the nearer bound.

        c = t sqrt(V),    k = c^2 / (max(R^ - A, 0) + sqrt(V))

    with V and the degrees of freedom of t from `blended_variance`. The spread of an estimated
    risk grows with the risk, so the interval reaches further up than down. A risk above the
    middle of its bounds (A, B) gets the mirror image.
    """
    V, df = blended_variance(moments, predicted, bounds)
    c = t_quantile(df, (1 + level) / 2) * np.sqrt(V)
    high = _is_high(moments, bounds)
    away = np.where(high, bounds[1] - moments.value, moments.value - bounds[0])
    k = c**2 / np.where(V > 0, np.maximum(away, 0) + np.sqrt(V), 1)
    half = np.sqrt(k**2 + 4 * c**2)
    lean = np.where(high, -k, k)
    return moments.value + (lean - half) / 2, moments.value + (lean + half) / 2


def _is_high(moments: Moments, bounds: tuple[float, float]) -> FloatArray:
    return np.asarray(moments.value > (bounds[0] + bounds[1]) / 2)
