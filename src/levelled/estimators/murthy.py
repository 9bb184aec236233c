"""Murthy's estimator: the mean of R_LURE over all orders in which a set could have been drawn.

R_LURE is the levelled unbiased risk estimator, see `lure`.
"""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import DrawsError

_POINTS, _REACH = 801, 14.0  # of the integral, and how many widths it reaches
_TAIL = 45.0  # e^-45 is negligible
_HALVINGS, _NEAR = 80, 1e-4


def murthy_weights(draws: Draws) -> FloatArray:
    """Weights of R_LURE averaged over all orders of the drawn set, for frozen scores only.

    With frozen probabilities p_i (summing to one), S the drawn set and rho = 1 - sum_S p_i the
    mass not drawn, item i of S counts C_i times, its weight is M C_i / N, and

        P(S) = int_0^inf rho e^(-rho t) prod_{j in S} (1 - e^(-p_j t)) dt
        C_i  = the mean of 1 / (1 - e^(-p_i t)) under that integrand

    Murthy (1957). It is the same for R_PURE, and never less precise than either; that shows once
    a good part of the pool is labelled.
    The draws must come from scores that never changed: `race` makes such draws.

    >>> murthy_weights(Draws([2, 0], [0.25, 1 / 3], pool_size=4)).round(6)
    array([1., 1.])
    """
    N, M = draws.pool_size, len(draws)
    if M == 0 or N - draws.excluded == M:
        return np.full(M, M / N)
    p, rho = frozen_shares(draws.probability)
    log_t = _integration_points(p, rho)
    pt = np.exp(log_t) * p[:, None]
    arrived = -np.expm1(-pt)  # 1 - e^(-p t), the chance that an item has arrived by t
    log_integrand = log_t - rho * np.exp(log_t) + np.log(arrived).sum(axis=0)
    density = np.exp(log_integrand - log_integrand.max())
    return M / N * ((density / arrived).sum(axis=1) / density.sum())


def _integration_points(p: FloatArray, rho: float) -> FloatArray:
    """Points of s = log t that cover the integrand, evenly spaced.

    Its logarithm is concave in s; the slope 1 - rho e^s + sum x/(e^x - 1), x = p e^s, has one
    root, and the curvature there gives the width.
    """
    low, high = np.log(1e-6 / (p.max() + rho)), np.log(1e3 * (len(p) + 1) / rho)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(middle, p, rho) > 0 else (low, middle)
    curvature = (_slope(low - _NEAR, p, rho) - _slope(low + _NEAR, p, rho)) / (2 * _NEAR)
    width = 1 / np.sqrt(curvature)
    # To the left the integrand falls no faster than t^M.
    left = max(_REACH * width, _TAIL / len(p))
    return low + np.linspace(-left, _REACH * width, _POINTS)


def _slope(s: float, p: FloatArray, rho: float) -> float:
    x = np.minimum(p * np.exp(s), 700.0)  # beyond that an item has certainly arrived
    return float(1 - rho * np.exp(s) + np.sum(x / np.expm1(x)))


def frozen_shares(probability: FloatArray) -> tuple[FloatArray, float]:
    """The frozen shares p behind successive draws, q_m = p_m / (1 - sum_{t<m} p_t), and the rest.

    >>> frozen_shares(np.array([0.5, 0.5]))
    (array([0.5 , 0.25]), 0.25)
    """
    left = np.append(1.0, np.cumprod(1 - probability))
    if left[-1] <= 0:
        raise DrawsError(
            "Murthy's estimator needs scores that never changed, and mass on what is left: these "
            "probabilities use up all of it before the pool is empty."
        )
    return probability * left[:-1], float(left[-1])
