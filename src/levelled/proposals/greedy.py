"""Mostly the most interesting item, sometimes any."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between
from levelled.proposals.support import interest, normalised

__all__ = ["epsilon_greedy"]


def epsilon_greedy(scores: ArrayLike, epsilon: float, *, allow_zero: bool = False) -> FloatArray:
    """The item of the highest score with probability 1 - epsilon, otherwise any.

        q_j = epsilon / n + (1 - epsilon) / t    for the t items tied at the highest score
        q_j = epsilon / n                        for the others

    Section 3.3 and appendix C.1 of the paper. epsilon = 0 gives zeros unless all are tied.

    >>> epsilon_greedy([3.0, 1.0, 2.0, 0.0], epsilon=0.2)
    array([0.85, 0.05, 0.05, 0.05])
    """
    epsilon = between("epsilon", epsilon, 0, 1)
    s = interest(scores)
    best = s == s.max()
    weights = epsilon / len(s) + (1 - epsilon) / np.count_nonzero(best) * best
    return normalised(weights, allow_zero=allow_zero)
