"""Points drawn with replacement, and lines fitted to them by plain importance weights.

This is how Ganti and Gray (UPAL, 2012) keep the risk on a pool unbiased: every draw is from the
whole pool, so that its weight is 1/(N q) whatever was drawn before. Arrays are [R, M].
"""

import numpy as np
from numpy.random import Generator

from levelled import scores
from levelled._check import FloatArray, IntArray
from levelled.estimators.estimate import running_naive
from levelled.samplers.sequential import pick
from levelled_studies.linear import data
from levelled_studies.linear.experiment import Rule
from levelled_studies.linear.fits import Line, features, fit
from levelled_studies.trajectories import Trajectories

__all__ = ["count_different", "draw_again", "fit_importance_weighted"]


def draw_again(
    rule: Rule, x: FloatArray, budget: int, repetitions: int, *, rng: Generator
) -> Trajectories:
    """Draw `budget` points of a pool [N] with replacement, `repetitions` times.

    The scores are those of draws without replacement: the summed distance to all draws so far.
    """
    assert rule.norm is not None
    R, N = repetitions, len(x)
    rows, everything = np.arange(R), np.ones((R, N), dtype=bool)
    interest = np.zeros((R, N))
    index, probability = np.empty((R, budget), dtype=np.int64), np.empty((R, budget))
    for m in range(budget):
        q = rule.propose(interest, everything)
        at = pick(q, rng.random(R))
        index[:, m], probability[:, m] = at, q[rows, at]
        last = x[at][:, None, None]
        interest += scores.geometric(np.broadcast_to(x, (R, N))[..., None], last, rule.norm)
    return Trajectories(index, probability, {})


def fit_importance_weighted(pool: data.Points, draws: Trajectories, *, least: int) -> Line:
    """The lines that minimise 1/M sum L_m / (N q_m) after `least`, ..., M draws."""
    seen = features(pool.x[draws.index], pool.y[draws.index])
    weighted = seen / (len(pool) * draws.probability)
    return fit(running_naive(weighted, draws.probability, len(pool))[..., least - 1 :])


def count_different(index: IntArray) -> IntArray:
    """The number of different points among the first 1, ..., M draws.

    >>> count_different(np.array([[3, 3, 1, 3]]))
    array([[1, 1, 2, 2]])
    """
    order = np.argsort(index, axis=1, kind="stable")
    ranked = np.take_along_axis(index, order, axis=1)
    new = np.ones_like(index)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = np.empty_like(new)
    np.put_along_axis(first, order, new, axis=1)
    return np.asarray(first.cumsum(axis=1))
