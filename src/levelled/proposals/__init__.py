"""Probabilities of the next draw, from scores.

A proposal takes the scores of the items left in the pool and returns the probability that each of
them is drawn next. It knows nothing of models. Scores may have leading axes, [..., N]: each row is
then a pool of its own, and 1,000 trajectories are one call. Where rows have lost different items,
pass all scores and say by the mask `left` (True or False, of the same shape) which items are still
there. The others get probability 0, and their scores do not matter.

No proposal may give probability 0 to an item that is left: no weighting can make up for an item
that is never drawn. `allow_zero=True` permits it.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, between, choice, floats, whole
from levelled.errors import ProposalError
from levelled.proposals.rows import (
    count_left,
    exponentials,
    floored,
    mean_ranks,
    normalised,
    read_log_scores,
    read_rows,
    read_scores,
    relative,
    standardised,
)

__all__ = [
    "boltzmann",
    "checked",
    "epsilon_greedy",
    "mixture",
    "optimal",
    "optimal_for_gradient",
    "power",
    "proportional",
    "rank",
    "uniform",
]

_LARGEST = np.finfo(np.float64).max


def uniform(n: int) -> FloatArray:
    """The same probability for each of the n items left; LURE then weights all alike.

        q = 1 / n

    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    n = whole("n", n, least=1)
    return np.full(n, 1 / n)


