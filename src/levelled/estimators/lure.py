"""R_LURE, the levelled unbiased risk estimator, and the naive one, R_PURE and Murthy's beside it.

The terms of R_PURE, the plain unbiased risk estimator, are also those of R_LURE, of the variance
and of betting.
"""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws, check_draws
from levelled.errors import DrawsError

RAMP = 0.15  # study constants: half 0, twice +2% of the variance
"""The power of m by which later terms, whose predictor has seen more labels, count more."""


def lure_weights(draws: Draws) -> FloatArray:
    """Weights under which the mean of actively drawn losses is unbiased, levelled over time.

        v_m = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q_m) - 1),    m = 1, ..., M

    R_LURE of Farquhar, Gal and Rainforth (2021, arXiv:2101.11665v2). Each v_m has mean one;
    uniform draws have weight one, and so has everything once the whole pool is labelled
    (M = N). The weights change with M: compute them anew when labels are added. Given as
    `sample_weight` they are to be divided by M, the number of draws, not by their sum.

    >>> lure_weights(Draws([2, 0], [0.5, 0.25], pool_size=4)).round(3)
    array([0.667, 1.333])
    """
    check_draws(draws)
    return weights(draws.probability, draws.pool_size)


def weights(probability: FloatArray, pool_size: int) -> FloatArray:
    """`lure_weights` of plain arrays: probabilities [..., M], with any leading axes."""
    N, M = pool_size, probability.shape[-1]
    if M == N:  # the formula is 0/0 at m = N
        return np.ones_like(probability)
    return 1 + (N - M) * slopes(probability, N)


def slopes(probability: FloatArray, pool_size: int) -> FloatArray:
    """The part of the weights that does not depend on M: v_m = 1 + (N - M) slope_m.

        slope_m = (1 / ((N - m + 1) q_m) - 1) / (N - m)

    At m = N it is 0/0; only the factor N - M = 0 ever multiplies it, so it is given as 0.
    """
    left_after = pool_size - np.arange(1.0, probability.shape[-1] + 1)
    excess = 1 / ((left_after + 1) * probability) - 1
    if left_after.size and left_after[-1] == 0:
        left_after[-1], excess[..., -1] = 1, 0
    return excess / left_after


def levels(pool_size: int, budget: int) -> FloatArray:
    """The constants c_m that level the terms a_m: R_LURE = 1/M sum_m c_m a_m.

        c_m = N (N - M) / ((N - m) (N - m + 1)),    m = 1, ..., M

    They sum to M. (Appendix B.4 of the paper says so of the weights v_m, which do it only in
    expectation.) At M = N all weight is on the last term, which is then the pool risk itself.

    >>> levels(4, 2)
    array([0.66666667, 1.33333333])
    >>> levels(3, 3)
    array([0., 0., 3.])
    """
    N, M = pool_size, budget
    if M == N:
        return np.append(np.zeros(N - 1), float(N))
    left_after = N - np.arange(1.0, M + 1)
    return N / (left_after + 1) * ((N - M) / left_after)


def ramped_shares(pool_size: int, budget: int, ramp: float = RAMP) -> FloatArray:
    """Shares u_m of the terms a_m that rise a little faster than those of R_LURE.

        u_m in proportion to m^ramp / ((N - m) (N - m + 1)),    sum_m u_m = 1

    Later terms are better where a predictor learns from the labels. The shares are fixed
    beforehand, so the estimate stays exactly unbiased.

    >>> ramped_shares(4, 2).round(3)
    array([0.311, 0.689])
    """
    shares = np.arange(1.0, budget + 1) ** ramp * levels(pool_size, budget)
    return np.asarray(shares / shares.sum())


def ranked_weights(probability: FloatArray, pool_size: int) -> FloatArray:
    """The weights w~_m = 1 / ((N - m + 1) q_m), of mean one at every step, one if uniform."""
    left = pool_size - np.arange(float(probability.shape[-1]))
    return 1 / (left * probability)


