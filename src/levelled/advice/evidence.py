"""What cross-fitted losses say: the two biases, the risks, and the difference weights make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.advice.crossfit import Crossed
from levelled.advice.verdict import Measured
from levelled.draws import Draws
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.estimate import estimate
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import moments
from levelled.models import TrainingTask

__all__ = [
    "Evidence",
    "WeightsEffect",
    "active_learning_bias",
    "all_one",
    "lure_mean",
    "weighed",
]

_NOTHING = 1e-12
_ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class WeightsEffect:
    """What corrective weights change, for a model that takes them."""

    held_out: Measured
    """Naive less LURE training, in LURE risk of held-out items: positive where weights help."""
    degrees_of_freedom: float
    on_labels: float
    """The same on the labels that both models were fitted to."""
    cost: float
    """What uneven weights cost in variance: overfitting bias times 1 - effective labels / M."""
    same_answers: bool
    """Whether held-out items are given the same answers either way, but for rounding."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers a verdict rests on.

    The biases are those of the model trained with LURE weights, or without any if it takes none.
    """

    n_labels: int
    n_effective: float
    """Effective labels (Kish): how many uniform ones the weights of these labels are worth."""
    n_uncommon: int | None
    """Labels that are not of the most common class; None for a regression."""
    active_learning_bias: Measured
    overfitting_bias: Measured
    training_risk: float
    risks: Mapping[str, Measured]
    comparison: WeightsEffect | None

    @property
    def interpolates(self) -> bool:
        """Whether the model reproduces the labels it was fitted to, so far as numbers go."""
        return self.training_risk <= _NOTHING * (self.training_risk + self.overfitting_bias.value)


def weighed(found: Mapping[str, Crossed], problem: TrainingTask, draws: Draws) -> Evidence:
    """The evidence in cross-fitted losses of models trained "naive" and, if they can, "lure"."""
    judged = found.get("lure", found["naive"])
    M, size = len(draws), effective_size(lure_weights(draws))
    overfitting = lure_mean(judged.held_out - judged.training, draws)
    return Evidence(
        n_labels=M,
        n_effective=size,
        n_uncommon=_uncommon(problem),
        active_learning_bias=active_learning_bias(judged.held_out, draws),
        overfitting_bias=overfitting,
        training_risk=lure_mean(judged.training, draws).value,
        risks={name: lure_mean(own.held_out, draws) for name, own in found.items()},
        comparison=None
        if "lure" not in found
        else _compared(found, draws, cost=max(overfitting.value, 0.0) * (1 - size / M)),
    )


def _compared(found: Mapping[str, Crossed], draws: Draws, *, cost: float) -> WeightsEffect:
    naive, lure = found["naive"], found["lure"]
    gain = naive.held_out - lure.held_out
    return WeightsEffect(
        held_out=lure_mean(gain, draws),
        degrees_of_freedom=float(moments(gain, draws.probability, draws.pool_size).df),
        on_labels=lure_mean(naive.training - lure.training, draws).value,
        cost=cost,
        same_answers=_same(np.asarray(naive.answers), np.asarray(lure.answers)),
    )


def _same(these: NDArray[Any], those: NDArray[Any]) -> bool:
    """Whether two sets of answers differ by rounding at most, beside how far they range."""
    if these.dtype.kind != "f" or those.dtype.kind != "f":
        return bool(np.array_equal(these, those))
    rounding = 100 * np.spacing(np.abs(these).max())
    return bool(np.abs(these - those).max() <= _ALIKE * np.ptp(these) + rounding)


def lure_mean(values: FloatArray, draws: Draws) -> Measured:
    """R_LURE of values of either sign, with the square root of its unbiased variance."""
    found = estimate(values, draws, interval="none")
    return Measured(float(found.value or 0.0), float(found.stderr or 0.0))


def all_one(weights: FloatArray) -> bool:
    """Whether these are the weights of uniform draws, or of a pool that is labelled wholly."""
    return bool(np.ptp(weights) < _ALIKE)


def active_learning_bias(losses: FloatArray, draws: Draws) -> Measured:
    """LURE less naive average, 1/M sum_m (v_m - 1) L_m, with the standard error of that mean.

    The naive average has no target that stays the same from draw to draw, so its part in the
    error cannot be told apart: the terms are taken for independent.
    """
    terms = (lure_weights(draws) - 1) * losses
    return Measured(float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(len(terms))))


def _uncommon(problem: TrainingTask) -> int | None:
    if problem.classes is None:
        return None
    _, count = np.unique(problem.labels, return_counts=True)
    return int(count.sum() - count.max())
