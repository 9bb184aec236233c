"""Synthetic pools with known losses, for measuring the coverage of intervals.

Each item has a rate or mean of its own; a predictor gives it times a factor lognormal(-.125, .5),
which has mean one. A pool is a function of its size and a generator.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray

__all__ = ["POOLS", "LossPool"]


@dataclass(frozen=True, slots=True, eq=False)
class LossPool:
    """Losses, a predictor of them, and the bounds that may be declared."""

    losses: FloatArray
    predictor: FloatArray
    bounds: tuple[float, float]


def _noisy(values: FloatArray, rng: Generator) -> FloatArray:
    return values * rng.lognormal(-0.125, 0.5, len(values))


def _errors(a: float, b: float) -> Callable[[int, Generator], LossPool]:
    def make(size: int, rng: Generator) -> LossPool:
        rate = rng.beta(a, b, size)
        errors = (rng.random(size) < rate).astype(float)
        return LossPool(errors, np.clip(_noisy(rate, rng), 1e-4, 0.98), (0.0, 1.0))

    return make


def _partly_invisible(size: int, rng: Generator) -> LossPool:
    """5% errors, of which a third happen where the predictor sees nothing."""
    rate = rng.beta(0.2, 3.8, size)
    errors = (rng.random(size) < rate).astype(float)
    hidden = rng.random(size) < 1 / 3
    seen = np.where(hidden, rng.permutation(rate), rate)
    return LossPool(errors, np.clip(_noisy(seen, rng), 1e-4, 0.98), (0.0, 1.0))


def _log_losses(size: int, rng: Generator) -> LossPool:
    mean = rng.lognormal(-1.5, 1.0, size)
    return LossPool(mean * rng.gamma(0.5, 2.0, size), _noisy(mean, rng), (0.0, np.inf))


def _squared(size: int, rng: Generator) -> LossPool:
    mean = rng.gamma(2.0, 0.5, size)
    return LossPool(mean * rng.chisquare(1, size), _noisy(mean, rng), (0.0, np.inf))


def _brier(size: int, rng: Generator) -> LossPool:
    """Dense and bounded: 2 (1 - p)^2 for labels that follow slightly overconfident p."""
    p = rng.beta(4.0, 1.0, size)
    right = rng.random(size) < 0.9 * p + 0.03
    losses = np.where(right, 2 * (1 - p) ** 2, 2 * p**2)
    return LossPool(losses, _noisy(2 * p * (1 - p) + 0.01, rng), (0.0, 2.0))


def _difference(size: int, rng: Generator) -> LossPool:
    """Two models that disagree on 8% of the items, one of them right more often."""
    rate = rng.beta(0.3, 3.4, size)
    disagree = rng.random(size) < rate
    losses = np.where(disagree, np.where(rng.random(size) < 0.65, 1.0, -1.0), 0.0)
    return LossPool(losses, np.clip(_noisy(rate, rng), 1e-4, 0.98), (-1.0, 1.0))


POOLS: dict[str, Callable[[int, Generator], LossPool]] = {
    "errors 5%": _errors(0.2, 3.8),
    "errors 0.5%": _errors(0.05, 9.95),
    "errors 5%, a third unseen": _partly_invisible,
    "heavy log loss": _log_losses,
    "squared error": _squared,
    "Brier": _brier,
    "difference of two models": _difference,
}
