"""The verdict: how far to correct, a sentence that gives the reason, and the numbers behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple

Advice = Literal["correct", "correct partly", "do not correct", "not enough labels"]
CAVEAT = (
    "Cross-fitting is approximate here: later items were drawn with the labels of earlier ones, so "
    "a held-out item is not quite unknown to the others."
)
_TRAINING = {"naive": "plain training", "corrected": "corrected training"}


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
    """How far to correct training for the choice of its labels, and the evidence for it.

    `share` is that of the corrected model, trained with weights, in a blend with the plain one.
    `advice` says it in words: "correct" above a half, "correct partly" from 5% on, "do not
    correct" below, "not enough labels" where nothing was measured.

    `gain_on_labels` is by how much weights lower the weighted loss of the labels that both models
    were fitted to, and `chance` what they would gain there if there were nothing to correct.
    `held_out_share` is the share that serves held-out labels best, with its standard error.
    `n_effective` are the effective labels (Kish), fewer the more uneven the weights are.

    The biases are those of the corrected model (of the plain one, if there is no other).
    `active_learning_bias` is the LURE less the naive average of its held-out losses, so it is
    negative where the draws were harder than the pool; `overfitting_bias` is its held-out less
    its training risk. `risks` are the held-out LURE risks of the models trained plainly ("naive")
    and with weights ("corrected"). Values that were not measured are None.

    `rules` are what the paper's rules of thumb ask about, for information: the share does not
    depend on them.
    """

    advice: Advice
    because: str
    n_labels: int
    loss: str
    share: float = 0.0
    gain_on_labels: float | None = None
    chance: float | None = None
    held_out_share: Measured | None = None
    n_effective: float | None = None
    active_learning_bias: float | None = None
    active_learning_bias_stderr: float | None = None
    overfitting_bias: float | None = None
    overfitting_bias_stderr: float | None = None
    risks: Mapping[str, Measured] = field(default_factory=dict)
    rules: tuple[Thumb, ...] = ()
    caveat: str = CAVEAT

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, ready for JSON."""
        return asdict(self) | {
            "risks": {name: _finite(risk._asdict()) for name, risk in self.risks.items()},
            "held_out_share": self.held_out_share and _finite(self.held_out_share._asdict()),
            "rules": [asdict(rule) | {"measured": _finite(rule.measured)} for rule in self.rules],
        }

    def evidence(self) -> Iterator[tuple[str, float, float | None]]:
        """Name, value and standard error, where that is known, of everything that was measured."""
        rows: list[tuple[str, float | None, float | None]] = [
            ("gain of weights on the labels", self.gain_on_labels, None),
            ("gain there by chance alone", self.chance, None),
            ("share that serves held-out labels best", *(self.held_out_share or (None, None))),
            ("effective labels (Kish)", self.n_effective, None),
            ("active learning bias", self.active_learning_bias, self.active_learning_bias_stderr),
            ("overfitting bias", self.overfitting_bias, self.overfitting_bias_stderr),
            *((f"held-out risk, {_TRAINING[way]}", *risk) for way, risk in self.risks.items()),
        ]
        return ((name, value, stderr) for name, value, stderr in rows if value is not None)

    def __str__(self) -> str:
        how_far = {0.0: "Not corrected", 1.0: "Corrected"}
        return f"{how_far.get(self.share, f'{self.share:.0%} corrected')}: {self.because}"


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if isfinite(value) else None for name, value in values.items()}
