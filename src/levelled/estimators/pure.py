"""The naive estimator, R_PURE (the plain unbiased risk estimator), and the terms of R_PURE.

The terms are also those of R_LURE, of the variance and of betting.
"""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws, check_draws


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
    return weights(draws.probability, draws.pool_size)


def weights(probability: FloatArray, pool_size: int) -> FloatArray:
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
) -> FloatArray:
    """The terms a_m, each an unbiased estimate of the pool risk given the draws before it.

        a_m = w_m L_m + 1/N sum_{t<m} L_t,    w_m = 1/(N q_m)

    Lemma 1 of Farquhar, Gal and Rainforth (2021); N a_m is the ordered estimator of Des Raj
    (1956). R_PURE is their mean. With a predictor g_m of the loss that does not use label m,
    the difference form has less variance the better it predicts:

        a_m = w_m (L_m - g_m(i_m)) + 1/N (sum_{t<m} L_t + sum_{n not yet drawn} g_m(n))

    `control` is g_m(i_m) and `control_left` the last sum, in which item m is still counted.
    Arrays are [..., M].

    >>> terms(np.array([1.0, 0.0]), np.array([0.5, 0.25]), 4)
    array([0.5 , 0.25])
    """
    before = np.cumsum(losses, axis=-1) - losses
    if control is None or control_left is None:
        return (losses / probability + before) / pool_size
    return ((losses - control) / probability + before + control_left) / pool_size
