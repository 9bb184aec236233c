"""Pools with labels and predictions, draws from them, and when coverage is too low."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import binom

from levelled import Draws
from levelled._check import BoolArray, FloatArray
from levelled_studies.trajectories import Trajectories, frozen

NAMES = np.array(["ham", "news", "spam"])
FOUR = Draws(np.array([4, 1, 0, 7]), 1 / np.array([20.0, 19, 18, 17]), pool_size=20)
WEIGHTED = Draws(np.array([4, 1, 0, 7]), np.array([0.2, 0.05, 0.1, 0.02]), pool_size=20)


@dataclass(frozen=True)
class Pool:
    """Items of three classes, of which a tenth is spam, and a classifier that is often right."""

    label: NDArray[np.str_]
    proba: FloatArray

    @property
    def pred(self) -> NDArray[np.str_]:
        return NAMES[self.proba.argmax(axis=1)]

    def trajectories(
        self, budget: int, repetitions: int, rng: Generator, floor: float = 0.5
    ) -> Trajectories:
        """Draws of the default proposal: half uniform, half by the root of the expected error."""
        score = np.sqrt(1 - self.proba.max(axis=1))
        weights = floor / len(score) + (1 - floor) * score / score.sum()
        return frozen(weights, budget, repetitions, control=score, bound=1.0, rng=rng)


def mail(size: int, rng: Generator, signal: float = 2.2) -> Pool:
    share = np.array([0.6, 0.3, 0.1])
    number = rng.choice(3, size, p=share)
    evidence = signal * np.eye(3)[number] + rng.normal(size=(size, 3))
    logits = 1.3 * (signal * evidence + np.log(share))  # 1.3: overconfident, as most are
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Pool(NAMES[number], proba)


def everything(size: int, rng: Generator) -> Draws:
    """Uniform draws of the whole pool, in any order."""
    return Draws(rng.permutation(size), 1 / np.arange(float(size), 0, -1), size)


def trajectory(found: Trajectories, row: int, size: int) -> Draws:
    return Draws(found.index[row], found.probability[row], size)


def enough(covered: BoolArray, bar: float) -> bool:
    """Whether coverage may be at least `bar`; where it is, this is False once in 10**6 runs."""
    return bool(covered.sum() >= binom.ppf(1e-6, covered.size, bar))
