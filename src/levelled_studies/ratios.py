"""Coverage and width of the intervals of ratios, slices and macro averages, by simulation.

Pools hold the labels, predictions and scores of a classifier; draws are uniform or in proportion to
the score above a floor, as a campaign draws. Where "errors are known", a surrogate finds nearly all
errors: hardly any item that is predicted rightly is drawn, and those few have a large weight.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import Estimate
from levelled.metrics import f1, macro, precision, recall
from levelled.metrics.averages import slice_estimate
from levelled.metrics.ratios import Look
from levelled.proposals import mixture, proportional
from levelled_studies.betting_truth import ratio_rejected_at
from levelled_studies.interval_cells import LEVEL, Cell, summarise_cells
from levelled_studies.interval_claims import ratio_claims
from levelled_studies.interval_plots import coverage_and_width
from levelled_studies.study import Study, StudySettings
from levelled_studies.trajectories import Trajectories, frozen

__all__ = ["CLASS_POOLS", "STUDIES", "ClassPool", "RatioSettings"]

FLOORS = {"uniform": 1.0, "floor 0.1": 0.1, "floor 0.5": 0.5}
OF_CLASS = {"precision": precision, "recall": recall, "F1": f1}


@dataclass(frozen=True, slots=True, eq=False)
class ClassPool:
    """Labels, predictions and scores of a classifier, one of each an item."""

    label: IntArray
    pred: IntArray
    score: FloatArray
    inside: BoolArray | None = None
    """The items of the slice that is estimated, where there is one."""

    def draw(self, floor: float, budget: int, repetitions: int, rng: Generator) -> Trajectories:
        """Trajectories in proportion to the score, above a floor."""
        weights = mixture(proportional(self.score, allow_zero=True), share=floor)
        return frozen(weights, budget, repetitions, control=self.score, bound=1.0, rng=rng)

    @property
    def metrics(self) -> dict[str, tuple[float, Callable[[Draws], Estimate]]]:
        """The metrics of this pool: the true value, and the estimate from draws."""
        if self.inside is not None:
            wrong = (self.label != self.pred).astype(np.float64)
            truth = float(wrong[self.inside].mean())
            return {"error in the slice": (truth, partial(self._in_slice, wrong))}
        if self.label.max() > 1:
            classes = np.unique(self.label).tolist()
            truth = float(np.mean([np.divide(*self._sums("F1", c)) for c in classes]))
            return {"macro F1": (truth, partial(self._macro, classes))}
        return {
            name: (float(np.divide(*self._sums(name, 1))), partial(self._of_class, compute))
            for name, compute in OF_CLASS.items()
        }

    def pairs(self, metric: str, of: int = 1) -> tuple[FloatArray, FloatArray]:
        """The numerator and denominator of a metric of one class, item by item."""
        y, p = (self.label == of).astype(np.float64), (self.pred == of).astype(np.float64)
        if metric == "F1":
            return 2 * y * p, y + p
        return y * p, p if metric == "precision" else y

    def _sums(self, metric: str, of: int) -> tuple[float, float]:
        A, D = self.pairs(metric, of)
        return float(A.sum()), float(D.sum())

    def _of_class(self, compute: Callable[..., Estimate], draws: Draws) -> Estimate:
        label, pred = self.label[draws.index], self.pred[draws.index]
        return compute(label, pred, draws, positive=1, classes=[0, 1])

    def _macro(self, classes: Sequence[int], draws: Draws) -> Estimate:
        label, pred = self.label[draws.index], self.pred[draws.index]
        return macro("f1", label, pred, draws, classes=classes)

    def _in_slice(self, wrong: FloatArray, draws: Draws) -> Estimate:
        assert self.inside is not None
        at, look = draws.index, Look(draws, LEVEL, "auto")
        return slice_estimate(
            look, wrong[at], self.inside[at], int(self.inside.sum()), bounds=(0.0, 1.0)
        )


def _calibrated(positives: float) -> Callable[[int, Generator], ClassPool]:
    """A classifier with threshold 1/2 whose probabilities are somewhat overconfident."""

    def make(size: int, rng: Generator) -> ClassPool:
        label = (rng.random(size) < positives).astype(np.int64)
        evidence = 2.2 * label + rng.normal(size=size)
        logit = 1.3 * (2.2 * evidence - 2.2**2 / 2 + np.log(positives / (1 - positives)))
        p = 1 / (1 + np.exp(-logit))
        return ClassPool(label, (p > 0.5).astype(np.int64), np.sqrt(np.minimum(p, 1 - p)))

    return make


def _known_score(wrong: BoolArray, rng: Generator) -> FloatArray:
    """The root of an expected error that is large at nearly all errors and small elsewhere."""
    return np.sqrt(np.where(wrong, 0.6, 0.002) * rng.lognormal(-0.125, 0.5, len(wrong)))


def _rare_known(size: int, rng: Generator) -> ClassPool:
    """1% positives, of which a fifth are missed, and as many false alarms."""
    label = (rng.random(size) < 0.01).astype(np.int64)
    wrong = rng.random(size) < np.where(label == 1, 0.2, 0.002)
    return ClassPool(label, np.where(wrong, 1 - label, label), _known_score(wrong, rng))


def _macro(size: int, rng: Generator) -> ClassPool:
    """Five classes, the rarest 2% of the pool, with 10% errors."""
    label = rng.choice(5, size, p=[0.5, 0.3, 0.13, 0.05, 0.02])
    rate = np.clip(rng.beta(0.4, 3.6, size) * (1 + 0.5 * label), 0, 1)
    wrong = rng.random(size) < rate
    pred = np.where(wrong, (label + rng.integers(1, 5, size)) % 5, label)
    return ClassPool(label, pred, _known_score(wrong, rng))


def _slice(known: bool) -> Callable[[int, Generator], ClassPool]:
    """A slice of 1% with 30% errors, in a pool with 3%."""

    def make(size: int, rng: Generator) -> ClassPool:
        inside = rng.permutation(size) < size // 100
        wrong = rng.random(size) < np.where(inside, 0.3, 0.03)
        label = np.zeros(size, dtype=np.int64)
        unseen = np.sqrt(np.where(inside, 0.01, 0.05) * rng.lognormal(-0.125, 0.5, size))
        score = _known_score(wrong, rng) if known else unseen
        return ClassPool(label, wrong.astype(np.int64), score, inside)

    return make


CLASS_POOLS: dict[str, Callable[[int, Generator], ClassPool]] = {
    "positives 30%": _calibrated(0.3),
    "positives 10%": _calibrated(0.1),
    "positives 3%": _calibrated(0.03),
    "positives 1%, errors known": _rare_known,
    "5 classes, errors known": _macro,
    "slice 1%, errors unseen": _slice(known=False),
    "slice 1%, errors known": _slice(known=True),
}


@dataclass(frozen=True, slots=True)
class RatioSettings(StudySettings):
    """Repetitions of every cell, repetitions that share a pool, pools (name, N) and budgets."""

    trajectories: int = 1000
    per_pool: int = 100
    pools: tuple[tuple[str, int], ...] = (
        ("positives 10%", 1_000),
        *((name, 10_000) for name in CLASS_POOLS),
    )
    budgets: tuple[int, ...] = (100, 200, 500)


def tasks(settings: RatioSettings) -> list[str]:
    """Pools x proposals, by name."""
    return [f"{pool}; {N}; {proposal}" for pool, N in settings.pools for proposal in FLOORS]


def run(settings: RatioSettings, task: str, rng: Generator) -> pa.Table:
    """Coverage and width for one kind of pool and one proposal."""
    name, size, proposal = task.split("; ")
    cells: dict[tuple[str, int], list[Cell]] = {}
    for done in range(0, settings.trajectories, settings.per_pool):
        repetitions = min(settings.per_pool, settings.trajectories - done)
        pool = CLASS_POOLS[name](int(size), rng)
        draws = pool.draw(FLOORS[proposal], settings.budgets[-1], repetitions, rng)
        for method, budget, cell in _cells(pool, draws, settings.budgets):
            cells.setdefault((method, budget), []).append(cell)
    about = {"pool": name, "pool_size": int(size), "proposal": proposal}
    return pa.Table.from_pylist(
        [
            {"kind": _kind(method)} | about | {"method": method, "labels": M} | summarise_cells(own)
            for (method, M), own in cells.items()
        ]
    )


def _kind(method: str) -> str:
    name = method.partition(", watched")[0]
    return {"macro F1": "macro averages", "error in the slice": "slices"}.get(name, name)


def _cells(
    pool: ClassPool, draws: Trajectories, budgets: tuple[int, ...]
) -> Iterator[tuple[str, int, Cell]]:
    N, last = len(pool.label), budgets[-1]
    rows = list(draws.draws(N))
    for name, (truth, compute) in pool.metrics.items():
        for budget in budgets:
            found = [compute(row[:budget]) for row in rows]
            yield name, budget, Cell.of_estimates(found, truth, draws.design_size(budget))
        if name in OF_CLASS:
            never = _never_rejected(pool, draws, name, truth)
            none = np.full(len(never), np.inf)  # widths are not measured here
            yield f"{name}, watched", last, Cell(never, none, draws.design_size(last))


def _never_rejected(pool: ClassPool, draws: Trajectories, metric: str, truth: float) -> BoolArray:
    """True where betting contains the truth at every label."""
    A, D = pool.pairs(metric)
    most = 2.0 if metric == "F1" else 1.0
    when = ratio_rejected_at(
        truth,
        A[draws.index],
        D[draws.index],
        draws.probability,
        len(pool.label),
        most,
        LEVEL,
        max_weighted_denominator=most * draws.design["max_weight"],
    )
    return np.asarray(when == 0)


FULL = RatioSettings()
SMOKE = RatioSettings(
    trajectories=10,
    per_pool=10,
    pools=(
        ("positives 10%", 300),
        ("5 classes, errors known", 300),
        ("slice 1%, errors known", 1000),
    ),
    budgets=(50,),
)

STUDIES = {
    "ratios": Study(
        name="ratios",
        title="Coverage and width of the intervals of ratios, slices and macro averages",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=coverage_and_width,
        claims=ratio_claims,
    )
}
