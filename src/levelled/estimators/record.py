"""Estimate: a value with its interval, what is needed to judge it, and tables of estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import inf, isfinite
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a pool average, its interval, and how far to trust it.

    `value` is None where the metric is undefined so far, such as a recall before any positive
    has been seen; `low` and `high` are then what is possible. `stderr` is None where no spread
    can be estimated (one label). `low` and `high` may be infinite where nothing bounds the loss.
    `ess` is Kish's effective sample size, which says how uneven the weights are, and `max_weight`
    the largest weight of a single label. `worth` is about how many random labels would be as
    precise; None while too few losses differ to tell. `warnings` are sentences for the reader.
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
    worth: float | None = None

    def with_limits(
        self, low: float, high: float, interval: str, possible: tuple[float, float] = (-inf, inf)
    ) -> "Estimate":
        """The estimate with another interval, cut to what is possible.

        A value that is known or undefined keeps its own, and so does one whose new limits cross.

        Parameters
        ----------
        low, high : The new limits.
        interval : The name of the method that gave them.
        possible : The least and the largest value that is possible.
        """
        low, high = max(low, possible[0]), min(high, possible[1])
        if self.value is None or self.interval == "point" or low > high:
            return self
        return replace(self, low=low, high=high, interval=interval)

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, ready for JSON; an infinite limit is None."""
        values = asdict(self) | {"warnings": list(self.warnings)}
        infinite = {name: None for name in ("low", "high") if not isfinite(values[name])}
        return values | infinite

    def _repr_html_(self) -> str:
        """HTML for a notebook: the value and its interval first, the rest below."""
        value = "undefined so far" if self.value is None else f"{self.value:.4g}"
        limits = "" if self.interval == "none" else f" [{self.low:.4g}, {self.high:.4g}]"
        rest = str(self).partition("; ")[2]
        return f"<b>{value}</b>{limits}<br><small>{escape(rest)}</small>"

    def __str__(self) -> str:
        text = "undefined so far" if self.value is None else f"{self.value:.4g}"
        if self.interval != "none":
            text += f" [{self.low:.4g}, {self.high:.4g}], {100 * self.level:.4g}% confidence"
        text += f"; {self.n_labels} label{'s' * (self.n_labels != 1)} of {self.pool_size}"
        if self.worth is not None:
            text += f", as precise as about {self.worth:.0f} random ones"
        text += f" ({self.estimator}, {self.interval})"
        return text + "".join(f"; note: {warning}" for warning in self.warnings)


_NAMED = 6
"""Rows that a footnote names; it counts the others."""


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text: the first column to the left, the others to the right.

    >>> print(align(["slice", "labels"], [["mobile", "12"], ["web", "7"]]))
    slice   labels
    mobile      12
    web          7
    """
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for first, *rest in table:
        right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def cells(estimate: Estimate) -> list[str]:
    """The three cells value, low, high of an estimate."""
    value = "undefined" if estimate.value is None else f"{estimate.value:.4g}"
    return [value, f"{estimate.low:.4g}", f"{estimate.high:.4g}"]


def footnotes(rows: Iterable[tuple[str, Estimate]]) -> str:
    """The warnings below a table, each once with the rows it is about; starts a new line."""
    about: dict[str, list[str]] = {}
    for name, estimate in rows:
        for warning in estimate.warnings:
            about.setdefault(warning, []).append(name)
    text = ""
    for warning, names in about.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        text += f"\nnote ({', '.join(names[:_NAMED])}{more}): {warning}"
    return text
