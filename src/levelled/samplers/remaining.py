"""What was left in the pool at each draw: sums from the end, never differences."""

from itertools import pairwise

import numpy as np

from levelled._check import FloatArray

_RUN = 1024  # sums in runs lose digits with the length of a run, not with the number of draws


def probabilities(
    weight: FloatArray, shift: FloatArray, rest: float, rest_shift: float
) -> FloatArray:
    """The probability of each draw, given the weights of the draws and of what was never drawn.

        q_m = w_m / (rest + w_M + ... + w_m)

    Weights are in units of e^shift. They are added from the last draw back to the first, in the
    largest unit met so far; each step back in time can only raise it.
    """
    weight, shift = weight[::-1], shift[::-1]
    unit = np.maximum.accumulate(np.append(rest_shift, shift))[1:]
    term = weight * np.exp(shift - unit)
    left = np.empty(len(term))
    for begin, end in pairwise([0, *np.flatnonzero(unit[1:] != unit[:-1]) + 1, len(unit)]):
        if end:
            start = rest * np.exp(rest_shift - unit[begin])
            left[begin:end] = running_sum(term[begin:end], start=start)
            rest, rest_shift = left[end - 1], unit[begin]
    return (term / left)[::-1]


def running_sum(terms: FloatArray, *, start: float) -> FloatArray:
    """The sums start + terms[0] + ... + terms[m], accurate however many there are.

    >>> running_sum(np.array([1.0, 2.0]), start=0.5)
    array([1.5, 3.5])
    """
    if len(terms) <= _RUN:
        return np.cumsum(np.append(start, terms))[1:]
    within = np.cumsum(np.append(terms, np.zeros(-len(terms) % _RUN)).reshape(-1, _RUN), axis=1)
    before = np.append(start, running_sum(within[:-1, -1], start=start))
    return np.asarray(before[:, None] + within).reshape(-1)[: len(terms)]
