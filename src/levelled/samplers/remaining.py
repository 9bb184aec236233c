"""What was left in the pool at each draw: sums from the end, never differences."""

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
    q = np.empty(len(weight))
    for run in np.split(np.arange(len(q)), np.flatnonzero(np.diff(unit)) + 1):
        if len(run):
            term = weight[run] * np.exp(shift[run] - unit[run])
            left = running_sum(term, start=rest * np.exp(rest_shift - unit[run[0]]))
            q[run] = term / left
            rest, rest_shift = left[-1], unit[run[0]]
    return q[::-1]


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
