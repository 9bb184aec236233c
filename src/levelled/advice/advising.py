"""Should a model be trained with corrective weights? Ask its own held-out losses."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, whole
from levelled.advice.crossfit import crossed, folds_of
from levelled.advice.evidence import Evidence, all_one, weighed
from levelled.advice.rule import decide
from levelled.advice.thumbs import thumbs
from levelled.advice.verdict import Advice, Thumb, Verdict
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.lure import lure_weights
from levelled.estimators.pure import pure_weights
from levelled.models import (
    Loss,
    Model,
    OwnLoss,
    Rows,
    TrainingTask,
    complaint_of_weights,
    n_rows,
    posed,
    seeded,
    takes_weights,
)

__all__ = ["LEAST", "advise"]

LEAST = 10
"""With fewer labels nothing is measured."""


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
    """Whether training on drawn labels with corrective weights is worth it, and why.

    `X` and `y` are the labelled items, in the order of `draws`. The model, anything with `fit`
    and `predict`, is cross-fitted without weights and with those of R_PURE and R_LURE; it is
    copied, never changed, and its own randomness, where left open, starts at `seed`.

    `loss` is "brier", "log_loss" (at most 10), "zero_one", "squared", "absolute" or a function
    of labels and answers; "auto" takes the Brier score, the error or the squared error,
    whichever fits the model. `folds=None` leaves one out at a time. `test`, rows or (rows,
    labels) of where the model is to be used, is looked at for a shift.

    The rule, and how often it errs, are on the page of advice in the documentation.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> draws = Draws(np.arange(40), 1 / np.arange(40, 0, -1), pool_size=40)
    >>> print(advise(LinearRegression(), x[:, None], x**2, draws))
    No difference: the whole pool is labelled, so that all weights are one.
    """
    check_draws(draws)
    seed = whole("seed", seed, least=0)
    problem = posed(model, y, loss)
    _check_lengths(X, problem, draws)
    fold = folds_of(problem, _n_folds(folds, len(draws)), rng=np.random.default_rng(seed))
    little = _too_little(problem)
    if little:
        return Verdict("not enough labels", little, len(draws), problem.loss)
    own = seeded(model, seed % 2**32)  # scikit-learn takes no larger ones
    nothing = _nothing_to_correct(own, problem, X, draws)
    weights: dict[str, FloatArray | None] = {"naive": None}
    if not nothing:
        weights |= {"pure": pure_weights(draws), "lure": lure_weights(draws)}
    found = crossed(own, problem, X, fold, weights)
    evidence = weighed(found, problem, draws)
    rules = thumbs(found, evidence, problem, draws, test)
    change = evidence.comparison
    advice, because = decide(evidence, change) if change else ("no difference", nothing)
    return _told(advice, because, problem.loss, evidence, rules)


def _told(
    advice: Advice, because: str, loss: str, evidence: Evidence, rules: tuple[Thumb, ...]
) -> Verdict:
    change = evidence.comparison
    return Verdict(
        advice=advice,
        because=because,
        n_labels=evidence.n_labels,
        loss=loss,
        n_effective=evidence.n_effective,
        active_learning_bias=evidence.active_learning_bias.value,
        active_learning_bias_stderr=evidence.active_learning_bias.stderr,
        overfitting_bias=evidence.overfitting_bias.value,
        overfitting_bias_stderr=evidence.overfitting_bias.stderr,
        risks=evidence.risks,
        difference=None if change is None else change.held_out,
        gain_on_labels=None if change is None else change.on_labels,
        cost=None if change is None else change.cost,
        rules=rules,
    )


def _check_lengths(X: Rows, problem: TrainingTask, draws: Draws) -> None:
    M, rows, labels = len(draws), n_rows(X), len(problem.labels)
    if not rows == labels == M:
        raise InputError(
            f"X and y must be the labelled items in the order of the draws: there are {M} draws, "
            f"{rows} rows and {labels} labels."
        )


def _too_little(problem: TrainingTask) -> str:
    M = len(problem.labels)
    if M < LEAST:
        return f"there are {M}; at least {LEAST} are needed to learn from some and judge by others."
    if (problem.labels == problem.labels[0]).all():
        return f"all {M} labels are {problem.labels[0]!s}, so every model would answer alike."
    return ""


def _nothing_to_correct(model: Model, problem: TrainingTask, X: Rows, draws: Draws) -> str:
    name = type(model).__name__
    if not takes_weights(model):
        return f"{name} takes no sample_weight, so weights cannot change it."
    if all_one(lure_weights(draws)):
        whole_pool = len(draws) == draws.pool_size
        why = "the whole pool is labelled" if whole_pool else "the draws were uniform"
        return f"{why}, so that all weights are one."
    complaint = complaint_of_weights(model, problem, X)
    return f"{name} takes no sample_weight: {complaint}" if complaint else ""


def _n_folds(folds: int | None, M: int) -> int:
    return M if folds is None else min(whole("folds", folds, least=2), M)
