"""The verdict: what to do, the sentence that says why, and the numbers behind it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple

__all__ = ["CAVEAT", "Advice", "Measured", "Thumb", "Verdict"]

Advice = Literal["correct", "do not correct", "no difference", "not enough labels"]
CAVEAT = (
    "Cross-fitting is approximate here: later items were drawn with the labels of earlier ones, so "
    "a held-out item is not quite unknown to the others."
)


class Measured(NamedTuple):
    """A figure and its standard error.

    >>> print(Measured(0.27341, 0.0123))
    0.273 (+-0.012)
    """

    value: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.value:.3g} (+-{self.stderr:.2g})"


@dataclass(frozen=True, slots=True)
class Thumb:
    """One of the paper's five rules of thumb (section 8), and what was measured for it."""

    name: str
    measured: Mapping[str, float]
    says: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to train with corrective weights, and the evidence, for a person to argue with.

    The biases are those of the model trained with R_LURE's weights (without any, if it takes
    none). `active_learning_bias` is the LURE less the naive average of its held-out losses, so
    it is negative where the draws were harder than the pool; `overfitting_bias` is its held-out
    less its training LURE risk.

    `risks` are the held-out LURE risks of models trained "naive", "pure" and "lure";
    `difference` is naive less LURE, item by item, so it is positive where weights help.
    `gain_on_labels` is the same difference on the labels both were fitted to, and `cost` what
    uneven weights cost in variance. `n_effective` are the effective labels (Kish): how many
    uniform ones these are worth with their weights. What was not measured is None.

    `rules` are the paper's rules of thumb, for information: the advice does not hang on them.
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
            "risks": {name: _plain(risk) for name, risk in self.risks.items()},
            "difference": self.difference and _plain(self.difference),
            "rules": [asdict(rule) | {"measured": _finite(rule.measured)} for rule in self.rules],
        }

    def __str__(self) -> str:
        return f"{self.advice.capitalize()}: {self.because}"


def _plain(found: Measured) -> dict[str, float | None]:
    return _finite(found._asdict())


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if isfinite(value) else None for name, value in values.items()}
