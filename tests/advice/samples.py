"""Draws, labels and models that the tests of advice share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled import Draws
from levelled._check import FloatArray
from levelled.proposals import proportional
from levelled.samplers import adaptive

Array = NDArray[Any]


def drawn(interest: FloatArray, budget: int, seed: int) -> Draws:
    """Draws in proportion to a fixed interest."""
    rng = np.random.default_rng(seed)
    return adaptive(lambda left: proportional(interest[left]), budget, len(interest), rng=rng)


def bent_line(budget: int = 40, seed: int = 0) -> tuple[FloatArray, FloatArray, Draws]:
    """A square, drawn at its ends, of which a line is to be fitted: weights matter a lot."""
    x = np.linspace(-1, 2, 200)
    draws = drawn(0.5 + np.exp(1.5 * x), budget, seed)
    return x[draws.index, None], x[draws.index] ** 2, draws


def two_classes(budget: int = 60, seed: int = 0) -> tuple[FloatArray, Array, Draws]:
    """Points of the plane with noisy names of classes, drawn near the boundary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    names = np.where(X[:, 0] + rng.normal(scale=0.7, size=300) > 0, "spam", "ham")
    draws = drawn(0.2 + np.exp(-np.abs(X[:, 0])), budget, seed)
    return X[draws.index], names[draws.index], draws


class WeightedMean:
    """The mean label: the simplest model, with a closed form."""

    value = 0.0

    def fit(self, X: object, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        self.value = float(np.average(y, weights=sample_weight))

    def predict(self, X: FloatArray) -> FloatArray:
        return np.full(len(X), self.value)


class Counted(WeightedMean):
    """Counts the fits of all its copies since `n_fits` was set to 0."""

    n_fits = 0

    def fit(self, X: object, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        Counted.n_fits += 1
        super().fit(X, y, sample_weight)
