"""The problems on which verdicts are judged: populations, and ways to draw from a pool of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.advice.evidence import inclusion_weights
from levelled.draws import Draws
from levelled.learning.drawing import add_draws, add_labels, empty_state, next_draws
from levelled.learning.settings import LearnerSettings
from levelled.proposals import boltzmann, mixture, uniform
from levelled.samplers import adaptive
from levelled.scores import entropy
from levelled_studies.linear import data, experiment

__all__ = ["LabelledItems", "Sample", "draw_far", "draw_uncertain", "paper", "paper_by_learner"]

UNSEEN = 4000
"""Items on which the truth is measured."""
EVERY = 10
"""Draws after which the scores learn of the new labels; so many are drawn uniformly first."""
FLOOR = 0.1
NEIGHBOURS = 5


@dataclass(frozen=True, slots=True, eq=False)
class LabelledItems:
    """Items and their labels."""

    X: FloatArray
    y: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One repetition: a pool, what was drawn from it, and items of the population to judge by."""

    pool: LabelledItems
    draws: Draws
    unseen: LabelledItems
    weights: FloatArray | None = None
    """The weights by which a learner corrects; None for those of R_LURE."""


Population = Callable[[int, Generator], LabelledItems]
Score = Callable[[LabelledItems, IntArray], FloatArray]
"""Interest of all items of a pool, given the places of those whose labels are known."""


def paper(rule: experiment.Rule, budget: int, rng: Generator) -> Sample:
    """The paper's linear problem (appendix C.1): 101 points, and a curve no line can follow."""
    pool, unseen = data.pool(), data.unseen()
    trajectories = experiment.draw(rule, pool.x, np.zeros(len(pool)), budget, 1, rng=rng)
    draws = Draws(trajectories.index[0], trajectories.probability[0], len(pool))
    return Sample(_points(pool), draws, _points(unseen))


def paper_by_learner(budget: int, rng: Generator) -> Sample:
    """The same problem, with the draws and the weights of a learner without a floor."""
    pool = _points(data.pool())
    line = optional("sklearn.linear_model", extra="sklearn").LinearRegression()
    seed = int(rng.integers(2**31))
    settings = LearnerSettings(line, "geometric", weights="none", floor=0.0, start=1, seed=seed)
    state = empty_state(len(pool.y))
    for _ in range(budget):
        more, hazards = next_draws(settings, pool.X, state, 1)
        state = add_labels(add_draws(state, more, hazards), more.index, pool.y[more.index])
    assert state.hazards is not None
    weights = inclusion_weights(state.hazards[state.draws.index])
    return Sample(pool, state.draws, _points(data.unseen()), weights)


def _points(points: data.Points) -> LabelledItems:
    return LabelledItems(points.x[:, None], points.y)


def draw_uncertain(population: Population, size: int, budget: int, rng: Generator) -> Sample:
    """Draws where the labels of neighbours disagree: entropy, Boltzmann at 1, a floor of 0.1."""
    return _sample(population, size, budget, _entropy, rng)


def draw_far(population: Population, size: int, budget: int, rng: Generator) -> Sample:
    """Draws far from the middle of what was drawn: Boltzmann at 1, a floor of 0.1."""
    return _sample(population, size, budget, _distance, rng)


def _sample(population: Population, size: int, budget: int, score: Score, rng: Generator) -> Sample:
    pool = population(size, rng)
    frozen = np.zeros(size)

    def propose(left: IntArray) -> FloatArray:
        n_drawn = size - len(left)
        if n_drawn < EVERY:
            return uniform(len(left))
        if n_drawn % EVERY == 0:
            frozen[:] = score(pool, np.setdiff1d(np.arange(size), left))
        return mixture(boltzmann(frozen[left], beta=1, normalise="z"), share=FLOOR)

    return Sample(pool, adaptive(propose, budget, size, rng=rng), population(UNSEEN, rng))


def _entropy(pool: LabelledItems, labelled: IntArray) -> FloatArray:
    """Entropy of the labels of the five nearest neighbours, with one more of each class."""
    squares = ((pool.X[:, None] - pool.X[labelled]) ** 2).sum(axis=2)
    near = pool.y[labelled][np.argpartition(squares, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]]
    counts = np.stack([(near == name).sum(axis=1) + 1 for name in np.unique(pool.y)], axis=1)
    return entropy(counts / counts.sum(axis=1, keepdims=True))


def _distance(pool: LabelledItems, labelled: IntArray) -> FloatArray:
    return np.sqrt(((pool.X - pool.X[labelled].mean(axis=0)) ** 2).sum(axis=1))


def rare(n: int, rng: Generator) -> LabelledItems:
    """Two classes in the plane: one item in twelve is of the rare class, in two places.

    No straight boundary has the rare class on one side.
    """
    kind = rng.choice(3, size=n, p=(0.92, 0.05, 0.03))
    centre = np.array([[0.0, 0.0], [2.2, 0.5], [-2.0, 2.0]])[kind]
    return LabelledItems(centre + rng.normal(size=(n, 2)), (kind > 0).astype(int))


def logistic(n: int, rng: Generator) -> LabelledItems:
    """Two classes in the plane whose log odds are linear, as a logistic regression has them."""
    X = rng.normal(size=(n, 2))
    return LabelledItems(X, _toss(2 * X[:, 0] - X[:, 1] - 1, rng))


def curved(n: int, rng: Generator) -> LabelledItems:
    """Two classes in the plane whose log odds are linear but for a square."""
    X = rng.normal(size=(n, 2))
    return LabelledItems(X, _toss(1.5 * X[:, 0] + X[:, 0] ** 2 - X[:, 1] - 2, rng))


def _toss(log_odds: FloatArray, rng: Generator) -> IntArray:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)


def moons(n: int, rng: Generator) -> LabelledItems:
    """Two half circles that overlap, and one label in ten is wrong."""
    y = rng.integers(2, size=n)
    angle = np.pi * rng.random(n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    X = np.where(y[:, None] == 0, upper, lower) + rng.normal(scale=0.25, size=(n, 2))
    return LabelledItems(X, y ^ (rng.random(n) < 0.1))


def idle(n: int, rng: Generator) -> LabelledItems:
    """The moons among eight features that say nothing: a small network can learn all by heart."""
    items = moons(n, rng)
    return LabelledItems(np.hstack([items.X, rng.normal(size=(n, 8))]), items.y)


def blobs(n: int, rng: Generator) -> LabelledItems:
    """Three classes in the plane, of unequal size; two of them stretch along a slope."""
    y = rng.choice(3, size=n, p=(0.6, 0.3, 0.1))
    X = rng.normal(size=(n, 2))
    X[:, 1] += np.where(y < 2, X[:, 0], 0.0)
    return LabelledItems(X + np.array([[0.0, 0.0], [1.5, -0.5], [-1.0, 2.5]])[y], y)


def bent(n: int, rng: Generator) -> LabelledItems:
    """A number that depends on four others, on one of them by its square too."""
    X = rng.normal(size=(n, 4))
    mean = X @ np.array([1.0, -0.5, 0.25, 0.0]) + 0.5 * X[:, 0] ** 2
    return LabelledItems(X, mean + rng.normal(scale=0.5, size=n))


def saturating(n: int, rng: Generator) -> LabelledItems:
    """A number that grows ever more slowly with a skewed one, and is ever noisier."""
    x = rng.lognormal(sigma=0.7, size=n)
    return LabelledItems(x[:, None], np.log1p(3 * x) + rng.normal(scale=0.1 + 0.1 * x))
