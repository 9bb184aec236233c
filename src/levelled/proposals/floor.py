"""The uniform proposal, and a uniform floor under any other."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, whole
from levelled.proposals.support import checked, normalised

__all__ = ["mixture", "uniform"]


def uniform(n: int) -> FloatArray:
    """The same probability for each of the n items left; LURE then weights all alike.

        q = 1 / n

    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    n = whole("n", n, least=1)
    return np.full(n, 1 / n)


def mixture(probabilities: ArrayLike, share: float, *, allow_zero: bool = False) -> FloatArray:
    """Put a uniform floor of that share under a proposal.

        q = share / n + (1 - share) p

    No LURE weight can then exceed 1 / share. The proposal itself may give zeros, as in
    mixture(boltzmann(scores, beta=50, allow_zero=True), share=0.1); with share = 0 they are
    refused unless allowed here.

    >>> mixture([1.0, 0.0], share=0.5)
    array([0.75, 0.25])
    """
    share = between("share", share, 0, 1)
    p = checked(probabilities, allow_zero=True)
    p *= 1 - share
    p += share / len(p)
    return normalised(p, allow_zero=allow_zero)
