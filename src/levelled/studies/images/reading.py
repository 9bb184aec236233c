"""From the rows of trajectories to curves over the number of labels, and differences told."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, IntArray
from levelled.estimators.running import running_lure, running_naive
from levelled.studies.images.loop import OBJECTIVES, Way
from levelled.studies.study import Verdict
from levelled.studies.tables import Curve, curves, summarised, with_error

__all__ = ["Difference", "Found", "difference", "read"]


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
    """A mean over trajectories with its standard error."""

    mean: float
    stderr: float
    n: int

    def __str__(self) -> str:
        return with_error(self.mean, self.stderr)

    @property
    def z(self) -> float:
        """In standard errors."""
        return self.mean / self.stderr if self.stderr > 0 else 0.0

    def verdict(self, *, sign: int) -> Verdict:
        """Whether it has that sign, by two standard errors; "holds partly" if it cannot be told."""
        if abs(self.z) < 2:
            return "holds partly"
        return "holds" if self.z * sign > 0 else "does not hold"

    @property
    def reach(self) -> str:
        """What so many trajectories can and cannot show."""
        return (
            f"{self.n} trajectories show differences from about {2 * self.stderr:.2g} on; "
            f"smaller ones, of either sign, they cannot tell from chance."
        )


def difference(one: FloatArray, other: FloatArray) -> Difference:
    """Of two series on the same draws: averaged over checkpoints, then over trajectories.

    >>> str(difference(np.array([[1.0, 3.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [1.0, 1.5]])))
    '0.88 ± 0.38'
    """
    each = (one - other).mean(axis=1)
    return Difference(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))), len(each))
