"""The verdict: the advice, a sentence that gives the reason, and the numbers behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple

__all__ = ["CAVEAT", "Advice", "Measured", "Thumb", "Verdict"]

Advice = Literal["correct", "do not correct", "no difference", "not enough labels"]
CAVEAT = (
    "Cross-fitting is approximate here: later items were drawn with the labels of earlier ones, so "
    "a held-out item is not quite unknown to the others."
)
_TRAINING = {"naive": "plain training", "pure": "PURE", "lure": "LURE"}


class Measured(NamedTuple):
    """A value and its standard error.

    >>> print(Measured(0.27341, 0.0123))
    0.273 (+-0.012)
    """

    value: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.value:.3g} (+-{self.stderr:.2g})"


@dataclass(frozen=True, slots=True)
class Thumb:
    """One of the paper's five rules of thumb (section 8), with the numbers measured for it."""

    name: str
    measured: Mapping[str, float]
    says: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The advice to train with corrective weights or without, and the evidence for it.

    The biases are those of the model trained with R_LURE's weights (without any, if it takes
    none). `active_learning_bias` is the LURE less the naive average of its held-out losses, so
    it is negative where the draws were harder than the pool; `overfitting_bias` is its held-out
    less its training LURE risk.

    `risks` are the held-out LURE risks of models trained without weights ("naive") and with those
    of R_PURE ("pure") and R_LURE ("lure"). `difference` is the first less the last, item by item,
    so it is positive where weights help. `gain_on_labels` is the same difference on the labels
    both were fitted to, and `cost` the variance that uneven weights add. `n_effective` are the
    effective labels (Kish), fewer the more uneven the weights are. Values
    that were not measured are None.

    `rules` are the paper's rules of thumb, for information: the advice does not depend on them.
    """

    advice: Advice
    because: str
    n_labels: int
    loss: str
    n_effective: float | None = None
    active_learning_bias: float | None = None
    active_learning_bias_stderr: float | None = None
    overfitting_bias: float | None = None
    overfitting_bias_stderr: float | None = None
    risks: Mapping[str, Measured] = field(default_factory=dict)
    difference: Measured | None = None
    gain_on_labels: float | None = None
    cost: float | None = None
    rules: tuple[Thumb, ...] = ()
    caveat: str = CAVEAT

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, ready for JSON."""
        return asdict(self) | {
            "risks": {name: _finite(risk._asdict()) for name, risk in self.risks.items()},
            "difference": self.difference and _finite(self.difference._asdict()),
            "rules": [asdict(rule) | {"measured": _finite(rule.measured)} for rule in self.rules],
        }

    def evidence(self) -> Iterator[tuple[str, float, float | None]]:
        """Name, value and standard error, where that is known, of everything that was measured."""
        rows: list[tuple[str, float | None, float | None]] = [
            ("active learning bias", self.active_learning_bias, self.active_learning_bias_stderr),
            ("overfitting bias", self.overfitting_bias, self.overfitting_bias_stderr),
            *((f"held-out risk, {_TRAINING[way]}", *risk) for way, risk in self.risks.items()),
            ("plain less LURE, item by item", *(self.difference or (None, None))),
            ("plain less LURE, on the labels themselves", self.gain_on_labels, None),
            ("cost of uneven weights", self.cost, None),
            ("effective labels (Kish)", self.n_effective, None),
        ]
        return ((name, value, stderr) for name, value, stderr in rows if value is not None)

    def __str__(self) -> str:
        return f"{self.advice.capitalize()}: {self.because}"


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if isfinite(value) else None for name, value in values.items()}
