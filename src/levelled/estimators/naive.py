"""The naive estimator: the plain mean of the drawn losses."""

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws, check_draws

__all__ = ["naive_weights"]


def naive_weights(draws: Draws) -> FloatArray:
    """Weights of one: what is used when nobody corrects for the choice of labels.

        R_naive = 1/M sum_m L_m

    It estimates the pool risk only if the draws were uniform. Theorem 6 of Farquhar, Gal and
    Rainforth (2021) gives its mean and variance under any other proposal.

    >>> naive_weights(Draws([2, 0], [0.5, 0.25], pool_size=4))
    array([1., 1.])
    """
    check_draws(draws)
    return np.ones(len(draws))
