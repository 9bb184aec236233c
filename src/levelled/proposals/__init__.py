"""Probabilities of the next draw, from scores.

A proposal takes the scores of the items left in the pool and returns the probability that each of
them is drawn next. It knows nothing of models. Scores may have leading axes, [..., N]: each row is
then a pool of its own, and 1,000 trajectories are one call. Where rows have lost different items,
pass all scores and say by the mask `left` (True or False, of the same shape) which items are still
there. The others get probability 0, and their scores do not matter.

No proposal may give probability 0 to an item that is left: no weighting can make up for an item
that is never drawn. `allow_zero=True` permits it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, IntArray, between, choice, floats, whole
from levelled.errors import InputError, ProposalError

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
_Rows = tuple[FloatArray, BoolArray | None]

_SQUARABLE = (1e-100, 1e100)
"""Scores whose largest lies between can be squared and added as they are.

Their squares stay within 10^±200, and floats reach from 10^-308 to 10^308.
"""


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
    s, mask = _read_scores(scores, left, least=0)
    return _normalised(_relative(s), mask, allow_zero=allow_zero)


def power(
    scores: ArrayLike, exponent: float, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """Probabilities in proportion to a power of scores of at least 0.

        q_j = s_j^b / sum_n s_n^b

    The power proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059): a
    Boltzmann proposal on log s. Zeros are treated as in `proportional`.

    Parameters
    ----------
    scores : Scores of at least 0, [..., N].
    exponent : The power b: 0 is uniform, 1 is `proportional`.
    left : True for each item that is still there, if `scores` has others too.
    allow_zero : True to let items that are left have probability 0.

    >>> power([1.0, 3.0], exponent=2)
    array([0.1, 0.9])
    """
    exponent = between("exponent", exponent, 0, _LARGEST)
    s, mask = _read_scores(scores, left, least=0)
    return _normalised(_relative(s) ** exponent, mask, allow_zero=allow_zero)


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

    Section 3.3 of the paper; its Table 1 calls beta the temperature T. Scores that are all equal
    give the uniform proposal. A score of -inf, or one so far below the highest that its exponential
    is 0, has probability 0 and is refused unless allowed.

    Parameters
    ----------
    scores : Scores of any sign, [..., N].
    beta : At least 0: 0 is uniform, and the larger it is, the rarer are low scores.
    normalise : A scale that does not depend on the unit of the scores: "sum" divides scores of at
        least 0 by their sum (the paper's T = 10,000 means this), "z" takes (s - mean) / standard
        deviation, in both cases over the items left.
    left : True for each item that is still there, if `scores` has others too.
    allow_zero : True to let items that are left have probability 0.

    >>> boltzmann([0.0, 1.0, 2.0], beta=1).round(3)
    array([0.09 , 0.245, 0.665])
    >>> boltzmann([10.0, 30.0], beta=2, normalise="sum").round(3)
    array([0.269, 0.731])
    """
    choice("normalise", normalise, ("none", "sum", "z"))
    beta = between("beta", beta, 0, _LARGEST)
    if normalise == "sum":
        s, mask = _read_scores(scores, left, least=0)
        s = _normalised(_relative(s), mask, allow_zero=True)
    elif normalise == "z":
        s, mask = _read_scores(scores, left)
        s = _standardised(s, mask)
    else:
        s, mask = _read_log_scores(scores, left)
    return _normalised(_exponentials(s, beta), mask, allow_zero=allow_zero)


