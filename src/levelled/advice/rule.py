"""`advise`, and the rule by which the evidence decides the verdict.

Two measurements decide, because each alone is too noisy or too coarse.

- Held out: by how much weighted training lowers the LURE risk of items the model has not seen.
  Nearly unbiased, but with some tens of labels its standard error is often as large as itself.
- Fitted: the gain of weighted training on the labels both models were fitted to. It has little
  variance, but it is optimistic. Where the model is right and there is nothing to gain, it would
  be half of the variance that uneven weights add, and weights pay from the point where it
  exceeds that cost. With p parameters the overfitting bias is about p/M of the noise, and weights
  as precise as n labels make it p/n, so the cost is the share 1 - n/M of the overfitting bias.
  (The argument is that of Hausman's test, of which DuMouchel and Duncan's for weights in
  regressions is an instance.)
"""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, whole
from levelled.advice.evidence import (
    Evidence,
    WeightsEffect,
    all_one,
    assign_folds,
    cross_fit,
    measure_evidence,
)
from levelled.advice.thumbs import apply_thumbs
from levelled.advice.verdict import Advice, Measured, Verdict
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.lure import lure_weights
from levelled.estimators.pure import pure_weights
from levelled.models import (
    Loss,
    Model,
    OwnLoss,
    PredictionTask,
    Rows,
    make_task,
    n_rows,
    seeded_copy,
    takes_weights,
    weights_error,
)

__all__ = ["EFFECTIVE", "LEAST", "LEVEL", "TOLERANCE", "UNCOMMON", "advise", "decide"]

LEAST = 10
"""With fewer labels nothing is measured."""
EFFECTIVE = 10
"""Fewer effective labels than this decide nothing."""
UNCOMMON = 10
"""Nor do fewer labels than this outside the most common class."""
TOLERANCE = 0.02
"""A difference below this share of the risk counts as none."""
LEVEL = 0.99
"""A held-out gain that is significant at this level, one-sided, is enough by itself."""
_SIGN = 0.5  # standard errors from which on a held-out gain is more than its sign
_CLEAR = 2.0  # times what it costs, from which on a gain on the labels is clear
_SMALL = 2.0  # times the overfitting bias, up to which an active learning bias is small beside it


def advise(
    model: Model,
    X: Rows,
    y: ArrayLike,
    draws: Draws,
    *,
    loss: Loss | OwnLoss = "auto",
    folds: int | None = 10,
    test: Rows | tuple[Rows, ArrayLike] | None = None,
    seed: int = 0,
) -> Verdict:
    """Advise for or against training on drawn labels with corrective weights.

    `X` and `y` are the labelled items, in the order of `draws`. The model, anything with `fit`
    and `predict`, is cross-fitted without weights and with those of R_PURE and R_LURE; it is
    copied, never changed, and its open `random_state` parameters are set to `seed`.

    `loss` is "brier", "log_loss" (at most 10), "zero_one", "squared", "absolute" or a function
    of labels and predictions; "auto" is the Brier score, the error or the squared error,
    whichever fits the model. `folds=None` leaves one out at a time. `test`, rows or (rows,
    labels) from where the model is to be used, is tested for a shift.

    The rule and its error rates are on the page of advice in the documentation.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> draws = Draws(np.arange(40), 1 / np.arange(40, 0, -1), pool_size=40)
    >>> print(advise(LinearRegression(), x[:, None], x**2, draws))
    No difference: the whole pool is labelled, so that all weights are one.
    """
    check_draws(draws, y=y)
    seed, M = whole("seed", seed, least=0), len(draws)
    task = make_task(model, y, loss)
    _check_lengths(X, task, draws)
    n_folds = M if folds is None else min(whole("folds", folds, least=2), M)
    fold = assign_folds(task, n_folds, rng=np.random.default_rng(seed))
    too_few = _too_few_labels(task)
    if too_few:
        return Verdict("not enough labels", too_few, M, task.loss)
    own = seeded_copy(model, seed % 2**32)  # scikit-learn takes no larger ones
    nothing = _nothing_to_correct(own, task, X, draws)
    weights: dict[str, FloatArray | None] = {"naive": None}
    if not nothing:
        weights |= {"pure": pure_weights(draws), "lure": lure_weights(draws)}
    fits = {name: cross_fit(own, task, X, fold, each) for name, each in weights.items()}
    evidence = measure_evidence(fits, task, draws)
    effect = evidence.comparison
    advice, because = decide(evidence, effect) if effect else ("no difference", nothing)
    return Verdict(
        advice=advice,
        because=because,
        n_labels=M,
        loss=task.loss,
        n_effective=evidence.n_effective,
        active_learning_bias=evidence.active_learning_bias.value,
        active_learning_bias_stderr=evidence.active_learning_bias.stderr,
        overfitting_bias=evidence.overfitting_bias.value,
        overfitting_bias_stderr=evidence.overfitting_bias.stderr,
        risks=evidence.risks,
        difference=None if effect is None else effect.held_out,
        gain_on_labels=None if effect is None else effect.on_labels,
        cost=None if effect is None else effect.cost,
        rules=apply_thumbs(fits, evidence, task, draws, test),
    )


