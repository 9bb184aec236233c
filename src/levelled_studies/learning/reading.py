"""Read the rows of trajectories as effects of weights, and as cells of which regrets are known."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.reports.numbers import with_error
from levelled_studies.learning.settings import Case
from levelled_studies.regret import WAYS, Cell
from levelled_studies.tables import Difference

__all__ = ["CaseRuns", "Effect", "effect", "read"]

_EVERY = ("Brier score", "log loss", "error", "MSE")


@dataclass(frozen=True, slots=True, eq=False)
class CaseRuns:
    """All trajectories of a case: arrays [trajectories, checkpoints]."""

    labels: IntArray
    tested: Mapping[str, Mapping[str, FloatArray]]
    """Test risks by measure and way of training; the first measure is the one that is compared."""
    overfitting: FloatArray
    bias: FloatArray
    """Active learning bias as the labels show it, NaN where it was not measured."""
    share: FloatArray
    """How far training was corrected."""

    @property
    def measure(self) -> str:
        """The measure that is compared: the Brier score of a classifier, else the MSE."""
        return next(iter(self.tested))

    def share_of(self, bias: FloatArray) -> float:
        """A bias after the last label, as a share of the test risk without weights."""
        values = bias[~np.isnan(bias[:, -1]), -1]
        return float(values.mean() / self.risk("naive")[:, -1].mean()) if len(values) else 0.0

    def risk(self, way: str) -> FloatArray:
        """Test risks of the models trained one way."""
        return self.tested[self.measure][way]

    def change(self, way: str = "LURE", beside: str = "naive", measure: str = "") -> "Effect":
        """The change from one way of training to another, by this measure or that of the risk."""
        risks = self.tested[measure or self.measure]
        return effect(self.labels, risks[way], risks[beside])

    def cells(self, case: Case) -> list[Cell]:
        """A cell for each number of labels."""
        return [
            Cell(f"{case.title}, M = {labels}", {way: self.risk(way)[:, at] for way in WAYS})
            for at, labels in enumerate(self.labels)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """The share by which one set of risks lies above another, after each checkpoint."""

    labels: IntArray
    value: FloatArray
    stderr: FloatArray
    n: int
    """Trajectories."""

    def __sub__(self, other: "Effect") -> "Effect":
        """Beside an effect on other trajectories.

        The degrees of freedom are those of the fewer, which are never too many (Welch).
        """
        stderr = np.hypot(self.stderr, other.stderr)
        return Effect(self.labels, self.value - other.value, stderr, min(self.n, other.n))

    @property
    def size(self) -> "Effect":
        """The same without its sign."""
        return replace(self, value=np.abs(self.value))

    def at(self, place: int, *, comparisons: int) -> Difference:
        """The effect after one checkpoint, among so many comparisons of a claim."""
        return Difference(float(self.value[place]), float(self.stderr[place]), self.n, comparisons)

    def shows(self, sign: int, *, comparisons: int) -> BoolArray:
        """True at the checkpoints where it has that sign, beyond chance."""
        places = range(len(self.labels))
        return np.array([self.at(each, comparisons=comparisons).shows(sign) for each in places])

    def text(self, at: int = -1) -> str:
        """The effect in per cent with its standard error, for people."""
        if not self.value[at] and not self.stderr[at]:
            return "0%"
        return f"({with_error(100 * self.value[at], 100 * self.stderr[at])})%"


def read(table: pa.Table, case: Case) -> CaseRuns:
    """The trajectories of one case."""
    rows = [row for row in table.to_pylist() if case._asdict().items() <= row.items()]
    labels = np.unique([row["labels"] for row in rows])

    def column(name: str) -> NDArray[np.object_]:
        return np.array([row[name] for row in rows], dtype=object).reshape(-1, len(labels))

    measures = [each for each in _EVERY if rows[0].get(f"naive {each}") is not None]
    tested = {
        each: {way: column(f"{way} {each}").astype(float) for way in WAYS} for each in measures
    }
    overfitting, bias, share = (
        column(name).astype(float) for name in ("overfitting", "bias", "share")
    )
    return CaseRuns(labels, tested, overfitting, bias, share)


def effect(labels: IntArray, risks: FloatArray, beside: FloatArray) -> Effect:
    """The ratio of mean risks over the same trajectories, less one.

    Its standard error is that of the linearised ratio, trajectory by trajectory, so what both
    have in common cancels.

    >>> runs = effect(np.array([10]), np.array([[0.9], [1.9]]), np.array([[1.0], [2.0]]))
    >>> runs.value.round(4), runs.stderr.round(4)
    (array([-0.0667]), array([0.0222]))
    """
    base = beside.mean(axis=0)
    ratio = risks.mean(axis=0) / base
    spread = (risks - ratio * beside).std(axis=0, ddof=1)
    return Effect(labels, ratio - 1, spread / base / np.sqrt(len(risks)), len(risks))
