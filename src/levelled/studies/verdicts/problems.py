"""The problems on which verdicts are judged: a population, a way to draw, and a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.proposals import boltzmann, mixture
from levelled.samplers import adaptive
from levelled.studies.linear import data, rules

__all__ = ["PROBLEMS", "Labelled", "Sample"]

UNSEEN = 4000
"""Items on which the truth is measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Items and their labels."""

    X: FloatArray
    y: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One repetition: a pool, what was drawn from it, and items of the population to judge by."""

    pool: Labelled
    draws: Draws
    unseen: Labelled


def line(budget: int, rng: Generator, rule: rules.Rule) -> Sample:
    """The paper's linear problem (appendix C.1): 101 points, and a curve no line can follow."""
    pool, unseen = data.pool(), data.unseen()
    drawn = rules.draw(rule, pool.x, np.zeros(len(pool)), budget, 1, rng=rng)
    draws = Draws(drawn.index[0], drawn.probability[0], len(pool))
    return Sample(_points(pool), draws, _points(unseen))


def _points(points: data.Points) -> Labelled:
    return Labelled(points.x[:, None], points.y)


def rare(n: int, rng: Generator) -> Labelled:
    """Two classes in the plane: one in twelve items is of the rare class, in two places.

    No straight boundary has the rare class on one side.
    """
    kind = rng.choice(3, size=n, p=(0.92, 0.05, 0.03))
    centre = np.array([[0.0, 0.0], [2.2, 0.5], [-2.0, 2.0]])[kind]
    return Labelled(centre + rng.normal(size=(n, 2)), (kind > 0).astype(int))


def logistic(n: int, rng: Generator) -> Labelled:
    """Two classes in the plane, whose log odds are linear: a logistic regression is right."""
    X = rng.normal(size=(n, 2))
    return Labelled(X, (rng.random(n) < 1 / (1 + np.exp(1 - 2 * X[:, 0] + X[:, 1]))).astype(int))


def moons(n: int, rng: Generator) -> Labelled:
    """Two half circles that overlap, and one label in ten is wrong."""
    y = rng.integers(2, size=n)
    angle = np.pi * rng.random(n)
    X = np.where(
        y[:, None] == 0,
        np.stack([np.cos(angle), np.sin(angle)], axis=1),
        np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1),
    )
    return Labelled(X + rng.normal(scale=0.25, size=(n, 2)), y ^ (rng.random(n) < 0.1))


def bent(n: int, rng: Generator) -> Labelled:
    """A number from four others, of which one acts by its square."""
    X = rng.normal(size=(n, 4))
    mean = X @ np.array([1.0, -0.5, 0.25, 0.0]) + 0.5 * X[:, 0] ** 2
    return Labelled(X, mean + rng.normal(scale=0.5, size=n))


def uncertain(
    make: Callable[[int, Generator], Labelled], size: int, budget: int, rng: Generator
) -> Sample:
    """Draws where the neighbours' labels disagree: entropy, Boltzmann at 1, a floor of 0.1."""
    pool = make(size, rng)
    return Sample(pool, _drawn(pool, _entropy, budget, rng), make(UNSEEN, rng))


def far(
    make: Callable[[int, Generator], Labelled], size: int, budget: int, rng: Generator
) -> Sample:
    """Draws far from the middle of what was drawn: Boltzmann at 1, a floor of 0.1."""
    pool = make(size, rng)
    return Sample(pool, _drawn(pool, _distance, budget, rng), make(UNSEEN, rng))


def _drawn(
    pool: Labelled,
    score: Callable[[Labelled, IntArray, IntArray], FloatArray],
    budget: int,
    rng: Generator,
) -> Draws:
    """Ten uniform draws, then by the scores, which learn from every tenth label on."""
    told: list[int] = []
    state: dict[str, FloatArray] = {}

    def propose(left: IntArray) -> FloatArray:
        n = len(pool.y) - len(left)
        if n < 10:
            return np.full(len(left), 1 / len(left))
        gone = np.setdiff1d(np.arange(len(pool.y)), left)
        if n % 10 == 0 or "scores" not in state:
            state["scores"] = score(pool, np.arange(len(pool.y)), gone)
        return mixture(boltzmann(state["scores"][left], beta=1, normalise="z"), share=0.1)

    del told
    return adaptive(propose, budget, len(pool.y), rng=rng)


def _entropy(pool: Labelled, left: IntArray, drawn: IntArray) -> FloatArray:
    squares = ((pool.X[left][:, None] - pool.X[drawn]) ** 2).sum(axis=2)
    near = np.argpartition(squares, 4, axis=1)[:, :5]
    share = (pool.y[drawn][near].sum(axis=1) + 1) / 7
    return -share * np.log(share) - (1 - share) * np.log(1 - share)


def _distance(pool: Labelled, left: IntArray, drawn: IntArray) -> FloatArray:
    return np.sqrt(((pool.X[left] - pool.X[drawn].mean(axis=0)) ** 2).sum(axis=1))


PROBLEMS: dict[str, Any] = {}
