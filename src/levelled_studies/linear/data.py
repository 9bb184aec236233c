"""The data of appendix C.1: a small cluster, two large ones, and a curve no line can follow."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray
from levelled_studies.linear.fits import Line, features, fit, risk

__all__ = [
    "POOL_COUNTS",
    "Points",
    "best_line",
    "label",
    "place",
    "pool",
    "sample_points",
    "unseen",
]

CLUSTERS = np.array([[-1.2, -0.8], [0.0, 0.5], [1.0, 1.5]])
DENSITY = np.array([0.12, 0.95, 0.95])
POOL_COUNTS = (5, 48, 48)
"""101 points in all. (The paper's "96 points in each of the other two" must be 96 in both.)"""
UNSEEN = 10_100


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Inputs and their labels, [..., N]."""

    x: FloatArray
    y: FloatArray

    def __len__(self) -> int:
        return self.x.shape[-1]

    def squared_errors(self, line: Line) -> FloatArray:
        """The loss of one line at each point."""
        return (self.y - line.intercept - line.slope * self.x) ** 2

    def risk(self, line: Line) -> FloatArray:
        """The mean squared error of lines [...] on these points, [N]."""
        return risk(line, features(self.x, self.y).mean(axis=-1))


def label(x: FloatArray) -> FloatArray:
    """The label of an input: there is no noise.

        y = max(0, x) (|x|^(3/2) + sin(20 x) / 4)

    >>> label(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.   , 0.   , 1.228])
    """
    return np.maximum(0, x) * (np.abs(x) ** 1.5 + np.sin(20 * x) / 4)


def place(counts: tuple[int, ...]) -> Points:
    """Points at evenly spaced quantiles of each cluster ("Rao-Blackwellised"), so many of each.

    >>> place((2, 1, 1)).x.round(2)
    array([-1.1 , -0.9 ,  0.25,  1.25])
    """
    x = np.concatenate(
        [
            low + (np.arange(count) + 0.5) / count * (high - low)
            for (low, high), count in zip(CLUSTERS, counts, strict=True)
        ]
    )
    return Points(x, label(x))


def pool() -> Points:
    """The 101 points to draw from."""
    return place(POOL_COUNTS)


def shares() -> FloatArray:
    """Shares of the clusters in the population; the paper's densities integrate to 0.998."""
    mass = DENSITY * np.diff(CLUSTERS).ravel()
    return mass / mass.sum()


def unseen() -> Points:
    """10,100 points that stand for the population, placed like the pool's: 486 + 4,807 + 4,807.

    >>> len(unseen())
    10100
    """
    return place(tuple(np.rint(UNSEEN * shares()).astype(int).tolist()))


def sample_points(shape: tuple[int, ...], *, rng: Generator) -> Points:
    """Independent points of the population, for studies in which the pool varies too."""
    cluster = rng.choice(len(CLUSTERS), size=shape, p=shares())
    low, high = CLUSTERS[cluster, 0], CLUSTERS[cluster, 1]
    x = low + rng.random(shape) * (high - low)
    return Points(x, label(x))


def best_line(points: Points) -> Line:
    """The least-squares line of all these points: what labels for everything would give."""
    return fit(features(points.x, points.y).mean(axis=-1))