def _check_lengths(X: Rows, task: PredictionTask, draws: Draws) -> None:
    M, rows, labels = len(draws), n_rows(X), len(task.labels)
    if not rows == labels == M:
        raise InputError(
            f"X and y must be the labelled items in the order of the draws: there are {M} draws, "
            f"{rows} rows and {labels} labels."
        )


def _too_few_labels(task: PredictionTask) -> str:
    M = len(task.labels)
    if M < LEAST:
        return f"there are {M}; at least {LEAST} are needed to learn from some and judge by others."
    if (task.labels == task.labels[0]).all():
        return f"all {M} labels are {task.labels[0]!s}, so every model would predict the same."
    return ""


def _nothing_to_correct(model: Model, task: PredictionTask, X: Rows, draws: Draws) -> str:
    name = type(model).__name__
    if not takes_weights(model):
        return f"{name} takes no sample_weight, so weights cannot change it."
    if all_one(lure_weights(draws)):
        whole_pool = len(draws) == draws.pool_size
        why = "the whole pool is labelled" if whole_pool else "the draws were uniform"
        return f"{why}, so that all weights are one."
    error = weights_error(model, task, X)
    return f"{name} takes no sample_weight: {error}" if error else ""


def decide(evidence: Evidence, effect: WeightsEffect) -> tuple[Advice, str]:
    """The advice that the evidence supports, and the sentence that says why.

    With D +- s the held-out gain, R the held-out risk without weights, G the gain on the labels,
    C the cost of the weights, the first that applies:

        not enough labels   fewer than 10 effective labels, or 10 outside the commonest class
        no difference       held-out items have the same predictions, but for rounding
        no difference       |D| + s <= 2% of R
        correct             D > t(0.99) s,  or  D > s/2 and G > 2 C and |ALB| > OFB
        do not correct      D < 0 and G < C and |ALB| < 2 OFB
        not enough labels   otherwise
    """
    few = _uneven_or_uncommon(evidence)
    if few:
        return "not enough labels", few
    if effect.same_predictions:
        same = "held-out items have the same predictions with and without weights"
        return "no difference", f"{same}, but for rounding."
    gain, stderr = effect.held_out
    if abs(gain) + stderr <= TOLERANCE * evidence.risks["naive"].value:
        return "no difference", _same(evidence)
    if gain > t_quantile(np.asarray(effect.degrees_of_freedom), LEVEL) * stderr:
        change = _risk_change(evidence, effect)
        return "correct", f"{change}, more than chance explains at {LEVEL:.0%}."
    alb, ofb = abs(evidence.active_learning_bias.value), evidence.overfitting_bias.value
    if gain > _SIGN * stderr and effect.on_labels > _CLEAR * effect.cost and alb > ofb:
        reasons = f"{_biases(evidence)}; {_on_labels(effect)}; {_risk_change(evidence, effect)}."
        return "correct", reasons
    if gain < 0 and effect.on_labels < effect.cost and alb < _SMALL * ofb:
        return "do not correct", _against(evidence, effect)
    return "not enough labels", _undecided(evidence, effect)


