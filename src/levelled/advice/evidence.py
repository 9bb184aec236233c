"""The evidence for a verdict: losses of models that were cross-fitted with and without weights.

Each labelled item has its loss under a model that was trained without it. These losses give the
two biases, the risks and the difference that weights make.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.advice.verdict import Measured
from levelled.draws import Draws
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.estimate import estimate
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import moments
from levelled.models import Model, Predictions, PredictionTask, Rows, fit_copy, take

__all__ = [
    "CrossFit",
    "Evidence",
    "WeightsEffect",
    "active_learning_bias",
    "all_one",
    "assign_folds",
    "cross_fit",
    "lure_mean",
    "measure_evidence",
    "same_predictions",
]

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
class WeightsEffect:
    """The differences that corrective weights make, for a model that takes them."""

    held_out: Measured
    """Plain less LURE training, in LURE risk of held-out items: positive where weights help."""
    degrees_of_freedom: float
    on_labels: float
    """The same on the labels that both models were fitted to."""
    cost: float
    """The variance that uneven weights add: overfitting bias times 1 - effective labels / M."""
    same_predictions: bool
    """True if held-out items have the same predictions either way, but for rounding."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers a verdict rests on.

    The biases are those of the model trained with LURE weights, or without any if it takes none.
    """

    n_labels: int
    n_effective: float
    """Effective labels (Kish): the number of uniformly drawn labels that would be as precise."""
    n_uncommon: int | None
    """Labels that are not of the most common class; None for a regression."""
    active_learning_bias: Measured
    overfitting_bias: Measured
    training_risk: float
    risks: Mapping[str, Measured]
    comparison: WeightsEffect | None

    @property
    def interpolates(self) -> bool:
        """True if the model reproduces the labels it was fitted to, but for rounding."""
        return self.training_risk <= _NOTHING * (self.training_risk + self.overfitting_bias.value)


def measure_evidence(fits: Mapping[str, CrossFit], task: PredictionTask, draws: Draws) -> Evidence:
    """The evidence in cross-fits without weights ("naive") and, if there is one, with "lure"."""
    judged = fits.get("lure", fits["naive"])
    M, size = len(draws), effective_size(lure_weights(draws))
    overfitting = lure_mean(judged.held_out - judged.training, draws)
    cost = max(overfitting.value, 0.0) * (1 - size / M)
    return Evidence(
        n_labels=M,
        n_effective=size,
        n_uncommon=_count_uncommon(task),
        active_learning_bias=active_learning_bias(judged.held_out, draws),
        overfitting_bias=overfitting,
        training_risk=lure_mean(judged.training, draws).value,
        risks={name: lure_mean(each.held_out, draws) for name, each in fits.items()},
        comparison=_compare(fits["naive"], judged, draws, cost=cost) if "lure" in fits else None,
    )


def _compare(plain: CrossFit, lure: CrossFit, draws: Draws, *, cost: float) -> WeightsEffect:
    gain = plain.held_out - lure.held_out
    return WeightsEffect(
        held_out=lure_mean(gain, draws),
        degrees_of_freedom=float(moments(gain, draws.probability, draws.pool_size).df),
        on_labels=lure_mean(plain.training - lure.training, draws).value,
        cost=cost,
        same_predictions=same_predictions(plain.predictions, lure.predictions),
    )


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


def _count_uncommon(task: PredictionTask) -> int | None:
    if task.classes is None:
        return None
    _, count = np.unique(task.labels, return_counts=True)
    return int(count.sum() - count.max())
