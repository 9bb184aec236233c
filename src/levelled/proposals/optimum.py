"""The proposals that would be best if the losses were known (paper, Theorem 7 and its remark)."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats
from levelled.proposals.proportion import proportional

__all__ = ["optimal", "optimal_for_gradient"]


def optimal(losses: ArrayLike, *, allow_zero: bool = False) -> FloatArray:
    """The proposal under which R_PURE and R_LURE equal the pool risk exactly, at every budget.

        q*_j = L_j / sum of the losses left

    Theorem 7 of the paper, for losses of at least 0. It needs every loss, so it is for
    experiments; with predicted losses it becomes a good proposal rather than a perfect one. Losses
    that are all 0 give the uniform proposal. An item without loss has probability 0: harmless if
    its loss is truly 0 (it would add nothing), but it must be allowed.

    >>> optimal([1.0, 3.0, 4.0])
    array([0.125, 0.375, 0.5  ])
    """
    return proportional(floats("losses", losses), allow_zero=allow_zero)


def optimal_for_gradient(gradients: ArrayLike, *, allow_zero: bool = False) -> FloatArray:
    """The best proposal for the gradient of the pool risk in one scalar parameter.

        q**_j = |dL_j| / sum of the |dL| left

    The remark after Theorem 7. For several parameters there is one such proposal for each, and
    none is best for all.

    >>> optimal_for_gradient([1.0, -3.0])
    array([0.25, 0.75])
    """
    return proportional(np.abs(floats("gradients", gradients)), allow_zero=allow_zero)