def rank(
    scores: ArrayLike, exponent: float, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """Probabilities in proportion to a power of the rank; the highest score has rank 1.

        q_j = r_j^-b / sum_n r_n^-b

    The soft-rank proposal of Kirsch et al., Stochastic Batch Acquisition (arXiv:2106.12059). It
    does not change under any increasing transformation of the scores. Tied items share the mean
    of their ranks, so scores that are all equal give the uniform proposal.

    Parameters
    ----------
    scores : Scores of any sign, [..., N].
    exponent : The power b: 0 is uniform.
    left : True for each item that is still there, if `scores` has others too.
    allow_zero : True to let items that are left have probability 0.

    >>> rank([9.0, 1.0, 2.0], exponent=1).round(3)
    array([0.545, 0.182, 0.273])
    """
    exponent = between("exponent", exponent, 0, _LARGEST)
    s, mask = _read_scores(scores, left)
    ranks = _mean_ranks(s)
    weights = (ranks.min(axis=-1, keepdims=True) / ranks) ** exponent
    return _normalised(weights, mask, allow_zero=allow_zero)


def epsilon_greedy(
    scores: ArrayLike, epsilon: float, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    """The item of the highest score with probability 1 - epsilon, otherwise any.

        q_j = epsilon / n + (1 - epsilon) / t    for the t items tied at the highest score
        q_j = epsilon / n                        for the others

    Section 3.3 and appendix C.1 of the paper; n counts the items left, not all of the pool, else
    the probabilities would not sum to one.

    Parameters
    ----------
    scores : Scores of any sign, [..., N].
    epsilon : The share that goes to all items alike; 0 gives zeros unless all are tied.
    left : True for each item that is still there, if `scores` has others too.
    allow_zero : True to let items that are left have probability 0.

    >>> epsilon_greedy([3.0, 1.0, 2.0, 0.0], epsilon=0.2)
    array([0.85, 0.05, 0.05, 0.05])
    """
    epsilon = between("epsilon", epsilon, 0, 1)
    s, mask = _read_scores(scores, left)
    best = s == s.max(axis=-1, keepdims=True)
    greedy = (1 - epsilon) / np.count_nonzero(best, axis=-1, keepdims=True) * best
    return _normalised(epsilon / _count_left(s, mask) + greedy, mask, allow_zero=allow_zero)


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

    No LURE weight can then exceed 1 / share.

    Parameters
    ----------
    probabilities : Those of a proposal, [..., N], which may give zeros, as in
        mixture(boltzmann(scores, beta=50, allow_zero=True), share=0.1).
    share : The share of the uniform proposal, from 0 to 1.
    left : True for each item that is still there, if `probabilities` has others too.
    allow_zero : True to let items have probability 0, which they can with share = 0.

    >>> mixture([1.0, 0.0], share=0.5)
    array([0.75, 0.25])
    """
    share = between("share", share, 0, 1)
    p, mask = _read_probabilities(probabilities, left)
    p = _normalised(p.copy(), mask, allow_zero=True)
    return _normalised(floored(p, share, mask), mask, allow_zero=allow_zero)


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
    return _normalised(p.copy(), mask, allow_zero=allow_zero)


def _read_probabilities(
    probabilities: ArrayLike, left: ArrayLike | None
) -> tuple[FloatArray, BoolArray | None]:
    p, mask = _read_rows("probabilities", probabilities, left)
    if not p.size:
        raise ProposalError("There is no item left to give a probability to.")
    if p.min() < 0:
        raise ProposalError(f"A probability is at least 0; the smallest is {p.min():.6g}.")
    if mask is not None and p[~mask].any():
        raise ProposalError("An item that is not left has a probability above 0.")
    # Sums of probabilities in single precision are off by some 10^-7.
    with np.errstate(over="ignore"):
        total = p.sum(axis=-1)
    wrong = total[~(np.abs(total - 1) <= 1e-6)]
    if wrong.size:
        raise ProposalError(
            f"Probabilities must sum to one; these sum to {wrong[0]:.9g}. For weights that do "
            f"not, use proportional(weights)."
        )
    return p, mask


def _read_rows(
    name: str, values: ArrayLike, left: ArrayLike | None, *, finite: bool = True
) -> _Rows:
    """Rows of numbers and the mask of the items left, which must have the same shape."""
    rows = floats(name, values, finite=finite)
    if not rows.ndim:
        raise InputError(f"{name} must be a row of numbers, or rows [..., N]; it is one number.")
    if left is None:
        return rows, None
    mask = np.asarray(left)
    if mask.dtype != np.bool_ or mask.shape != rows.shape:
        raise InputError(
            f"left must be True or False for each item: an array of shape {rows.shape} as {name}; "
            f"it is of type {mask.dtype} and shape {mask.shape}."
        )
    if not mask.any(axis=-1).all():
        raise InputError("There is no item left to propose: a row of left is all False.")
    return rows, mask


def _read_scores(scores: ArrayLike, left: ArrayLike | None, *, least: float | None = None) -> _Rows:
    """Scores, finite and at least `least`; an item that is not left has `least`, or else -inf."""
    s, mask = _read_rows("scores", scores, left, finite=left is None)
    if not s.size:
        raise InputError("There is no item left to propose: scores is empty.")
    if mask is not None:
        s = floats("scores", np.where(mask, s, least or 0.0))
    if least is not None and s.min() < least:
        raise InputError(
            f"Scores must be at least {least:g} here; {np.count_nonzero(s < least)} of {s.size} "
            f"are not, the smallest is {s.min():.6g}. Use boltzmann or rank for scores of any sign."
        )
    return np.where(mask, s, -np.inf) if mask is not None and least is None else s, mask


def _read_log_scores(scores: ArrayLike, left: ArrayLike | None) -> _Rows:
    """A copy of scores that may be -inf, as they are for items that are not left."""
    s, mask = _read_rows("scores", scores, left, finite=False)
    s = s.copy() if mask is None else np.where(mask, s, -np.inf)
    never = s == -np.inf
    _read_scores(np.where(never, 0.0, s), None)
    if never.all(axis=-1).any():
        raise InputError("Every score is -inf, so nothing could be drawn. Give one a finite score.")
    return s, mask


def _count_left(rows: FloatArray, left: BoolArray | None) -> int | IntArray:
    """The number of items left in each row."""
    return rows.shape[-1] if left is None else np.count_nonzero(left, axis=-1, keepdims=True)


def _normalised(weights: FloatArray, left: BoolArray | None, *, allow_zero: bool) -> FloatArray:
    """Divide weights, the largest near 1, by their sum; refuse zeros unless they are allowed.

    In place: for a large pool, making an array takes longer than dividing it.
    """
    if left is not None:
        weights *= left
    weights /= weights.sum(axis=-1, keepdims=True)
    n_left = weights.size if left is None else np.count_nonzero(left)
    if not allow_zero and (n_zero := n_left - np.count_nonzero(weights)):
        raise ProposalError(
            f"The proposal gives probability 0 to {n_zero} of {n_left} unlabelled items, so no "
            f"weighting can make the estimate unbiased. Pass allow_zero=True and mix the result "
            f"with a uniform proposal, for example mixture(probabilities, share=0.05), or take "
            f"those items out of the pool before the campaign starts."
        )
    return weights


def floored(p: FloatArray, share: float, left: BoolArray | None) -> FloatArray:
    """Put a uniform floor of that share under probabilities, in place."""
    p *= 1 - share
    p += share / _count_left(p, left)
    return p


def _relative(scores: FloatArray) -> FloatArray:
    """Scores in units of the largest, so that their sum cannot overflow; all 0 become all 1."""
    largest = scores.max(axis=-1, keepdims=True)
    nothing = largest <= 0
    shares = scores / np.where(nothing, 1.0, largest)
    shares[nothing[..., 0]] = 1
    return shares


def _standardised(scores: FloatArray, left: BoolArray | None) -> FloatArray:
    """Scores less their mean over the items left, in standard deviations; 0 for the others."""
    n = _count_left(scores, left)
    if left is not None:
        lowest = np.where(left, scores, np.inf).min(axis=-1, keepdims=True)
        scores = np.where(left, scores, lowest)
    low, high = (limit(axis=-1, keepdims=True) for limit in (scores.min, scores.max))
    unit = np.maximum(np.abs(low), np.abs(high))
    unit[(unit == 0) | ((_SQUARABLE[0] < unit) & (unit < _SQUARABLE[1]))] = 1
    z = scores - low if (unit == 1).all() else scores / unit - low / unit
    z -= z.sum(axis=-1, keepdims=True) / n
    if left is not None:
        z *= left
    # Not by @, whose last digit depends on the number of threads.
    spread = np.sqrt(np.einsum("...i,...i->...", z, z)[..., None] / n)
    z *= 1 / np.where(spread > 0, spread, 1.0)
    return z


def _exponentials(s: FloatArray, beta: float) -> FloatArray:
    """exp(beta (s - max s)), in place."""
    low, high = s.min(), s.max(axis=-1, keepdims=True)
    never = s == -np.inf if low == -np.inf else None
    with np.errstate(over="ignore", invalid="ignore"):
        # In place, because making large arrays takes longer than computing them.
        if np.isfinite(high.max() - low):
            s -= high
        else:  # halves: the distance between 1e308 and -1e308 is no floating-point number
            s /= 2
            s -= high / 2
            beta = 2 * min(beta, np.finfo(np.float64).max / 2)
        if beta != 1:
            s *= beta
        np.exp(s, out=s)
    if never is not None:
        s[never] = 0  # also where beta is 0
    return s


def _mean_ranks(scores: FloatArray) -> FloatArray:
    """Ranks from 1 for the highest score; tied items share the mean of theirs."""
    order = np.argsort(-scores, axis=-1)
    ordered = np.take_along_axis(scores, order, axis=-1)
    rises = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*scores.shape[:-1], 1), dtype=bool)
    place = np.arange(1.0, scores.shape[-1] + 1)
    first = np.where(np.concatenate([edge, rises], axis=-1), place, 0.0)
    last = np.where(np.concatenate([rises, edge], axis=-1), place, np.inf)[..., ::-1]
    first, last = np.maximum.accumulate(first, axis=-1), np.minimum.accumulate(last, axis=-1)
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, (first + last[..., ::-1]) / 2, axis=-1)
    return ranks


_PROPOSALS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "proportional": lambda s, _: proportional(s, allow_zero=True),
    "boltzmann": lambda s, beta: boltzmann(s, beta, normalise="z", allow_zero=True),
    "power": lambda s, exponent: power(s, exponent, allow_zero=True),
    "rank": lambda s, exponent: rank(s, exponent, allow_zero=True),
    "epsilon_greedy": lambda s, _: epsilon_greedy(s, 0.0, allow_zero=True),
    "uniform": lambda s, _: np.full(s.shape, 1 / s.shape[-1]),
}
NAMES = tuple(_PROPOSALS)
_STRENGTH = ("boltzmann", "power", "rank")
_CERTAIN = 50.0
"""The log of odds at which an item is as good as certain to be drawn.

The best item left then has 10^-21 of its chance. Without a limit, sums of odds could be infinite.
"""


def parse_proposal(
    spec: object, names: Sequence[str] = NAMES
) -> Callable[[FloatArray], FloatArray]:
    """The function from scores to probabilities that a name stands for, to lay over a floor.

    "boltzmann" is beta = 1 on z-scores and "boltzmann:2" beta = 2; "power" and "rank" take an
    exponent likewise. "epsilon_greedy" is the best item alone: the share of the floor is epsilon.

    >>> parse_proposal("power:2")(np.array([1.0, 3.0]))
    array([0.1, 0.9])
    """
    name, value = _read_name(spec, names)
    return lambda scores: _PROPOSALS[name](scores, value)


def proposal_odds(spec: str, scores: FloatArray, left: FloatArray) -> FloatArray | None:
    """How much likelier than the best item left one with each of these scores would be drawn.

    `left` are the scores of the items left, which give "boltzmann" its mean and standard
    deviation. None for "rank" and "epsilon_greedy", whose probabilities depend on all scores.

    >>> proposal_odds("power:2", np.array([0.0, 1.5, 6.0]), left=np.array([1.0, 3.0]))
    array([0.  , 0.25, 4.  ])
    """
    name, strength = _read_name(spec, NAMES)
    if name in ("rank", "epsilon_greedy"):
        return None
    best = left.max()
    if name == "boltzmann":
        spread = left.std()
        strength, steps = (0.0, scores) if spread == 0 else (strength, (scores - best) / spread)
        return np.exp(np.minimum(strength * steps, _CERTAIN))
    if name == "uniform" or best == 0:  # scores that are all 0 are drawn uniformly
        return np.ones(len(scores))
    exponent = 1.0 if name == "proportional" else strength
    return np.asarray((scores / best) ** exponent)


def _read_name(spec: object, names: Sequence[str]) -> tuple[str, float]:
    """The name of a proposal and its strength."""
    name, colon, strength = str(spec).partition(":")
    choice("proposal", name if isinstance(spec, str) else spec, names)
    if colon and name not in _STRENGTH:
        raise InputError(f"proposal={spec!r}: {name} has no strength to be set.")
    try:
        value = float(strength if colon else 1)  # beta = 1 is that of appendix C.1 of the paper
    except ValueError as wrong:
        raise InputError(
            f"proposal={spec!r}: after the colon comes a number, as in {name}:2."
        ) from wrong
    if not 0 <= value < math.inf:
        raise InputError(
            f"proposal={spec!r}: the strength of {name} is a number of at least 0, as in {name}:2."
        )
    return name, value
