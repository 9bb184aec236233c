"""Weighted least squares for many trajectories at every budget at once.

A line's weighted squared error depends on the data only through the weighted means of
1, x, y, x^2, xy and y^2. Those are risk estimates like any other, so the running estimators of
`levelled.estimators` give them for all budgets from cumulative sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray
from levelled_studies.objectives import RUNNING

__all__ = ["Line", "features", "fit", "risk", "running_moments"]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """y = intercept + slope x, or as many lines as the arrays have entries."""

    intercept: FloatArray
    slope: FloatArray


def features(x: FloatArray, y: FloatArray) -> FloatArray:
    """1, x, y, x^2, xy, y^2, stacked along a new first axis."""
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y])


def running_moments(
    x: FloatArray, y: FloatArray, probability: FloatArray, pool_size: int, *, least: int
) -> Mapping[str, FloatArray]:
    """Each objective's estimate of the pool's mean features after `least`, ..., M labels.

    Arrays are [R, M]; the result is [6, R, M - least + 1].
    """
    seen = features(x, y)
    return {
        name: running(seen, probability, pool_size)[..., least - 1 :]
        for name, running in RUNNING.items()
    }


def fit(moments: FloatArray) -> Line:
    """The lines of least weighted squared error, from weighted features [6, ...].

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> line = fit(features(x, 1 + 3 * x).mean(axis=-1))
    >>> round(float(line.intercept), 6), round(float(line.slope), 6)
    (1.0, 3.0)
    """
    one, x, y, xx, xy, _ = moments
    slope = (one * xy - x * y) / (one * xx - x * x)
    return Line((y - slope * x) / one, slope)


def risk(line: Line, moments: FloatArray) -> FloatArray:
    """The weighted mean squared error of lines [...] on weighted features [6, ...]."""
    one, x, y, xx, xy, yy = moments
    a, b = line.intercept, line.slope
    return yy - 2 * a * y - 2 * b * xy + a * a * one + 2 * a * b * x + b * b * xx
