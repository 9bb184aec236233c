"""What every proposal takes and gives: scores of the items left, probabilities for all of them."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats
from levelled.errors import InputError, ProposalError

__all__ = ["checked", "interest", "normalised"]


def checked(probabilities: ArrayLike, *, allow_zero: bool = False) -> FloatArray:
    """Return probabilities that an estimate can be corrected for, or say why there are none.

    They must be at least 0, sum to one within 1e-6 (the sum is then made exact) and, unless
    `allow_zero`, leave nobody out. Use it on probabilities from elsewhere.

    >>> checked([0.25, 0.75])
    array([0.25, 0.75])
    """
    p = floats("probabilities", probabilities, ndim=1)
    if not len(p):
        raise ProposalError("There is no item left to give a probability to.")
    if p.min() < 0:
        raise ProposalError(f"A probability is at least 0; the smallest is {p.min():.6g}.")
    with np.errstate(over="ignore"):
        total = p.sum()
    if not abs(total - 1) <= 1e-6:
        raise ProposalError(
            f"Probabilities must sum to one; these sum to {total:.9g}. For weights that do not, "
            f"use proportional(weights)."
        )
    return normalised(p.copy(), allow_zero=allow_zero)


def normalised(weights: FloatArray, *, allow_zero: bool) -> FloatArray:
    """Divide weights, the largest near 1, by their sum; refuse zeros unless they are allowed.

    In place: for a large pool, making an array takes longer than dividing it.
    """
    weights /= weights.sum()
    if not allow_zero and not weights.all():
        n_zero = len(weights) - np.count_nonzero(weights)
        raise ProposalError(
            f"The proposal gives probability 0 to {n_zero} of {len(weights)} unlabelled items, so "
            f"no weighting can make the estimate unbiased. Pass allow_zero=True and mix the result "
            f"with a uniform proposal, for example mixture(probabilities, share=0.05), or take "
            f"those items out of the pool before the campaign starts."
        )
    return weights


def interest(scores: ArrayLike, *, least: float | None = None) -> FloatArray:
    """Return the scores of the items left: one or more finite numbers, at least `least`."""
    s = floats("scores", scores, ndim=1)
    if not len(s):
        raise InputError("There is no item left to propose: scores is empty.")
    if least is not None and s.min() < least:
        raise InputError(
            f"Scores must be at least {least:g} here; {np.count_nonzero(s < least)} of {len(s)} "
            f"are not, the smallest is {s.min():.6g}. Use boltzmann or rank for scores of any sign."
        )
    return s
