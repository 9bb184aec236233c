"""Estimate: a value with its interval, and what is needed to judge it."""

from dataclasses import asdict, dataclass
from html import escape
from math import isfinite
from typing import Any

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a pool average, its interval, and how far to trust it.

    `value` is None where the metric is undefined so far, such as a recall before any positive
    has been seen; `low` and `high` are then what is possible. `stderr` is None where no spread
    can be estimated (one label). `low` and `high` may be infinite where nothing bounds the loss.
    `ess` is the number of uniform labels that the weights are worth, `max_weight` the largest
    weight of a single label. `warnings` are sentences for the reader.
    """

    value: float | None
    low: float
    high: float
    level: float
    stderr: float | None
    n_labels: int
    pool_size: int
    ess: float
    max_weight: float
    estimator: str
    interval: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, ready for JSON; an infinite limit is None."""
        values = asdict(self) | {"warnings": list(self.warnings)}
        infinite = {name: None for name in ("low", "high") if not isfinite(values[name])}
        return values | infinite

    def _repr_html_(self) -> str:
        """HTML for a notebook: the value and its interval first, the rest below."""
        value = "undefined so far" if self.value is None else f"{self.value:.4g}"
        limits = "" if self.interval == "none" else f" [{self.low:.4g}, {self.high:.4g}]"
        rest = str(self).partition(" at ")[2] or str(self)
        return f"<b>{value}</b>{limits}<br><small>{escape(rest)}</small>"

    def __str__(self) -> str:
        text = "undefined so far" if self.value is None else f"{self.value:.4g}"
        if self.interval != "none":
            text += f" [{self.low:.4g}, {self.high:.4g}] at {self.level:.4g}"
        labels = "1 label" if self.n_labels == 1 else f"{self.n_labels} labels"
        text += f" ({self.estimator}, {self.interval}; {labels} of {self.pool_size}"
        text += f", worth {self.ess:.0f})"
        return text + "".join(f"; note: {warning}" for warning in self.warnings)