def _uneven_or_uncommon(evidence: Evidence) -> str:
    M, size, uncommon = evidence.n_labels, evidence.n_effective, evidence.n_uncommon
    if size < EFFECTIVE:
        return (
            f"the weights of the {M} labels are so uneven that their effective sample size is "
            f"{size:.1f}, and {EFFECTIVE} are needed: raise the floor of the proposal."
        )
    if uncommon is not None and uncommon < UNCOMMON:
        return (
            f"only {uncommon} of {M} labels are not of the most common class, and {UNCOMMON} are "
            f"needed."
        )
    return ""


def _biases(evidence: Evidence) -> str:
    """The comparison of the two biases, as in the paper's section 7."""
    alb, ofb = abs(evidence.active_learning_bias.value), evidence.overfitting_bias.value
    if ofb <= 0:
        return (
            f"active learning bias is {evidence.active_learning_bias.value:.2g} and there is no "
            f"overfitting bias"
        )
    if alb >= ofb:
        return f"active learning bias is {alb / ofb:.2g} times the overfitting bias"
    if evidence.interpolates:
        return "the model fits its own labels exactly, so all of its held-out risk is overfitting"
    times = f"{ofb / alb:.2g} times" if alb > 0.01 * ofb else "more than 100 times"
    return f"overfitting bias is {times} the active learning bias"


def _on_labels(effect: WeightsEffect) -> str:
    """The gain on the labels, G, beside the cost of the weights, C."""
    gain, cost = effect.on_labels, effect.cost
    if gain < 0:
        result = f"lose {-gain:.3g} and cost {cost:.3g} in variance"
    elif cost <= 0:
        result = f"gain {gain:.3g} and cost nothing in variance"
    else:
        beside = "between once and twice"
        if gain < cost:
            beside = "less than"
        elif gain > _CLEAR * cost:
            beside = "more than twice"
        result = f"gain {gain:.3g}, {beside} the {cost:.3g} they cost in variance"
    return f"on the labels themselves weights {result}"


def _risk_change(evidence: Evidence, effect: WeightsEffect) -> str:
    naive, lure = evidence.risks["naive"].value, evidence.risks["lure"].value
    verb = "raises" if effect.held_out.value < 0 else "lowers"
    by = Measured(abs(effect.held_out.value), effect.held_out.stderr)
    return f"weighted training {verb} held-out risk from {naive:.3g} to {lure:.3g}, by {by}"


def _same(evidence: Evidence) -> str:
    naive, lure = evidence.risks["naive"].value, evidence.risks["lure"].value
    return (
        f"held-out risk is {naive:.4g} without weights and {lure:.4g} with them: the difference, "
        f"with one standard error added, is within {TOLERANCE:.0%} of the risk."
    )


def _against(evidence: Evidence, effect: WeightsEffect) -> str:
    """The reasons against weights; the biases are one of them only if they point the same way."""
    reasons = f"{_on_labels(effect)}; {_risk_change(evidence, effect)}."
    alb, ofb = abs(evidence.active_learning_bias.value), evidence.overfitting_bias.value
    return f"{_biases(evidence)}; {reasons}" if alb < ofb else reasons


def _undecided(evidence: Evidence, effect: WeightsEffect) -> str:
    """The sign of the held-out difference, and the measurements that contradict it."""
    gain, stderr = effect.held_out
    alb, ofb = abs(evidence.active_learning_bias.value), evidence.overfitting_bias.value
    if gain < 0:
        doubts = {
            _on_labels(effect): effect.on_labels >= effect.cost,
            f"{_biases(evidence)}, which speaks for weights": alb >= _SMALL * ofb,
        }
    else:
        doubts = {
            "that is within half a standard error": gain <= _SIGN * stderr,
            _on_labels(effect): effect.on_labels <= _CLEAR * effect.cost,
            f"{_biases(evidence)}, which speaks against weights": alb <= ofb,
        }
    but = "; ".join(doubt for doubt, applies in doubts.items() if applies)
    return f"{_risk_change(evidence, effect)}, but {but}."
