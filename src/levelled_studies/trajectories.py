"""Many trajectories of draws from one pool at once, for studies that repeat an evaluation.

`levelled.samplers` draws one trajectory exactly and fast from a large pool; here many are drawn
from a small one, as arrays [R, M]: R repetitions of M draws, with their design columns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.proposals import epsilon_greedy

__all__ = ["Trajectories", "frozen", "greedy", "stratified"]


@dataclass(frozen=True, slots=True, eq=False)
class Trajectories:
    """R trajectories of M draws from one pool, each array [R, M]."""

    index: IntArray
    probability: FloatArray
    design: Mapping[str, FloatArray]

    def draws(self, pool_size: int) -> Iterator[Draws]:
        """Each trajectory as the draws that the library's functions take."""
        for row, (index, probability) in enumerate(zip(self.index, self.probability, strict=True)):
            design = {name: column[row] for name, column in self.design.items()}
            yield Draws(index, probability, pool_size, design=design)

    def design_size(self, budget: int) -> float:
        """The mean number of uniform labels that the design is worth after `budget` draws."""
        return budget / float(self.design["dispersion"][:, :budget].mean())


def frozen(
    weights: FloatArray,
    budget: int,
    repetitions: int,
    *,
    control: FloatArray,
    bound: float,
    rng: Generator,
) -> Trajectories:
    """Draws in proportion to weights that do not change: an exponential race for each row."""
    N = len(weights)
    keys = rng.standard_exponential((repetitions, N)) / weights
    index = np.argpartition(keys, min(budget, N - 1), axis=1)[:, :budget]
    rows = np.arange(repetitions)[:, None]
    index = index[rows, np.argsort(keys[rows, index], axis=1)]
    never = np.ones((repetitions, N), dtype=bool)
    never[rows, index] = False
    left = _left(np.add, weights, index, never, 0.0)
    scale = left / N  # times 1/w it is w~ = 1/(N q)
    n_left = N - np.arange(budget)
    finite = bound if np.isfinite(bound) else 0.0
    design = {
        "max_weight": scale * _left(np.maximum, 1 / weights, index, never, 0.0),
        "dispersion": left * _left(np.add, 1 / weights, index, never, 0.0) / n_left**2,
        "control": control[index],
        "control_left": _left(np.add, control, index, never, 0.0),
        "max_weighted_control": scale * _left(np.maximum, control / weights, index, never, 0.0),
        "max_weighted_headroom": scale
        * _left(np.maximum, (finite - control) / weights, index, never, -np.inf),
    }
    return Trajectories(index, np.minimum(weights[index] / left, 1), design)


def _left(
    combine: np.ufunc, values: FloatArray, index: IntArray, never: FloatArray, start: float
) -> FloatArray:
    """Apply `combine` to the items left before each draw: drawn at it, later, or never."""
    rest = combine.reduce(np.where(never, values, start), axis=1)
    later = combine.accumulate(values[index][:, ::-1], axis=1)[:, ::-1]
    return np.asarray(combine(rest[:, None], later))


def greedy(
    scores: FloatArray,
    epsilon: float,
    budget: int,
    repetitions: int,
    *,
    control: FloatArray,
    bound: float,
    rng: Generator,
) -> Trajectories:
    """Epsilon-greedy draws on scores that do not change and are all different.

    Only the rank of an item among those left matters, so the proposal is computed once a step,
    for the best of n items and n - 1 others, and serves all trajectories.
    """
    N, R = len(scores), repetitions
    order = np.argsort(-scores, kind="stable")
    index = np.empty((R, budget), dtype=np.int64)
    drawn = np.zeros((R, N), dtype=bool)  # by rank of score
    best, rows = np.zeros(R, dtype=np.int64), np.arange(R)
    left_control = np.full(R, control.sum())
    names = ("probability", "max_weight", "dispersion", "control_left", "max_weighted_control")
    columns = {name: np.empty((R, budget)) for name in names}
    for m in range(budget):
        n = N - m
        q = epsilon_greedy(np.arange(n, 0, -1), epsilon)
        while drawn[rows, best].any():
            best = np.where(drawn[rows, best], best + 1, best)
        at = _uniform_left(drawn, rng)
        at = np.where(rng.random(R) < epsilon, at, best)
        drawn[rows, at] = True
        index[:, m] = order[at]
        columns["probability"][:, m] = np.where(at == best, q[0], q[-1])
        columns["max_weight"][:, m] = 1 / (N * q[-1])
        columns["dispersion"][:, m] = np.sum(1 / q) / n**2
        columns["control_left"][:, m] = left_control
        columns["max_weighted_control"][:, m] = control[order[best]] / (N * q[-1])
        left_control = left_control - control[order[at]]
    finite = bound if np.isfinite(bound) else 0.0
    columns["max_weighted_headroom"] = columns["max_weight"] * finite
    probability = columns.pop("probability")
    return Trajectories(index, probability, columns | {"control": control[index]})


