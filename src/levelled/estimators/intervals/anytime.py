"""Intervals that hold at every look at once, asymptotically: from 25 labels on.

The error of R_LURE (the levelled unbiased risk estimator, see `lure`) is a known scale times a
martingale, so a boundary that a Brownian motion rarely crosses gives intervals that may be
watched while labels come in.
"""

import numpy as np

from levelled._check import FloatArray
from levelled.estimators.intervals.fixed import log_t_interval, t_quantile
from levelled.estimators.moments import Moments

LEAST = 25
"""Number of labels below which the asymptotics cannot be trusted."""


def boundary(budget: int, pool_size: int, level: float) -> float:
    """Half the width of a confidence sequence after `budget` labels, in standard errors.

        tau = N m / (N - m),    kappa^2 = (1 + 1 / (rho^2 tau)) log((rho^2 tau + 1) / alpha^2)

    with rho chosen to be tightest near 100 labels (or half the pool). Waudby-Smith et al.,
    arXiv:2103.06476, on the clock of draws without replacement.

    >>> round(boundary(100, 10_000, 0.95), 2)
    3.04
    """
    N, alpha = pool_size, 1 - level
    tau = N * budget / (N - budget)
    ell, best = -2 * np.log(alpha), min(100.0, N / 2)
    rho2 = (ell + np.log(ell + 1)) / (N * best / (N - best))
    return float(np.sqrt((1 + 1 / (rho2 * tau)) * np.log((rho2 * tau + 1) / alpha**2)))


def anytime_log_t(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """The confidence sequence on the log scale, for positive losses and a positive estimate.

    The boundary, which is the normal's, is replaced by the quantile of t_df with the same tail.
    """
    from scipy.special import ndtr

    tail = float(ndtr(boundary(moments.budget, moments.pool_size, level)))
    return log_t_interval(moments, level, quantile=t_quantile(moments.df, tail))


def wilson(
    share: FloatArray, size: FloatArray, quantile: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval for a share measured as precisely as by `size` uniform labels.

    >>> low, high = wilson(np.array(0.5), np.array(100.0), 1.96)
    >>> round(float(low), 3), round(float(high), 3)
    (0.404, 0.596)
    """
    p, n, k2 = share, size, np.square(quantile)
    centre = (p + k2 / (2 * n)) / (1 + k2 / n)
    half = np.sqrt(k2) / (1 + k2 / n) * np.sqrt(p * (1 - p) / n + k2 / (4 * n**2))
    # At the ends the two are equal, and rounding must not part them.
    return np.where(p <= 0, 0.0, centre - half), np.where(p >= 1, 1.0, centre + half)
