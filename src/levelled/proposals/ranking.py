"""Probabilities from the order of the scores alone."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between
from levelled.proposals.support import interest, normalised

__all__ = ["rank"]


def rank(scores: ArrayLike, exponent: float, *, allow_zero: bool = False) -> FloatArray:
    """Probabilities in proportion to a power of the rank; the highest score has rank 1.

        q_j = r_j^-b / sum_n r_n^-b

    The soft-rank proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059). It
    does not change under any increasing transformation of the scores. Tied items share the mean
    of their ranks, so scores that are all equal give the uniform proposal.

    >>> rank([9.0, 1.0, 2.0], exponent=1).round(3)
    array([0.545, 0.182, 0.273])
    """
    exponent = between("exponent", exponent, 0, np.finfo(np.float64).max)
    ranks = _mean_ranks(interest(scores))
    return normalised((ranks.min() / ranks) ** exponent, allow_zero=allow_zero)


def _mean_ranks(scores: FloatArray) -> FloatArray:
    _, group, size = np.unique(-scores, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return np.asarray((last - (size - 1) / 2)[group])
