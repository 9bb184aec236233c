"""Coverage and width of the intervals of precision, recall and F1, measured by simulation.

Pools hold the positives and the scores of a classifier with threshold 1/2; draws are uniform or
of the default proposal of evaluation, half uniform and half the root of the expected error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.metrics.linearised import ratio_moments, wilson_limits
from levelled.proposals import mixture, proportional
from levelled_studies.betting_truth import ratio_rejected_at
from levelled_studies.intervals_report import Cell, claims, figures, summarise_cells
from levelled_studies.study import Study, StudySettings
from levelled_studies.trajectories import Trajectories, frozen

__all__ = ["STUDIES", "RatioSettings"]

LEVEL = 0.95
FLOORS = {"uniform": 1.0, "floor 0.1": 0.1, "floor 0.5": 0.5}


@dataclass(frozen=True, slots=True)
class RatioSettings(StudySettings):
    """Repetitions of every cell, shares of positives, pool sizes and budgets."""

    trajectories: int = 2000
    per_pool: int = 100
    positives: tuple[float, ...] = (0.03, 0.1, 0.3)
    sizes: tuple[int, ...] = (1_000, 10_000)
    budgets: tuple[int, ...] = (100, 500)


def tasks(settings: RatioSettings) -> list[str]:
    """Shares of positives x sizes x proposals, by name."""
    return [
        f"positives {positives:.0%}; {size}; {proposal}"
        for positives in settings.positives
        for size in settings.sizes
        for proposal in FLOORS
    ]


def run(settings: RatioSettings, task: str, rng: Generator) -> pa.Table:
    """Coverage and width for one kind of pool and one proposal."""
    name, size, proposal = task.split("; ")
    positives = float(name.split()[1].rstrip("%")) / 100
    cells: dict[tuple[str, int], list[Cell]] = {}
    for done in range(0, settings.trajectories, settings.per_pool):
        repetitions = min(settings.per_pool, settings.trajectories - done)
        pool = _make_pool(int(size), positives, rng)
        draws = pool.draw(FLOORS[proposal], settings.budgets[-1], repetitions, rng)
        for method, budget, cell in _cells(pool, draws, settings.budgets):
            cells.setdefault((method, budget), []).append(cell)
    return pa.Table.from_pylist(
        [
            {"pool": name, "pool_size": int(size), "proposal": proposal}
            | {"method": method, "labels": budget}
            | summarise_cells(own)
            for (method, budget), own in cells.items()
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class ClassPool:
    """Labels, predictions and uncertainties of a classifier, one of each an item."""

    label: FloatArray
    pred: FloatArray
    score: FloatArray

    def draw(self, floor: float, budget: int, repetitions: int, rng: Generator) -> Trajectories:
        weights = mixture(proportional(self.score, allow_zero=True), share=floor)
        return frozen(weights, budget, repetitions, control=self.score, bound=1.0, rng=rng)

    def pairs(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The numerator and denominator of a metric, item by item."""
        hit = self.label * self.pred
        if metric == "F1":
            return 2 * hit, self.label + self.pred
        return hit, self.pred if metric == "precision" else self.label


def _make_pool(size: int, positives: float, rng: Generator) -> ClassPool:
    label = (rng.random(size) < positives).astype(float)
    evidence = 2.2 * label + rng.normal(size=size)
    logit = 1.3 * (2.2 * evidence - 2.2**2 / 2 + np.log(positives / (1 - positives)))
    p = 1 / (1 + np.exp(-logit))  # 1.3: overconfident, as most are
    return ClassPool(label, (p > 0.5).astype(float), np.sqrt(np.minimum(p, 1 - p)))


def _cells(
    pool: ClassPool, draws: Trajectories, budgets: tuple[int, ...]
) -> Iterator[tuple[str, int, Cell]]:
    N, q = len(pool.label), draws.probability
    for metric in ("precision", "recall", "F1"):
        A, D = pool.pairs(metric)
        truth = float(A.sum() / D.sum())
        a, d = A[draws.index], D[draws.index]
        for budget in budgets:
            at = slice(None), slice(0, budget)
            moments = ratio_moments(a[at], d[at], q[at], N)
            low, high = wilson_limits(moments, LEVEL)
            low, high = np.where(moments.defined, low, 0), np.where(moments.defined, high, 1)
            holds = (low <= truth) & (truth <= high)
            yield f"wilson, {metric}", budget, Cell(holds, high - low, _size(draws, budget))
        most = 2.0 if metric == "F1" else 1.0
        when = ratio_rejected_at(
            truth,
            a,
            d,
            q,
            N,
            most,
            LEVEL,
            max_weighted_denominator=most * draws.design["max_weight"],
        )
        none = np.full(len(when), np.inf)  # widths are not measured here
        yield (
            f"betting, {metric}, watched",
            budgets[-1],
            Cell(when == 0, none, _size(draws, budgets[-1])),
        )


def _size(draws: Trajectories, budget: int) -> float:
    return budget / float(draws.design["dispersion"][:, :budget].mean())


FULL = RatioSettings()
SMOKE = RatioSettings(trajectories=40, per_pool=20, positives=(0.1,), sizes=(300,), budgets=(50,))

STUDIES = {
    "ratios": Study(
        name="ratios",
        title="Coverage of the intervals of precision, recall and F1",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
