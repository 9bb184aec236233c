"""Exact moments of the estimators on small pools, by enumerating every path of draws.

A pool of eight items has 1,680 ordered paths of four draws, so an expectation can be summed
instead of sampled. Tests use this to check the theorems, studies to show them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure

__all__ = [
    "NaiveMoments",
    "Propose",
    "Step",
    "conditional_variances",
    "every_path",
    "every_step",
    "lure_variance",
    "naive_moments",
    "pure_variance",
]

Propose = Callable[[tuple[int, ...], IntArray], FloatArray]
"""A function of the items drawn, in order, and the items left, to the latter's probabilities."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One node of the tree of paths: the items drawn so far, and the proposal for the next draw."""

    drawn: tuple[int, ...]
    probability: tuple[float, ...]
    chance: float
    left: IntArray
    proposal: FloatArray


def every_step(pool_size: int, budget: int, propose: Propose) -> Iterator[Step]:
    """Yield every state before draw 1, 2, ..., `budget`, with its probability."""
    stack: list[tuple[tuple[int, ...], tuple[float, ...], float]] = [((), (), 1.0)]
    while stack:
        drawn, probability, chance = stack.pop()
        left = np.setdiff1d(np.arange(pool_size), drawn)
        step = Step(drawn, probability, chance, left, propose(drawn, left))
        yield step
        if len(drawn) + 1 < budget:
            stack.extend(_children(step))


def every_path(pool_size: int, budget: int, propose: Propose) -> Iterator[tuple[Draws, float]]:
    """Yield every ordered path of `budget` draws, with its probability.

    >>> paths = every_path(3, 2, lambda drawn, left: np.full(len(left), 1 / len(left)))
    >>> [draws.index.tolist() for draws, chance in paths]
    [[2, 0], [2, 1], [1, 0], [1, 2], [0, 1], [0, 2]]
    """
    for step in every_step(pool_size, budget, propose):
        if len(step.drawn) + 1 == budget:
            for drawn, probability, chance in _children(step):
                yield Draws(np.array(drawn), np.array(probability), pool_size), chance


def _children(step: Step) -> Iterator[tuple[tuple[int, ...], tuple[float, ...], float]]:
    for item, q in zip(step.left.tolist(), step.proposal.tolist(), strict=True):
        if q > 0:
            yield (*step.drawn, item), (*step.probability, q), step.chance * q


def conditional_variances(losses: FloatArray, budget: int, propose: Propose) -> FloatArray:
    """E_m = E[Var[w_m L_m | the draws before it]] for m = 1, ..., M, given the pool."""
    N = len(losses)
    expected = np.zeros(budget)
    for step in every_step(N, budget, propose):
        q, drawable = step.proposal, step.proposal > 0
        weighted = losses[step.left][drawable] / (N * q[drawable])
        mean = np.sum(q[drawable] * weighted)
        expected[len(step.drawn)] += step.chance * np.sum(q[drawable] * (weighted - mean) ** 2)
    return expected


def pure_variance(losses: FloatArray, budget: int, propose: Propose) -> float:
    """Var[R_PURE] given the pool: the second term of Theorem 1, 1/M^2 sum_m E_m."""
    return float(np.sum(conditional_variances(losses, budget, propose)) / budget**2)


def lure_variance(losses: FloatArray, budget: int, propose: Propose) -> float:
    """Var[R_LURE] given the pool: the second term of Theorem 3, 1/M^2 sum_m c_m^2 E_m."""
    c = lure.levels(len(losses), budget)
    return float(np.sum(c**2 * conditional_variances(losses, budget, propose)) / budget**2)


@dataclass(frozen=True, slots=True)
class NaiveMoments:
    """Mean and variance of the naive estimator given the pool, in the terms of Theorem 6.

    The theorem's first term, the variance of `mean` over pools, needs more than one pool.
    """

    mean: float
    sampling: float
    """Term 2: 1/M^2 sum_m E[Var[L_m | the draws before it]]."""
    drifting: float
    """Term 3: 1/M^2 sum_m Var[E[L_m | the draws before it]]."""
    covariance: float
    """Term 4: 2/M^2 sum_m Cov[L_m, sum_{k<m} L_k]."""

    @property
    def variance(self) -> float:
        """Var[R_naive] given the pool."""
        return self.sampling + self.drifting + self.covariance


def naive_moments(losses: FloatArray, budget: int, propose: Propose) -> NaiveMoments:
    """The moments of Theorem 6 for one pool, by enumeration."""
    M = budget
    means, squared_means, variances, products, sums = (np.zeros(M) for _ in range(5))
    for step in every_step(len(losses), M, propose):
        at, left = len(step.drawn), losses[step.left]
        mean = float(step.proposal @ left)
        before = float(losses[list(step.drawn)].sum())
        means[at] += step.chance * mean
        squared_means[at] += step.chance * mean**2
        variances[at] += step.chance * float(step.proposal @ (left - mean) ** 2)
        products[at] += step.chance * mean * before
        sums[at] += step.chance * before
    return NaiveMoments(
        mean=float(means.mean()),
        sampling=float(variances.sum() / M**2),
        drifting=float((squared_means - means**2).sum() / M**2),
        covariance=float(2 * (products - means * sums).sum() / M**2),
    )
