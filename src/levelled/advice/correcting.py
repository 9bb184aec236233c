"""`advise`: how far training on drawn labels should be corrected for the way they were chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, floats, whole
from levelled.advice.evidence import (
    Advice,
    CrossFit,
    Evidence,
    Thumb,
    Verdict,
    all_one,
    assign_folds,
    cross_fit,
    measure_evidence,
)
from levelled.advice.thumbs import Test, apply_thumbs
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.lure import lure_weights
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

LEAST = 30
"""With fewer labels nothing is measured, and training is plain."""
FOLDS = 5
HALF = 0.5
"""A share above it is advice to correct."""
_LOSS_OF_CLASSES = {"zero_one": "the error rate", "own": "a loss of predicted classes"}


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """The verdict on a model and its labels, and the models that were fitted for it.

    `fits` are those trained plainly ("naive") and with `weights` ("corrected"); neither is there
    if nothing was measured.
    """

    verdict: Verdict
    task: PredictionTask
    weights: FloatArray
    """The weights of the corrected model, of mean one."""
    fits: Mapping[str, CrossFit] = field(default_factory=dict)


def advise(
    model: Model,
    X: Rows,
    y: ArrayLike,
    draws: Draws,
    *,
    weights: ArrayLike | None = None,
    loss: Loss | OwnLoss = "auto",
    folds: int | None = FOLDS,
    test: Test | None = None,
    seed: int = 0,
) -> Verdict:
    """Advise how far to correct training for the way its labels were chosen, by their evidence.

    `X` and `y` are the labelled items, in the order of `draws`. The model, anything with `fit`
    and `predict`, is trained plainly and with `weights`, those of R_LURE unless they are given,
    once on all labels and once without each of 5 `folds`: 12 fits. It is copied, never changed,
    and its open `random_state` parameters are set to `seed`.

    `loss` is "brier", "log_loss" (at most 10), "zero_one", "squared", "absolute" or a function
    of labels and predictions; "auto" is the Brier score, the error or the squared error,
    whichever fits the model. `folds=None` leaves one out at a time. `test`, rows or (rows,
    labels) from where the model is to be used, is tested for a shift.

    The rule and its error rates are on the page of advice in the documentation.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> draws = Draws(np.arange(40), 1 / np.arange(40, 0, -1), pool_size=40)
    >>> print(advise(LinearRegression(), x[:, None], x**2, draws))
    Not corrected: the whole pool is labelled, so there is no choice to correct for.
    """
    return judge_correction(
        model, X, y, draws, weights=weights, loss=loss, folds=folds, test=test, seed=seed
    ).verdict


def judge_correction(
    model: Model,
    X: Rows,
    y: ArrayLike,
    draws: Draws,
    *,
    weights: ArrayLike | None = None,
    loss: Loss | OwnLoss = "auto",
    folds: int | None = FOLDS,
    test: Test | None = None,
    seed: int = 0,
) -> Correction:
    """The verdict of `advise`, and the models that were fitted for it."""
    check_draws(draws, y=y)
    seed, M = whole("seed", seed, least=0), len(draws)
    task = make_task(model, y, loss)
    _check_lengths(X, task, draws)
    own_weights = _mean_one(lure_weights(draws) if weights is None else weights, M)
    n_folds = M if folds is None else min(whole("folds", folds, least=2), M)
    too_few = _too_few_labels(task)
    if too_few:
        verdict = Verdict("not enough labels", too_few, M, task.loss)
        return Correction(verdict, task, own_weights)
    fold = assign_folds(task, n_folds, rng=np.random.default_rng(seed))
    own = seeded_copy(model, seed % 2**32)  # scikit-learn takes no larger ones
    fits = {"naive": cross_fit(own, task, X, fold, None)}
    corrected: CrossFit | str = _nothing_to_correct(own, task, draws, own_weights)
    corrected = corrected or _fit_corrected(own, task, X, fold, own_weights)
    if isinstance(corrected, CrossFit):
        fits["corrected"] = corrected
    evidence = measure_evidence(fits, task, draws, own_weights)
    because = corrected if isinstance(corrected, str) else _because(evidence, M)
    rules = apply_thumbs(fits, evidence, task, draws, test)
    return Correction(_make_verdict(evidence, task, because, rules), task, own_weights, fits)


def _check_lengths(X: Rows, task: PredictionTask, draws: Draws) -> None:
    M, rows, labels = len(draws), n_rows(X), len(task.labels)
    if not rows == labels == M:
        raise InputError(
            f"X and y must be the labelled items in the order of the draws: there are {M} draws, "
            f"{rows} rows and {labels} labels."
        )


def _mean_one(weights: ArrayLike, n_labels: int) -> FloatArray:
    """The weights over their mean; a penalty is then as strong as without weights."""
    values = floats("weights", weights, ndim=1)
    if len(values) != n_labels:
        raise InputError(f"{n_labels} labels need {n_labels} weights, not {len(values)}.")
    if (values <= 0).any():
        raise InputError("weights must be above 0: every label was drawn with some probability.")
    return values / values.mean() if n_labels else values


def _too_few_labels(task: PredictionTask) -> str:
    M = len(task.labels)
    if M < LEAST:
        return f"{LEAST} labels are needed to measure how far to correct, and there are {M}."
    if (task.labels == task.labels[0]).all():
        return f"all {M} labels are {task.labels[0]!s}, so every model would predict the same."
    if task.classes is not None:
        names, counts = np.unique(task.labels, return_counts=True)
        others = M - int(counts.max())
        if others < FOLDS:
            return (
                f"{others} of {M} labels are not {names[counts.argmax()]!s}, and {FOLDS} are "
                f"needed, so that each of the models that are compared has seen some."
            )
    return ""


def _nothing_to_correct(
    model: Model, task: PredictionTask, draws: Draws, weights: FloatArray
) -> str:
    """The reason for plain training that is known before anything is fitted with weights."""
    if not takes_weights(model):
        return f"{type(model).__name__} takes no sample_weight, so weights cannot change it."
    if all_one(weights):
        whole_pool = len(draws) == draws.pool_size
        why = "the whole pool is labelled" if whole_pool else "the draws were uniform"
        return f"{why}, so there is no choice to correct for."
    if task.classes is not None and not task.by_probability:
        return (
            f"{_LOSS_OF_CLASSES[task.loss]} depends only on where classes meet. Chosen labels lie "
            f"there, so plain training serves it best; weights can improve probabilities, which "
            f"the losses brier and log_loss judge."
        )
    return ""


def _fit_corrected(
    model: Model, task: PredictionTask, X: Rows, fold: IntArray, weights: FloatArray
) -> CrossFit | str:
    """The cross-fit with weights, or the reason why the model takes none."""
    try:
        return cross_fit(model, task, X, fold, weights)
    except InputError:
        error = weights_error(model, task, X)
        if not error:
            raise
        return f"{type(model).__name__} takes no sample_weight: {error}"


def _make_verdict(
    evidence: Evidence, task: PredictionTask, because: str, rules: tuple[Thumb, ...]
) -> Verdict:
    share, gain = evidence.share, evidence.gain
    advice: Advice = "do not correct"
    if share > 0:
        advice = "correct" if share > HALF else "correct partly"
    return Verdict(
        advice=advice,
        because=because,
        n_labels=len(task.labels),
        loss=task.loss,
        share=share,
        gain_on_labels=None if gain is None else gain.value,
        chance=None if gain is None else gain.chance,
        held_out_share=evidence.held_out_share,
        n_effective=evidence.n_effective,
        active_learning_bias=evidence.active_learning_bias.value,
        active_learning_bias_stderr=evidence.active_learning_bias.stderr,
        overfitting_bias=evidence.overfitting_bias.value,
        overfitting_bias_stderr=evidence.overfitting_bias.stderr,
        risks=evidence.risks,
        rules=rules,
    )


def _because(evidence: Evidence, n_labels: int) -> str:
    """Both measurements of the share, in words."""
    gain, held_out = evidence.gain, evidence.held_out_share
    if gain is None or held_out is None:
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
        f"size {evidence.n_effective:.0f})."
    )
