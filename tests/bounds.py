"""Proven bounds for tests that have to sample: each says how often it raises a false alarm."""

import math

import numpy as np

from levelled._check import FloatArray, IntArray


def hoeffding(n: int, comparisons: int, alarm: float) -> float:
    """How far the mean of n values in [0, 1] strays, in `comparisons` places at once.

    sqrt(log(2 comparisons / alarm) / (2 n)); it strays farther with probability at most `alarm`.
    """
    return math.sqrt(math.log(2 * comparisons / alarm) / (2 * n))


def chernoff(counts: IntArray, n: int, chances: FloatArray, *, alarm: float) -> bool:
    """Whether events that came up `counts` times in n trials can have these chances.

    Each count keeps n KL(count / n, chance) below log(2 events / alarm); all do so at once with
    probability at least 1 - alarm. For rare events this is far sharper than Hoeffding's bound.
    """
    share = counts / n
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(share > 0, share * np.log(share / chances), 0.0)
        miss = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chances)), 0.0)
    return bool((n * (hit + miss) <= math.log(2 * len(counts) / alarm)).all())
