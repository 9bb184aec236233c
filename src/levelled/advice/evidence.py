"""The evidence for a verdict: losses of models that were cross-fitted with and without weights.

Each labelled item has its loss under a model that was trained without it. These losses give the
two biases, the risks, and the two measurements of how far to correct.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import brentq

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators.estimate import estimate
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import effective_size
from levelled.models import CAP, Model, Predictions, PredictionTask, Rows, fit_copy, take

Advice = Literal["correct", "correct partly", "do not correct", "not enough labels"]
CAVEAT = (
    "Cross-fitting is approximate here: later items were drawn with the labels of earlier ones, so "
    "a held-out item is not quite unknown to the others."
)
HALF = 0.5
"""A share above it is advice to correct."""
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


_ALIKE = 1e-9  # rounding


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """Losses in the order of the draws, of models trained with one set of weights."""

    held_out: FloatArray
    """Under a model that has not seen the item."""
    training: FloatArray
    """Under the model of all items."""
    predictions: Predictions
    """Those of the models that have not seen the items."""
    model: Model
    """The model of all items."""


def assign_folds(task: PredictionTask, folds: int, *, rng: Generator) -> IntArray:
    """The fold of each item, at random; every class is spread over the folds evenly.

    >>> task = PredictionTask(np.arange(4.0), None, "squared")
    >>> assign_folds(task, 2, rng=np.random.default_rng(0))
    array([1, 0, 0, 1])
    """
    M = len(task.labels)
    order = rng.permutation(M)
    if task.classes is not None:
        order = order[np.argsort(task.labels[order], kind="stable")]
    fold = np.empty(M, dtype=np.int64)
    fold[order] = np.arange(M) % folds
    return fold


def cross_fit(
    model: Model, task: PredictionTask, X: Rows, fold: IntArray, weights: FloatArray | None
) -> CrossFit:
    """Fit the model to all folds but one, for each fold, and to all items.

    The weights are those of the full draw; each training set takes its part of them.
    """
    y = task.labels
    places, parts = [], []
    for number in np.unique(fold):
        seen, unseen = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        own = None if weights is None else weights[seen]
        partial = fit_copy(model, task, take(X, seen), y[seen], own)
        places.append(unseen)
        parts.append(task.predictions(partial, take(X, unseen)))
    order = np.argsort(np.concatenate(places))
    predictions: NDArray[Any] = np.concatenate(parts)[order]
    whole = fit_copy(model, task, X, y, weights)
    return CrossFit(
        held_out=task.losses(y, predictions),
        training=task.losses(y, task.predictions(whole, X)),
        predictions=predictions,
        model=whole,
    )


class LabelGain(NamedTuple):
    """The gain of weights on the labels that both models were fitted to."""

    value: float
    chance: float
    """The gain that chance alone would give: overfitting bias (1 - n/M) / 2."""
    overfitting_bias: Measured

    @property
    def share(self) -> float:
        """The part of the gain that chance does not explain."""
        return max(0.0, 1 - self.chance / self.value) if self.value > 0 else 0.0


def measure_evidence(
    fits: Mapping[str, CrossFit],
    task: PredictionTask,
    draws: Draws,
    weights: FloatArray,
    reason: str = "",
) -> Verdict:
    """The verdict on cross-fits without weights ("naive") and perhaps with them ("corrected").

    `weights` are those of the corrected model, of mean one. `reason` says why there is none.
    """
    plain, judged = fits["naive"], fits.get("corrected", fits["naive"])
    gain, held_out = measure_gain(plain.training, judged.training, judged.held_out, weights), None
    if corrected := "corrected" in fits:
        held_out = _held_out_share(plain, judged, task, weights)
    share = 0.0 if held_out is None else combine_shares(gain.share, held_out)
    advice: Advice = "do not correct"
    if share > 0:
        advice = "correct" if share > HALF else "correct partly"
    bias, overfitting = active_learning_bias(judged.held_out, draws), gain.overfitting_bias
    M, n_effective = len(draws), effective_size(weights)
    return Verdict(
        advice=advice,
        because=reason or _because(gain, held_out, M, n_effective),
        n_labels=M,
        loss=task.loss,
        share=share,
        gain_on_labels=gain.value if corrected else None,
        chance=gain.chance if corrected else None,
        held_out_share=held_out,
        n_effective=n_effective,
        active_learning_bias=bias.value,
        active_learning_bias_stderr=bias.stderr,
        overfitting_bias=overfitting.value,
        overfitting_bias_stderr=overfitting.stderr,
        risks={name: lure_mean(each.held_out, draws) for name, each in fits.items()},
    )


def _because(gain: LabelGain, held_out: Measured | None, n_labels: int, n_effective: float) -> str:
    """Both measurements of the share, in words."""
    if held_out is None:
        return "held-out items have the same predictions with weights as without."
    if gain.value <= 0:
        on_labels = f"lose {-gain.value:.2g}"
    elif gain.value <= gain.chance:
        on_labels = f"gain {gain.value:.2g}, no more than the {gain.chance:.2g} of chance alone"
    else:
        on_labels = f"gain {gain.value:.2g}, of which chance alone would give {gain.chance:.2g}"
    return (
        f"on the labels, weights {on_labels}; held-out labels are served best by "
        f"{100 * held_out.value:.0f} +- {100 * held_out.stderr:.0f}% ({n_labels} labels, effective "
        f"size {n_effective:.0f})."
    )


def _held_out_share(
    plain: CrossFit, corrected: CrossFit, task: PredictionTask, weights: FloatArray
) -> Measured | None:
    """That of the log loss for the log loss, and of squared errors for all others."""
    f0, f1 = np.asarray(plain.predictions, float), np.asarray(corrected.predictions, float)
    if same_predictions(f0, f1):
        return None
    if task.classes is None:
        return squared_share(task.labels, f0, f1, weights)
    label = task.labels[:, None] == task.classes
    if task.loss == "log_loss":
        least = np.exp(-CAP)  # at which that loss is cut
        return log_loss_share(np.maximum(f0[label], least), np.maximum(f1[label], least), weights)
    return squared_share(label.astype(float), f0, f1, weights)


def same_predictions(plain: Predictions, corrected: Predictions) -> bool:
    """True if two sets of predictions differ at most by rounding, relative to their range."""
    these, those = np.asarray(plain), np.asarray(corrected)
    if these.dtype.kind != "f" or those.dtype.kind != "f":
        return bool(np.array_equal(these, those))
    rounding = 100 * np.spacing(np.abs(these).max())
    return bool(np.abs(these - those).max() <= _ALIKE * np.ptp(these) + rounding)


def lure_mean(values: FloatArray, draws: Draws) -> Measured:
    """R_LURE of values of either sign, with the square root of its unbiased variance."""
    mean = estimate(values, draws, interval="none")
    return Measured(float(mean.value or 0.0), float(mean.stderr or 0.0))


def all_one(weights: FloatArray) -> bool:
    """True for the weights of uniform draws, and of a pool that is labelled completely."""
    return bool(np.ptp(weights) < _ALIKE)


def active_learning_bias(losses: FloatArray, draws: Draws) -> Measured:
    """LURE less naive average, 1/M sum_m (v_m - 1) L_m, with the standard error of that mean.

    The naive average has no target that stays the same from draw to draw, so its part in the
    error cannot be separated: the terms are treated as independent.
    """
    terms = (lure_weights(draws) - 1) * losses
    return Measured(float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(len(terms))))


# Half and twice each value change the mean risk over the problems of the study verdicts (40 runs
# each) by so much, and that of a single problem by no more than the number in brackets.
_PRIOR = 16.0  # observations that the share on the labels counts as; -0.1 and +0.2% (1.2%)
_NEAR = 0.05  # a share this close to 0 or 1 is rounded to it; 0.0 and 0.0% (0.6%)
_LEAST = 2.0  # overfitting bias in units of risk / M, that of two parameters; 0.0 and 0.0% (0.2%)
_FAR = 10.0  # guard: a share of the log loss is sought between -10 and 10


def inclusion_weights(hazards: FloatArray) -> FloatArray:
    """Weights in inverse proportion to the chance of having been drawn by now, of mean one.

        pi_i = 1 - exp(-h_i),    h_i = sum over batches of k p_i

    with p_i the probability of item i to be the next draw, had it still been in the pool, when a
    batch of k was drawn. They vary less than the weights of R_LURE, which know only the
    probability at the one step at which an item was drawn.

    >>> inclusion_weights(np.array([0.1, 0.2, 0.4])).round(2)
    array([1.65, 0.87, 0.48])
    """
    weights: FloatArray = -1 / np.expm1(-hazards)
    return weights / weights.mean()


def measure_gain(
    plain: FloatArray, corrected: FloatArray, held_out: FloatArray, weights: FloatArray
) -> LabelGain:
    """The gain of weights on the labels, and what chance alone would give.

    `plain` and `corrected` are the losses of the labels under the two models that were fitted to
    all of them, `held_out` those under corrected models that were trained without the label. The
    overfitting bias is taken to be at least 2/M of the held-out risk.

    >>> losses = np.array([0.4, 0.2, 0.3]), np.array([0.1, 0.1, 0.2]), np.array([0.2, 0.3, 0.3])
    >>> gain = measure_gain(*losses, weights=np.array([1.5, 0.5, 1.0]))
    >>> round(gain.value, 3), round(gain.chance, 3), round(gain.share, 2)
    (0.2, 0.012, 0.94)
    """
    M = len(weights)
    excess = weights * (held_out - corrected)
    least = _LEAST / M * float(np.mean(weights * held_out))
    bias = Measured(max(float(excess.mean()), least), float(np.std(excess, ddof=1) / np.sqrt(M)))
    return LabelGain(
        value=float(np.mean(weights * (plain - corrected))),
        chance=bias.value * (1 - effective_size(weights) / M) / 2,
        overfitting_bias=bias,
    )


def squared_share(
    labels: FloatArray, plain: FloatArray, corrected: FloatArray, weights: FloatArray
) -> Measured | None:
    """The share at which held-out predictions have the lowest squared error or Brier score.

        a = sum w d (y - f0) / sum w d^2,    d = f1 - f0

    with the standard error of a weighted regression. Predictions are numbers [M], or
    probabilities [M, C] with labels that are 1 for the class and 0 for the others. None if the
    two models predict the same.

    >>> y, f0, f1 = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([1.0, 2.0, 3.0])
    >>> print(squared_share(y, f0, f1, np.ones(3)))
    1.21 (+-0.12)
    """
    y, f0, f1 = (each.reshape(len(weights), -1) for each in (labels, plain, corrected))
    d = f1 - f0
    curvature = weights * np.einsum("mc,mc->m", d, d)
    if not curvature.any():
        return None
    value = float(np.sum(weights * np.einsum("mc,mc->m", d, y - f0)) / curvature.sum())
    slope = weights * np.einsum("mc,mc->m", d, y - f0 - value * d)
    return Measured(value, _sandwich(slope, curvature))


def log_loss_share(
    plain: FloatArray, corrected: FloatArray, weights: FloatArray
) -> Measured | None:
    """The share at which held-out probabilities have the lowest log loss.

        a = argmin -sum w log((1 - a) f0_y + a f1_y)

    with a sandwich standard error. `plain` and `corrected` are the probabilities that the models
    give to the label of each item, none of them 0. None if they are the same.

    >>> share = log_loss_share(np.array([0.5, 0.5, 0.5]), np.array([0.9, 0.7, 0.4]), np.ones(3))
    >>> share is not None and 1 < share.value < 10
    True
    """
    more = corrected / plain - 1
    if not more.any():
        return None

    def slopes(share: float) -> FloatArray:
        return weights * more / (1 + share * more)

    lowest = max(-_FAR, -1 / max(more.max(), 1 / _FAR))
    highest = min(_FAR, -1 / min(more.min(), -1 / _FAR))
    inside = 1e-9 * (highest - lowest)
    lowest, highest = lowest + inside, highest - inside
    # Where the slope, which falls, is 0, or the end of the range that is nearest to that.
    if slopes(lowest).sum() <= 0:
        value = float(lowest)
    elif slopes(highest).sum() >= 0:
        value = float(highest)
    else:
        value = float(brentq(lambda share: float(slopes(share).sum()), lowest, highest))
    slope = slopes(value)
    return Measured(value, _sandwich(slope, slope**2 / weights))


def combine_shares(on_labels: float, held_out: Measured) -> float:
    """The share of the corrected model, from both measurements; 0 and 1 where it is near them.

        (16 s + a / se^2) / (16 + 1 / se^2)

    with s the share on the labels and a +- se that of held-out items.

    >>> round(combine_shares(0.68, Measured(0.48, 0.44)), 2)
    0.63
    >>> combine_shares(0.0, Measured(-0.3, 0.5)), combine_shares(0.9, Measured(1.5, 0.2))
    (0.0, 1.0)
    """
    count = _PRIOR * held_out.stderr**2
    share = (count * on_labels + held_out.value) / (count + 1)
    return 0.0 if share < _NEAR else 1.0 if share > 1 - _NEAR else share


def _sandwich(slope: FloatArray, curvature: FloatArray) -> float:
    """sd(slope) / (sqrt(M) mean curvature), the standard error of a minimum."""
    return float(np.std(slope, ddof=1) / np.sqrt(len(slope)) / curvature.mean())
