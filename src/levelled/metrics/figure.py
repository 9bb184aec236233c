"""Figure: one metric of one model in the pool or a slice, with its estimate."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from levelled.errors import CampaignError
from levelled.estimators.intervals.limits import clopper_pearson
from levelled.estimators.record import Estimate
from levelled.metrics.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one model, in the whole pool or a slice, after some number of draws."""

    metric: str
    model: str
    slice: str | None
    estimate: Estimate
    n_labels: int
    """Answered draws, settled or not."""
    n_settled: int
    n_pending: int
    pending_value_min: float | None = None
    pending_value_max: float | None = None
    """The smallest and the largest value possible once the pending labels are in. That is about
    the estimate itself, not an interval for the pool."""
    unlabelable: float = 0.0
    """The estimated share of the pool that cannot be labelled; the figure is over the rest."""
    latest: float | None = None
    """The value with all settled draws, which may be more than those of the last planned look."""
    look: int | None = None
    """The draws that `estimate` rests on, where a planned look was the last to read them."""
    n_looks: int = 0
    """The number of planned looks."""
    is_share: bool = False
    """True for an average of 0/1 losses over the whole pool."""
    compare: Callable[[str], Comparison] | None = field(default=None, repr=False, compare=False)
    """Compares another model with this figure; None where only the figure is known."""

    def difference(self, model: str) -> Comparison:
        """The same metric of another `model` minus this figure, paired on the same labels."""
        if self.compare is None:
            raise CampaignError(
                f"This figure of {self.name} does not know its campaign, so it cannot be compared: "
                f"use campaign.estimate(), or campaign.compare({model!r})."
            )
        return self.compare(model)

    @property
    def name(self) -> str:
        """Metric, model and slice, as far as there are any."""
        return " · ".join(filter(None, (self.metric, self.model, self.slice)))

    @property
    def random_limits(self) -> tuple[float, float] | tuple[None, None]:
        """The interval that as many random labels would have given, at the same value.

        Clopper and Pearson's, for n = M (N - 1) / (N - M) labels; None for other metrics.
        """
        est = self.estimate
        M, N = est.n_labels, est.pool_size
        if not self.is_share or est.value is None or not 0 < M < N:
            return None, None
        n = M * (N - 1) / (N - M)
        low, high = clopper_pearson(n * min(max(est.value, 0.0), 1.0), n, est.level)
        return float(low), float(high)

    def as_dict(self) -> dict[str, Any]:
        """The fields of the file format, in its order; None for a limit that is infinite."""
        estimate, (random_low, random_high) = self.estimate.as_dict(), self.random_limits
        return {
            "metric": self.metric,
            "model": self.model,
            "slice": self.slice,
            **{name: estimate[name] for name in ("value", "low", "high", "level", "interval")},
            "n_labels": self.n_labels,
            "n_settled": self.n_settled,
            "n_pending": self.n_pending,
            **{name: estimate[name] for name in ("pool_size", "ess", "max_weight", "worth")},
            "random_low": random_low,
            "random_high": random_high,
            "look": self.look,
            "latest": self.latest,
            "pending_value_min": self.pending_value_min,
            "pending_value_max": self.pending_value_max,
            "unlabelable": self.unlabelable,
            "warnings": estimate["warnings"],
        }
