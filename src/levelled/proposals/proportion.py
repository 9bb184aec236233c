"""Probabilities in proportion to scores, or to a power of them."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between
from levelled.proposals.support import interest, normalised

__all__ = ["power", "proportional", "relative"]


def proportional(scores: ArrayLike, *, allow_zero: bool = False) -> FloatArray:
    """Probabilities in proportion to scores of at least 0.

        q_j = s_j / sum_n s_n

    Scores that are all 0 tell no item from another: the proposal is then uniform. An item whose
    score alone is 0 would never be drawn, and is refused unless allowed.

    >>> proportional([1.0, 3.0])
    array([0.25, 0.75])
    """
    return normalised(relative(interest(scores, least=0)), allow_zero=allow_zero)


def power(scores: ArrayLike, exponent: float, *, allow_zero: bool = False) -> FloatArray:
    """Probabilities in proportion to a power of scores of at least 0.

        q_j = s_j^b / sum_n s_n^b

    The power proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059): a
    Boltzmann proposal on log s. Exponent 0 is uniform, 1 is `proportional`, and zeros are treated
    as there.

    >>> power([1.0, 3.0], exponent=2)
    array([0.1, 0.9])
    """
    exponent = between("exponent", exponent, 0, np.finfo(np.float64).max)
    return normalised(relative(interest(scores, least=0)) ** exponent, allow_zero=allow_zero)


def relative(scores: FloatArray) -> FloatArray:
    """Scores in units of the largest, so that their sum cannot overflow; all 0 become all 1."""
    largest = scores.max()
    return scores / largest if largest > 0 else np.ones(len(scores))