def proportional(
    scores: ArrayLike, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """Probabilities in proportion to scores of at least 0.

        q_j = s_j / sum_n s_n

    Scores that are all 0 give the uniform proposal. An item that alone has a score of 0 would
    never be drawn, and is refused unless allowed.

    >>> proportional([1.0, 3.0])
    array([0.25, 0.75])
    >>> proportional([[1.0, 3.0, 4.0], [2.0, 2.0, 0.5]], left=[[True] * 3, [True, True, False]])
    array([[0.125, 0.375, 0.5  ],
           [0.5  , 0.5  , 0.   ]])
    """
    s, mask = read_scores(scores, left, least=0)
    return normalised(relative(s), mask, allow_zero=allow_zero)


def power(
    scores: ArrayLike,
    exponent: float,
    *,
    left: ArrayLike | None = None,
    allow_zero: bool = False,
) -> FloatArray:
    """Probabilities in proportion to a power of scores of at least 0.

        q_j = s_j^b / sum_n s_n^b

    The power proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059): a
    Boltzmann proposal on log s. Exponent 0 is uniform, 1 is `proportional`, and zeros are treated
    as there.

    >>> power([1.0, 3.0], exponent=2)
    array([0.1, 0.9])
    """
    exponent = between("exponent", exponent, 0, _LARGEST)
    s, mask = read_scores(scores, left, least=0)
    return normalised(relative(s) ** exponent, mask, allow_zero=allow_zero)


def boltzmann(
    scores: ArrayLike,
    beta: float,
    normalise: Literal["none", "sum", "z"] = "none",
    *,
    left: ArrayLike | None = None,
    allow_zero: bool = False,
) -> FloatArray:
    """Probabilities that grow exponentially with the score.

        q_j = exp(beta s_j) / sum_n exp(beta s_n)

    Section 3.3 of the paper; its Table 1 calls beta the temperature T. `normalise` puts scores on
    a scale that does not depend on their unit: "sum" divides scores of at least 0 by their sum
    (the paper's T = 10,000 means this), "z" takes (s - mean) / standard deviation, in both cases
    over the items left. Scores that are all equal give the uniform proposal. A score of -inf, or
    one so far below the highest that its exponential is 0, has probability 0 and is refused unless
    allowed.

    >>> boltzmann([0.0, 1.0, 2.0], beta=1).round(3)
    array([0.09 , 0.245, 0.665])
    >>> boltzmann([10.0, 30.0], beta=2, normalise="sum").round(3)
    array([0.269, 0.731])
    """
    choice("normalise", normalise, ("none", "sum", "z"))
    beta = between("beta", beta, 0, _LARGEST)
    if normalise == "sum":
        s, mask = read_scores(scores, left, least=0)
        s = normalised(relative(s), mask, allow_zero=True)
    elif normalise == "z":
        s, mask = read_scores(scores, left)
        s = standardised(s, mask)
    else:
        s, mask = read_log_scores(scores, left)
    return normalised(exponentials(s, beta), mask, allow_zero=allow_zero)


def rank(
    scores: ArrayLike,
    exponent: float,
    *,
    left: ArrayLike | None = None,
    allow_zero: bool = False,
) -> FloatArray:
    """Probabilities in proportion to a power of the rank; the highest score has rank 1.

        q_j = r_j^-b / sum_n r_n^-b

    The soft-rank proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059). It
    does not change under any increasing transformation of the scores. Tied items share the mean
    of their ranks, so scores that are all equal give the uniform proposal.

    >>> rank([9.0, 1.0, 2.0], exponent=1).round(3)
    array([0.545, 0.182, 0.273])
    """
    exponent = between("exponent", exponent, 0, _LARGEST)
    s, mask = read_scores(scores, left)
    ranks = mean_ranks(s)
    weights = (ranks.min(axis=-1, keepdims=True) / ranks) ** exponent
    return normalised(weights, mask, allow_zero=allow_zero)


def epsilon_greedy(
    scores: ArrayLike,
    epsilon: float,
    *,
    left: ArrayLike | None = None,
    allow_zero: bool = False,
) -> FloatArray:
    """The item of the highest score with probability 1 - epsilon, otherwise any.

        q_j = epsilon / n + (1 - epsilon) / t    for the t items tied at the highest score
        q_j = epsilon / n                        for the others

    Section 3.3 and appendix C.1 of the paper; n counts the items left, not all of the pool, else
    the probabilities would not sum to one. epsilon = 0 gives zeros unless all are tied.

    >>> epsilon_greedy([3.0, 1.0, 2.0, 0.0], epsilon=0.2)
    array([0.85, 0.05, 0.05, 0.05])
    """
    epsilon = between("epsilon", epsilon, 0, 1)
    s, mask = read_scores(scores, left)
    best = s == s.max(axis=-1, keepdims=True)
    greedy = (1 - epsilon) / np.count_nonzero(best, axis=-1, keepdims=True) * best
    return normalised(epsilon / count_left(s, mask) + greedy, mask, allow_zero=allow_zero)


def optimal(
    losses: ArrayLike, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """The proposal under which R_PURE and R_LURE equal the pool risk exactly, at every budget.

        q*_j = L_j / sum of the losses left

    Theorem 7 of the paper, for losses of at least 0. It needs every loss, so it is for
    experiments; with predicted losses it becomes a good proposal rather than a perfect one. Losses
    that are all 0 give the uniform proposal. An item without loss has probability 0: harmless if
    its loss is truly 0 (it would add nothing), but it must be allowed.

    >>> optimal([1.0, 3.0, 4.0])
    array([0.125, 0.375, 0.5  ])
    """
    array = floats("losses", losses, finite=left is None)
    return proportional(array, left=left, allow_zero=allow_zero)


def optimal_for_gradient(
    gradients: ArrayLike, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """Probabilities in proportion to the size of each item's gradient in one scalar parameter.

        q**_j = |dL_j| / sum of the |dL| left

    The remark after Theorem 7 of the paper, which calls it optimal. Of all proposals it gives the
    next draw the least variance, and with one sign of the gradients it is exact at every budget.
    With both signs it is best for a single draw only: from two on, drawing the rarer sign earlier
    leaves less to vary. For gradients (1, -1, -1) and two draws R_LURE has the variance 2/9 with
    q**, and 49/288 if the first item is drawn first with probability 2/3. For several parameters
    there is one such proposal for each.

    >>> optimal_for_gradient([1.0, -3.0])
    array([0.25, 0.75])
    """
    size = np.abs(floats("gradients", gradients, finite=left is None))
    return proportional(size, left=left, allow_zero=allow_zero)


def mixture(
    probabilities: ArrayLike,
    share: float,
    *,
    left: ArrayLike | None = None,
    allow_zero: bool = False,
) -> FloatArray:
    """Put a uniform floor of that share under a proposal.

        q = share / n + (1 - share) p

    No LURE weight can then exceed 1 / share. The proposal itself may give zeros, as in
    mixture(boltzmann(scores, beta=50, allow_zero=True), share=0.1); with share = 0 they are
    refused unless allowed here.

    >>> mixture([1.0, 0.0], share=0.5)
    array([0.75, 0.25])
    """
    share = between("share", share, 0, 1)
    p, mask = _read_probabilities(probabilities, left)
    p = normalised(p.copy(), mask, allow_zero=True)
    return normalised(floored(p, share, mask), mask, allow_zero=allow_zero)


def checked(
    probabilities: ArrayLike, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """Return probabilities that an estimate can be corrected for, or say why they are not.

    They must be at least 0, sum to one within 1e-6 (the sum is then made exact) and, unless
    `allow_zero`, be above 0 for every item left. Use it on probabilities from elsewhere.

    >>> checked([0.25, 0.75])
    array([0.25, 0.75])
    """
    p, mask = _read_probabilities(probabilities, left)
    return normalised(p.copy(), mask, allow_zero=allow_zero)


def _read_probabilities(
    probabilities: ArrayLike, left: ArrayLike | None
) -> tuple[FloatArray, BoolArray | None]:
    p, mask = read_rows("probabilities", probabilities, left)
    if not p.size:
        raise ProposalError("There is no item left to give a probability to.")
    if p.min() < 0:
        raise ProposalError(f"A probability is at least 0; the smallest is {p.min():.6g}.")
    if mask is not None and p[~mask].any():
        raise ProposalError("An item that is not left has a probability above 0.")
    with np.errstate(over="ignore"):
        total = p.sum(axis=-1)
    wrong = total[~(np.abs(total - 1) <= 1e-6)]
    if wrong.size:
        raise ProposalError(
            f"Probabilities must sum to one; these sum to {wrong[0]:.9g}. For weights that do "
            f"not, use proportional(weights)."
        )
    return p, mask
