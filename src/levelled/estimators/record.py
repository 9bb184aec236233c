"""Estimate: a value with its interval, what is needed to judge it, and tables of estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import isfinite
from typing import Any

from levelled.errors import InputError

SURE = 1 - 1e-6
"""The level of an interval that is missed only where the draws were not as they are recorded."""
CONTRADICTION = (
    "these labels contradict the probabilities of their draws: were labels that somebody chose "
    "taken for a random sample, or are labels not in the order of the draws?"
)
_FAR = 3
"""The standard errors beyond a limit from which on a value is moved there with a warning."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a pool average, its interval, and how far to trust it.

    `value` is None where the metric is undefined so far, such as a recall before any positive
    has been seen, or where labels contradict the probabilities of their draws (`interval` is then
    "contradiction"); `low` and `high` are then what is possible. Otherwise low <= value <= high: an
    unbiased value beyond a limit is moved there. `stderr` is None where no spread
    can be estimated (one label). `low` and `high` may be infinite where nothing bounds the loss.
    `ess` is Kish's effective sample size, which says how uneven the weights are, and `max_weight`
    the largest weight of a single label. `worth` is about how many random labels give an interval
    of this width; None while too few losses differ to tell. `warnings` are sentences for the
    reader.
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
    random: tuple[float, float] | None = None
    """The limits that as many random labels would have given, at the same value."""

    def __post_init__(self) -> None:
        if self.value is None or self.low <= self.value <= self.high:
            return
        if self.low > self.high:
            raise InputError(f"The lower limit {self.low} is above the upper limit {self.high}.")
        value = min(max(self.value, self.low), self.high)
        beyond, slack = abs(self.value - value), 1e-9 * abs(self.value)  # of rounding
        if self.stderr and beyond > _FAR * self.stderr + slack:  # 0 says that it is not known
            note = f"the unbiased value {self.value:.4g} is far beyond its limit, and moved there"
            object.__setattr__(self, "warnings", (*self.warnings, note))
        object.__setattr__(self, "value", value)

    @property
    def contradicted(self) -> "Estimate":
        """No figure, because labels and the probabilities of their draws cannot both be right."""
        note = (CONTRADICTION,)
        nothing: dict[str, Any] = dict.fromkeys(("value", "worth", "random"))
        return replace(self, interval="contradiction", warnings=note, **nothing)

    @property
    def value_text(self) -> str:
        """The value with four digits, or why there is none."""
        if self.value is not None:
            return f"{self.value:.4g}"
        return "contradiction" if self.interval == "contradiction" else "undefined so far"

    @property
    def random_text(self) -> str:
        """About how many random labels give an interval of this width; "" where it is not known."""
        if self.worth is None:
            return ""
        return f"about {float(f'{self.worth:.2g}'):,.0f} for this width"

    def scaled(self, by: float, start: float = 0.0) -> "Estimate":
        """`start` + `by` times this estimate."""
        low, high = _scaled((self.low, self.high), by, start)
        return replace(
            self,
            value=None if self.value is None else start + by * self.value,
            low=low,
            high=high,
            stderr=None if self.stderr is None else abs(by) * self.stderr,
            random=self.random and _scaled(self.random, by, start),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, ready for JSON; an infinite limit is None."""
        values = asdict(self) | {"warnings": list(self.warnings)}
        del values["random"]
        infinite = {name: None for name in ("low", "high") if not isfinite(values[name])}
        return values | infinite

    def _repr_html_(self) -> str:
        """HTML for a notebook: the value and its interval first, the rest below."""
        limits = "" if self.interval == "none" else f" [{self.low:.4g}, {self.high:.4g}]"
        rest = str(self).partition("; ")[2]
        return f"<b>{self.value_text}</b>{limits}<br><small>{escape(rest)}</small>"

    def __str__(self) -> str:
        text = self.value_text
        if self.interval != "none":
            text += f" [{self.low:.4g}, {self.high:.4g}], {100 * self.level:.4g}% confidence"
        text += f"; {self.n_labels} label{'s' * (self.n_labels != 1)} of {self.pool_size}"
        text += f" ({self.estimator}, {self.interval})"
        text += f"; random labels: {self.random_text}" if self.random_text else ""
        return text + "".join(f"; note: {warning}" for warning in self.warnings)


def _scaled(limits: tuple[float, float], by: float, start: float) -> tuple[float, float]:
    low, high = sorted(start + by * limit for limit in limits)
    return low, high


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
    return [estimate.value_text.partition(" ")[0], f"{estimate.low:.4g}", f"{estimate.high:.4g}"]


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
