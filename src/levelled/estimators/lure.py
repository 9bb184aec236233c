"""R_LURE, the levelled unbiased risk estimator."""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws, check_draws

RAMP = 0.15


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
