"""Read the rows of trajectories as series over the number of labels, and compare series."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, IntArray
from levelled.estimators.estimate import running_lure, running_naive
from levelled_studies.images.loop import OWN_BIAS, Way
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Ruling
from levelled_studies.tables import ALARM, Curve, Difference, curves, judge, summarise

__all__ = ["SLIGHT", "WayRuns", "compare_groups", "difference", "read", "read_own"]

SLIGHT = 0.05
"""The share of a figure up to which a difference counts as slight."""


@dataclass(frozen=True, slots=True, eq=False)
class WayRuns:
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
        return curves(summarise(self.series, self.labels))


def read(table: pa.Table, way: Way) -> WayRuns:
    """The trajectories of one kind in a table.

    Beside what networks scored at a checkpoint stand their overfitting bias, test risk less
    R_LURE on what they were trained on, and the active learning bias of a fixed network, true
    risk less unweighted estimate, with R_LURE's own error for it.
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
        for name in WEIGHTS
        for what in ("nll", "accuracy", "trained")
    }
    for name in WEIGHTS:
        series[f"{name} overfitting"] = series[f"{name} nll"] - series[f"{name} trained"]
    series["active learning bias"] = _errors(draws, running_naive)[:, labels - 1]
    series["LURE error"] = _errors(draws, running_lure)[:, labels - 1]
    return WayRuns(labels, series, draws)


def read_own(table: pa.Table, way: Way) -> FloatArray:
    """The bias of fixed networks that choose their own points: [trajectories, checkpoints]."""
    rows = [row for row in table.to_pylist() if Way.of(row["task"]) == way]
    labels = {row["labels"] for row in rows}
    return np.array([row[OWN_BIAS] for row in rows]).reshape(-1, len(labels))


def _errors(draws: Mapping[str, FloatArray], running: Callable[..., FloatArray]) -> FloatArray:
    """True risk of the fixed network less its estimate after each draw."""
    each = zip(draws["fixed_loss"], draws["probability"], draws["pool_size"], strict=True)
    estimates = np.stack([running(loss, q, int(N[0])) for loss, q, N in each])
    return draws["fixed_risk"] - estimates


def difference(one: FloatArray, other: FloatArray, *, comparisons: int = 1) -> Difference:
    """The difference of two series, averaged over checkpoints and then over trajectories.

    >>> str(difference(np.array([[1.0, 3.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [1.0, 1.0]])))
    '1.00 ± 0.50'
    """
    each = (one - other).mean(axis=1)
    n = len(each)
    return Difference(float(each.mean()), float(each.std(ddof=1) / np.sqrt(n)), n, comparisons)


def compare_groups(low: FloatArray, high: FloatArray) -> Ruling:
    """ "holds" if every trajectory of one kind lies below every one of another.

    If they were alike the chance of that would be 1 in (2 n choose n), which has to be 5% at most.

    >>> compare_groups(np.array([1.0, 2.0, 2.5]), np.array([3.0, 4.0, 5.0]))
    'holds'
    >>> compare_groups(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    'cannot tell'
    """
    if 1 / comb(len(low) + len(high), len(low)) > ALARM:
        return "cannot tell"
    return judge([low.max() < high.min()], [high.max() < low.min()])
