"""The rule that decided between training with weights and without, before there was a share.

Studies compare the share of `levelled.advice` with it. It cross-fits the model without weights and
with those of R_LURE, and decides where a held-out and a fitted measurement agree.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from levelled._check import FloatArray
from levelled.advice.evidence import (
    CrossFit,
    Measured,
    active_learning_bias,
    all_one,
    assign_folds,
    cross_fit,
    lure_mean,
    same_predictions,
)
from levelled.draws import Draws
from levelled.estimators.intervals.limits import t_quantile
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import effective_size, moments
from levelled.models import Model, PredictionTask, Rows, make_task, seeded_copy, takes_weights

__all__ = ["TOLERANCE", "Decision", "Evidence", "OldAdvice", "advise", "decide"]

OldAdvice = Literal["correct", "do not correct", "no difference", "not enough labels"]

TOLERANCE = 0.02
"""A difference below this share of the risk counts as none."""
_LEAST = 10  # labels, effective labels, and labels outside the most common class
_LEVEL = 0.99  # at which a held-out gain is enough by itself, one-sided
_SIGN = 0.5  # standard errors from which on a held-out gain is more than its sign
_CLEAR = 2.0  # times what it costs, from which on a gain on the labels is clear
_SMALL = 2.0  # times the overfitting bias, up to which an active learning bias is small beside it


@dataclass(frozen=True, slots=True)
class Decision:
    """The advice for or against weights, and the active learning bias if it was measured."""

    advice: OldAdvice
    active_learning_bias: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that the rule decides by."""

    n_effective: float
    n_uncommon: int | None
    """Labels that are not of the most common class; None for a regression."""
    plain_risk: float
    """The held-out LURE risk of the model trained without weights."""
    held_out: Measured
    """Plain less LURE training, in LURE risk of held-out items: positive where weights help."""
    degrees_of_freedom: float
    on_labels: float
    """The same on the labels that both models were fitted to."""
    active_learning_bias: float
    overfitting_bias: float
    cost: float
    """The variance that uneven weights add: overfitting bias times 1 - effective labels / M."""
    same_predictions: bool


def advise(
    model: Model, X: Rows, y: FloatArray, draws: Draws, *, folds: int = 10, seed: int = 0
) -> Decision:
    """Decide for or against training with the weights of R_LURE."""
    task, M = make_task(model, y, "auto"), len(draws)
    if M < _LEAST or (task.labels == task.labels[0]).all():
        return Decision("not enough labels")
    fold = assign_folds(task, min(folds, M), rng=np.random.default_rng(seed))
    own, weights = seeded_copy(model, seed % 2**32), lure_weights(draws)
    plain = cross_fit(own, task, X, fold, None)
    if not takes_weights(own) or all_one(weights):
        bias = active_learning_bias(plain.held_out, draws)
        return Decision("no difference", bias.value)
    evidence = _measure(plain, cross_fit(own, task, X, fold, weights), task, draws)
    return Decision(decide(evidence), evidence.active_learning_bias)


def _measure(plain: CrossFit, lure: CrossFit, task: PredictionTask, draws: Draws) -> Evidence:
    gain = plain.held_out - lure.held_out
    overfitting = lure_mean(lure.held_out - lure.training, draws).value
    size = effective_size(lure_weights(draws))
    count = None if task.classes is None else np.unique(task.labels, return_counts=True)[1]
    return Evidence(
        n_effective=size,
        n_uncommon=None if count is None else int(count.sum() - count.max()),
        plain_risk=lure_mean(plain.held_out, draws).value,
        held_out=lure_mean(gain, draws),
        degrees_of_freedom=float(moments(gain, draws.probability, draws.pool_size).df),
        on_labels=lure_mean(plain.training - lure.training, draws).value,
        active_learning_bias=active_learning_bias(lure.held_out, draws).value,
        overfitting_bias=overfitting,
        cost=max(overfitting, 0.0) * (1 - size / len(draws)),
        same_predictions=same_predictions(plain.predictions, lure.predictions),
    )


def decide(evidence: Evidence) -> OldAdvice:
    """The advice that the evidence supports.

    With D +- s the held-out gain, R the held-out risk without weights, G the gain on the labels,
    C the cost of the weights, the first that applies:

        not enough labels   fewer than 10 effective labels, or 10 outside the commonest class
        no difference       held-out items have the same predictions, but for rounding
        no difference       |D| + s <= 2% of R
        correct             D > t(0.99) s,  or  D > s/2 and G > 2 C and |ALB| > OFB
        do not correct      D < 0 and G < C and |ALB| < 2 OFB
        not enough labels   otherwise
    """
    uncommon = evidence.n_uncommon
    if evidence.n_effective < _LEAST or (uncommon is not None and uncommon < _LEAST):
        return "not enough labels"
    gain, stderr = evidence.held_out
    small = abs(gain) + stderr <= TOLERANCE * evidence.plain_risk
    if evidence.same_predictions or small:
        return "no difference"
    alb, ofb = abs(evidence.active_learning_bias), evidence.overfitting_bias
    fitted, cost = evidence.on_labels, evidence.cost
    if gain > t_quantile(np.asarray(evidence.degrees_of_freedom), _LEVEL) * stderr:
        return "correct"
    if gain > _SIGN * stderr and fitted > _CLEAR * cost and alb > ofb:
        return "correct"
    if gain < 0 and fitted < cost and alb < _SMALL * ofb:
        return "do not correct"
    return "not enough labels"
