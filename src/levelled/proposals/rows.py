"""Rows of scores and of probabilities: how proposals read, scale and normalise them.

Arrays are [..., N], and everything happens along the last axis. A mask of the items left is None
where all are.
"""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, IntArray, floats
from levelled.errors import InputError, ProposalError

Rows = tuple[FloatArray, BoolArray | None]

_SQUARABLE = (1e-100, 1e100)
"""Scores whose largest lies between can be squared and added as they are."""


def read_rows(name: str, values: ArrayLike, left: ArrayLike | None, *, finite: bool = True) -> Rows:
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


def read_scores(scores: ArrayLike, left: ArrayLike | None, *, least: float | None = None) -> Rows:
    """Scores, finite and at least `least`; an item that is not left has `least`, or else -inf."""
    s, mask = read_rows("scores", scores, left, finite=left is None)
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


def read_log_scores(scores: ArrayLike, left: ArrayLike | None) -> Rows:
    """A copy of scores that may be -inf, as they are for items that are not left."""
    s, mask = read_rows("scores", scores, left, finite=False)
    s = s.copy() if mask is None else np.where(mask, s, -np.inf)
    never = s == -np.inf
    read_scores(np.where(never, 0.0, s), None)
    if never.all(axis=-1).any():
        raise InputError("Every score is -inf, so nothing could be drawn. Give one a finite score.")
    return s, mask


def count_left(rows: FloatArray, left: BoolArray | None) -> int | IntArray:
    """The number of items left in each row."""
    return rows.shape[-1] if left is None else np.count_nonzero(left, axis=-1, keepdims=True)


def normalised(weights: FloatArray, left: BoolArray | None, *, allow_zero: bool) -> FloatArray:
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
    p += share / count_left(p, left)
    return p


def relative(scores: FloatArray) -> FloatArray:
    """Scores in units of the largest, so that their sum cannot overflow; all 0 become all 1."""
    largest = scores.max(axis=-1, keepdims=True)
    nothing = largest <= 0
    shares = scores / np.where(nothing, 1.0, largest)
    shares[nothing[..., 0]] = 1
    return shares


def standardised(scores: FloatArray, left: BoolArray | None) -> FloatArray:
    """Scores less their mean over the items left, in standard deviations; 0 for the others."""
    n = count_left(scores, left)
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


def exponentials(s: FloatArray, beta: float) -> FloatArray:
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


def mean_ranks(scores: FloatArray) -> FloatArray:
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