def naive_weights(draws: Draws) -> FloatArray:
    """Weights of one, for the unweighted mean of the drawn losses.

        R_naive = 1/M sum_m L_m

    It estimates the pool risk only if the draws were uniform. Theorem 6 of Farquhar, Gal and
    Rainforth (2021) gives its mean and variance under any other proposal.

    >>> naive_weights(Draws([2, 0], [0.5, 0.25], pool_size=4))
    array([1., 1.])
    """
    check_draws(draws)
    return np.ones(len(draws))


def pure_weights(draws: Draws) -> FloatArray:
    """Weights under which the mean of actively drawn losses is unbiased, in the plainest form.

        R_PURE = 1/M sum_m (1/(N q_m) + (M - m)/N) L_m

    With frozen scores it is Des Raj's mean of ordered estimators (1956). Prefer `lure_weights`:
    its variance is lower wherever the proposal does not get worse as labels come in (Theorem 4),
    and uniform draws then have weight one.

    >>> pure_weights(Draws([2, 0], [0.5, 0.25], pool_size=4))
    array([0.75, 1.  ])
    """
    check_draws(draws)
    return plain_weights(draws.probability, draws.pool_size)


def plain_weights(probability: FloatArray, pool_size: int) -> FloatArray:
    """`pure_weights` of plain arrays: probabilities [..., M], with any leading axes."""
    N, M = pool_size, probability.shape[-1]
    m = np.arange(1, M + 1)
    return 1 / (N * probability) + (M - m) / N


def terms(
    losses: FloatArray,
    probability: FloatArray,
    pool_size: int,
    *,
    control: FloatArray | None = None,
    control_left: FloatArray | None = None,
    given: FloatArray | float = 0.0,
) -> FloatArray:
    """The terms a_m, each an unbiased estimate of the pool risk given the draws before it.

        a_m = w_m L_m + 1/N sum_{t<m} L_t,    w_m = 1/(N q_m)

    Lemma 1 of Farquhar, Gal and Rainforth (2021); N a_m is the ordered estimator of Des Raj
    (1956). R_PURE is their mean. With a predictor g_m of the loss that does not use label m,
    the difference form has less variance the better it predicts:

        a_m = w_m (L_m - g_m(i_m)) + 1/N (sum_{t<m} L_t + sum_{n not yet drawn} g_m(n))

    `control` is g_m(i_m) and `control_left` the last sum, in which item m is still counted.
    `given` is the sum of the losses of items that became known without a draw before draw m, and
    could not be drawn from then on: their g is their loss. Arrays are [..., M].

    >>> terms(np.array([1.0, 0.0]), np.array([0.5, 0.25]), 4)
    array([0.5 , 0.25])
    """
    before = np.cumsum(losses, axis=-1) - losses + given
    if control is None or control_left is None:
        return (losses / probability + before) / pool_size
    return ((losses - control) / probability + before + control_left) / pool_size


_POINTS, _REACH = 801, 14.0  # of the integral, and how many widths it reaches
_TAIL = 45.0  # e^-45 is negligible
_HALVINGS, _NEAR = 80, 1e-4  # bisection to the last digit, and the step of a derivative


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
    # Points of s = log t that cover the integrand, evenly spaced. Its logarithm is concave in s:
    # the slope has one root, and the curvature there gives the width.
    low, high = np.log(1e-6 / (p.max() + rho)), np.log(1e3 * (len(p) + 1) / rho)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(middle, p, rho) > 0 else (low, middle)
    curvature = (_slope(low - _NEAR, p, rho) - _slope(low + _NEAR, p, rho)) / (2 * _NEAR)
    width = 1 / np.sqrt(curvature)
    left = max(_REACH * width, _TAIL / len(p))  # there the integrand falls no faster than t^M
    log_t = low + np.linspace(-left, _REACH * width, _POINTS)
    pt = np.exp(log_t) * p[:, None]
    arrived = -np.expm1(-pt)  # 1 - e^(-p t), the chance that an item has arrived by t
    log_integrand = log_t - rho * np.exp(log_t) + np.log(arrived).sum(axis=0)
    density = np.exp(log_integrand - log_integrand.max())
    return M / N * ((density / arrived).sum(axis=1) / density.sum())


def _slope(s: float, p: FloatArray, rho: float) -> float:
    """The slope 1 - rho e^s + sum x/(e^x - 1), x = p e^s, of the integrand's logarithm in s."""
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