def _uniform_left(drawn: FloatArray, rng: Generator) -> IntArray:
    """An item not yet drawn for each row, all with the same probability."""
    R, N = drawn.shape
    at: IntArray = rng.integers(N, size=(R,))
    while (again := drawn[np.arange(R), at]).any():
        at = np.where(again, rng.integers(N, size=(R,)), at)
    return at


def stratified(
    losses: FloatArray,
    strata: IntArray,
    floor: float,
    budget: int,
    repetitions: int,
    *,
    control: FloatArray,
    bound: float,
    rng: Generator,
) -> Trajectories:
    """Adaptive draws: a stratum's items are drawn in proportion to its mean loss so far.

    The mean of a stratum starts at the overall mean of the predictor and moves with its labels;
    a uniform floor lies under it.
    """
    N, R, H = len(losses), repetitions, int(strata.max()) + 1
    sizes = np.bincount(strata, minlength=H).astype(float)
    members = [rng.permuted(np.tile(np.flatnonzero(strata == h), (R, 1)), axis=1) for h in range(H)]
    largest = np.array([control[strata == h].max() for h in range(H)])
    smallest = np.array([control[strata == h].min() for h in range(H)])
    finite = bound if np.isfinite(bound) else 0.0
    prior = control.mean()
    rows = np.arange(R)
    n_left, seen, total = np.tile(sizes, (R, 1)), np.zeros((R, H)), np.zeros((R, H))
    left_control = np.full(R, control.sum())
    index = np.empty((R, budget), dtype=np.int64)
    columns = {
        name: np.empty((R, budget))
        for name in (
            "probability",
            "max_weight",
            "dispersion",
            "control_left",
            "max_weighted_control",
            "max_weighted_headroom",
        )
    }
    for m in range(budget):
        n = N - m
        mean = (total + 2 * prior) / (seen + 2)
        mass = n_left * mean
        q = floor / n + (1 - floor) * mean / mass.sum(axis=1, keepdims=True)  # of each item
        chance = np.cumsum(q * n_left, axis=1)
        h = (rng.random(R)[:, None] * chance[:, -1:] >= chance).sum(axis=1)
        h = np.where(n_left[rows, h] > 0, h, n_left.argmax(axis=1))
        place = (sizes[h] - n_left[rows, h]).astype(int)
        index[:, m] = [
            members[stratum][row, at]
            for row, (stratum, at) in enumerate(zip(h, place, strict=True))
        ]
        weight = np.where(n_left > 0, 1 / (N * q), 0)
        columns["probability"][:, m] = np.minimum(q[rows, h], 1)
        columns["max_weight"][:, m] = weight.max(axis=1)
        columns["dispersion"][:, m] = (n_left / q).sum(axis=1) / n**2
        columns["control_left"][:, m] = left_control
        columns["max_weighted_control"][:, m] = (weight * largest).max(axis=1)
        columns["max_weighted_headroom"][:, m] = (weight * (finite - smallest)).max(axis=1)
        loss = losses[index[:, m]]
        n_left[rows, h] -= 1
        seen[rows, h] += 1
        total[rows, h] += loss
        left_control = left_control - control[index[:, m]]
    probability = columns.pop("probability")
    return Trajectories(index, probability, columns | {"control": control[index]})
