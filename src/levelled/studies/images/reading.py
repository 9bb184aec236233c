"""From the rows of trajectories to curves over the number of labels, and differences told."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, IntArray
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.running import running_lure, running_naive
from levelled.studies.images.loop import OBJECTIVES, Way
from levelled.studies.study import Verdict
from levelled.studies.tables import Curve, curves, summarised, with_error

__all__ = ["Difference", "Found", "difference", "read", "unpaired"]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """All trajectories of one way: series [trajectories, checkpoints], and draws [.., labels]."""

    labels: IntArray
    series: Mapping[str, FloatArray]
    """"naive nll", "LURE accuracy", "PURE overfitting", ... at the checkpoints."""
    draws: Mapping[str, FloatArray]
    """"probability", "evenness", "spread", "fixed_loss", ... of every draw."""

    def __len__(self) -> int:
        return len(self.draws["probability"])

    @property
    def curves(self) -> dict[str, Curve]:
        """Means and spreads over the trajectories."""
        return curves(summarised(self.series, self.labels))


def read(table: pa.Table, way: Way) -> Found:
    """The trajectories of a table that go one way.

    Beside what networks scored at a checkpoint stand their overfitting bias, test risk less
    R_LURE on what they were trained on, and the active learning bias of a fixed network, true
    risk less unweighted estimate.
    """
    rows = [row for row in table.to_pylist() if Way.of(row["task"]) == way]
    length = max(row["labels"] for row in rows)
    draws = {
        name: np.array([row[name] for row in rows]).reshape(-1, length)
        for name in ("probability", "evenness", "spread", "fixed_loss", "fixed_risk", "pool_size")
    }
    tested = [row for row in rows if row["naive nll"] is not None]
    labels = np.unique([row["labels"] for row in tested])
    series = {
        f"{name} {what}": np.array([row[f"{name} {what}"] for row in tested]).reshape(
            -1, len(labels)
        )
        for name in OBJECTIVES
        for what in ("nll", "accuracy", "trained")
    }
    for name in OBJECTIVES:
        series[f"{name} overfitting"] = series[f"{name} nll"] - series[f"{name} trained"]
    for name, running in (("naive", running_naive), ("LURE", running_lure)):
        series[f"{name} error"] = np.stack(
            [
                risk[0] - running(loss, q, int(N[0]))[labels - 1]
                for loss, risk, q, N in zip(
                    draws["fixed_loss"],
                    draws["fixed_risk"],
                    draws["probability"],
                    draws["pool_size"],
                    strict=True,
                )
            ]
        )
    return Found(labels, series, draws)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean over n trajectories with its standard error, which has so many degrees of freedom."""

    mean: float
    stderr: float
    n: int
    df: int

    def __str__(self) -> str:
        return with_error(self.mean, self.stderr)

    @property
    def least(self) -> float:
        """The smallest difference that so many trajectories show: at 95%, by Student's t."""
        return float(t_quantile(np.asarray(float(self.df)), 0.975)) * self.stderr

    def shows(self, sign: int) -> bool:
        """Whether it has that sign, beyond chance."""
        return self.mean * sign > self.least

    def verdict(self, *, sign: int) -> Verdict:
        """Whether it has that sign, or that so many trajectories cannot tell."""
        if self.shows(sign):
            return "holds"
        return "does not hold" if self.shows(-sign) else "cannot tell"

    @property
    def reach(self) -> str:
        """What so many trajectories can and cannot show."""
        return (
            f"{self.n} trajectories show differences from about {self.least:.2g} on; smaller ones, "
            f"of either sign, they cannot tell from chance."
        )


def difference(one: FloatArray, other: FloatArray) -> Difference:
    """Of two series on the same draws: averaged over checkpoints, then over trajectories.

    >>> str(difference(np.array([[1.0, 3.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [1.0, 1.0]])))
    '1.00 ± 0.50'
    """
    each = (one - other).mean(axis=1)
    n = len(each)
    return Difference(float(each.mean()), float(each.std(ddof=1) / np.sqrt(n)), n, n - 1)


def unpaired(one: FloatArray, other: FloatArray) -> Difference:
    """Of two series on different draws, each averaged over its checkpoints."""
    a, b = one.mean(axis=1), other.mean(axis=1)
    stderr = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    n = min(len(a), len(b))
    return Difference(float(a.mean() - b.mean()), float(stderr), n, len(a) + len(b) - 2)
