"""The Boltzmann proposal: argmax made soft."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, floats
from levelled.errors import InputError
from levelled.proposals.proportion import relative
from levelled.proposals.support import interest, normalised

__all__ = ["boltzmann"]


def boltzmann(
    scores: ArrayLike,
    beta: float,
    normalise: Literal["none", "sum", "z"] = "none",
    *,
    allow_zero: bool = False,
) -> FloatArray:
    """Probabilities that grow exponentially with the score.

        q_j = exp(beta s_j) / sum_n exp(beta s_n)

    Section 3.3 of the paper; its Table 1 calls beta the temperature T. `normalise` puts scores on
    a scale that does not depend on their unit: "sum" divides scores of at least 0 by their sum
    (the paper's T = 10,000 means this), "z" takes (s - mean) / standard deviation. Scores that are
    all equal give the uniform proposal. A score of -inf, or one so far below the highest that its
    exponential is 0, has probability 0 and is refused unless allowed.

    >>> boltzmann([0.0, 1.0, 2.0], beta=1).round(3)
    array([0.09 , 0.245, 0.665])
    >>> boltzmann([10.0, 30.0], beta=2, normalise="sum").round(3)
    array([0.269, 0.731])
    """
    choice("normalise", normalise, ("none", "sum", "z"))
    beta = between("beta", beta, 0, np.finfo(np.float64).max)
    if normalise == "sum":
        share = relative(interest(scores, least=0))
        s = share / share.sum()
    elif normalise == "z":
        s = _z(interest(scores))
    else:
        s = _possibly_minus_infinity(scores)
    return normalised(_exponentials(s, beta), allow_zero=allow_zero)


def _exponentials(s: FloatArray, beta: float) -> FloatArray:
    """exp(beta (s - max s)), in place."""
    never = s == -np.inf if s.min() == -np.inf else None
    with np.errstate(over="ignore", invalid="ignore"):
        # Halves, because the distance between 1e308 and -1e308 is no floating-point number. In
        # place, because making large arrays takes longer than computing them.
        s /= 2
        s -= s.max()
        s *= beta
        s *= 2
        np.exp(s, out=s)
    if never is not None:
        s[never] = 0  # also where beta is 0
    return s


def _z(s: FloatArray) -> FloatArray:
    unit = max(abs(s.min()), abs(s.max()))
    z = s / unit if unit > 0 else s.copy()
    z -= z.min()
    z -= z.mean()
    spread = np.sqrt(z @ z / len(z))
    if spread > 0:
        z /= spread
    return z


def _possibly_minus_infinity(scores: ArrayLike) -> FloatArray:
    s = floats("scores", scores, ndim=1, finite=False).copy()
    floor = s == -np.inf
    interest(np.where(floor, 0.0, s))
    if floor.all():
        raise InputError("Every score is -inf, so nothing could be drawn. Give one a finite score.")
    return s
