"""Records of planning: the interval that is wanted, labels that are there, and the plan."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from levelled._check import FloatArray, IntArray, between, whole
from levelled.errors import InputError
from levelled.estimators.intervals.looks import SHARE, plan_looks
from levelled.metrics.metric import Metric

_A_KIND = {"adaptive": "an adaptive", "static": "a static", "uniform": "a uniform"}


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The interval that is wanted, and the value that the user believes in, if any."""

    metric: Metric
    width: float
    level: float = 0.95
    looks: int = 5
    expected: float | None = None

    def __post_init__(self) -> None:
        check_range("width", self.metric, self.width)
        between("level", self.level, 0, 1, open_=True)
        whole("looks", self.looks, least=1)
        if self.expected is not None:
            low, high = self.metric.possible
            between("expected", self.expected, low, high, open_=True)

    @property
    def last_level(self) -> float:
        """The level of the interval at the last planned look, for a pool that is large."""
        if self.looks == 1:
            return self.level
        looks = plan_looks(10**4, 10**9, self.looks, SHARE * (1 - self.level))
        return looks[-1].level


def check_range(name: str, metric: Metric, width: float) -> float:
    """The width of an interval; refused if it is as wide as all that the metric may be."""
    width, (low, high) = between(name, width, 0, np.inf, open_=True), metric.possible
    if width >= high - low:
        raise InputError(
            f"{name} is {width:g}, but {metric.name} is between {low:g} and {high:g} whatever the "
            f"labels say: choose a width below {high - low:g}."
        )
    return width


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """Labelled items of the pool: their rows, 1 where the prediction was wrong, and weights.

    `weight` is 1 / q of each draw, up to a factor.
    """

    rows: IntArray
    wrong: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of labels needed: the likely one, and a range that allows for doubt."""

    metric: str
    width: float
    level: float
    pool_size: int
    low: int
    likely: int
    high: int
    uniform: int
    """The likely number of labels if all items are drawn with the same probability."""
    expected: float
    """The likely value of the metric."""
    expected_low: float
    expected_high: float
    n_labels: int = 0
    """Labels that a campaign has already; they count towards those needed."""
    kind: str = "static"
    """The kind of campaign that the numbers are for."""
    note: str = ""
    """A restriction of the plan, for the reader."""

    @property
    def remaining(self) -> int:
        """The likely number of labels needed beyond those that are there."""
        return max(self.likely - self.n_labels, 0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, with those that remain."""
        return asdict(self) | {"remaining": self.remaining}

    def __str__(self) -> str:
        more = f", {self.remaining} more than there are," if self.n_labels else ""
        source = f"{self.n_labels} labels" if self.n_labels else "the predictions alone"
        advice = "" if self.n_labels else ". Plan again from the first 50 to 100 labels"
        return (
            f"About {self._count(self.likely)} ({self.low} to {self.high}){more} give the "
            f"{self.metric} an interval {self.width:g} wide in {_A_KIND[self.kind]} campaign, "
            f"{100 * self.level:g}% confidence; "
            f"about {self._count(self.uniform)} if drawn uniformly. From {source}: the "
            f"{self.metric} is about {self.expected:.3g} ({self.expected_low:.3g} to "
            f"{self.expected_high:.3g}){advice}{f'. Note: {self.note}' if self.note else ''}"
        )

    def _count(self, labels: int) -> str:
        return f"all {labels} labels" if labels == self.pool_size else f"{labels} labels"
