"""The evidence for a verdict: losses of models that were cross-fitted with and without weights.

Each labelled item has its loss under a model that was trained without it. These losses give the
two biases, the risks, and the two measurements of how far to correct.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.advice.share import (
    LabelGain,
    combine_shares,
    log_loss_share,
    measure_gain,
    squared_share,
)
from levelled.advice.verdict import Measured
from levelled.draws import Draws
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.estimate import estimate
from levelled.estimators.lure import lure_weights
from levelled.models import CAP, Model, Predictions, PredictionTask, Rows, fit_copy, take

_NOTHING = 1e-12
_ALIKE = 1e-9


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers a verdict rests on.

    The biases are those of the corrected model, or of the plain one if there is no other.
    """

    n_effective: float
    """Effective labels (Kish): the number of even weights that would be as precise."""
    active_learning_bias: Measured
    overfitting_bias: Measured
    training_risk: float
    risks: Mapping[str, Measured]
    """Held-out LURE risks of the models "naive" and, if there is one, "corrected"."""
    gain: LabelGain | None = None
    held_out_share: Measured | None = None
    """The share at which held-out items have the lowest loss; None for the same predictions."""

    @property
    def interpolates(self) -> bool:
        """True if the model reproduces the labels it was fitted to, but for rounding."""
        return self.training_risk <= _NOTHING * (self.training_risk + self.overfitting_bias.value)

    @property
    def share(self) -> float:
        """The share of the corrected model that both measurements support."""
        if self.gain is None or self.held_out_share is None:
            return 0.0
        return combine_shares(self.gain.share, self.held_out_share)


def measure_evidence(
    fits: Mapping[str, CrossFit], task: PredictionTask, draws: Draws, weights: FloatArray
) -> Evidence:
    """The evidence in cross-fits without weights ("naive") and perhaps with them ("corrected").

    `weights` are those of the corrected model, of mean one.
    """
    plain, judged = fits["naive"], fits.get("corrected", fits["naive"])
    gain = measure_gain(plain.training, judged.training, judged.held_out, weights)
    corrected = "corrected" in fits
    return Evidence(
        n_effective=effective_size(weights),
        active_learning_bias=active_learning_bias(judged.held_out, draws),
        overfitting_bias=gain.overfitting_bias,
        training_risk=float(np.mean(weights * judged.training)),
        risks={name: lure_mean(each.held_out, draws) for name, each in fits.items()},
        gain=gain if corrected else None,
        held_out_share=_held_out_share(plain, judged, task, weights) if corrected else None,
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
