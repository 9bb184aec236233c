"""`advise`: how far training on drawn labels should be corrected for the way they were chosen.

Beside its verdict stand the five rules of thumb of the paper's section 8: what each of them asks
about, measured. They are evidence, not advice: how far to correct is measured from the labels
themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, floats, whole
from levelled.advice.evidence import (
    CrossFit,
    Thumb,
    Verdict,
    all_one,
    assign_folds,
    cross_fit,
    lure_mean,
    measure_evidence,
)
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.intervals.limits import NO_VARIANCE, t_quantile
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import effective_size, moments
from levelled.labels import class_names
from levelled.models import (
    Loss,
    Model,
    OwnLoss,
    Predictions,
    PredictionTask,
    Rows,
    error_line,
    fit,
    make_task,
    n_rows,
    seeded_copy,
    takes_weights,
    untrained_copy,
)

Test = Rows | tuple[Rows, ArrayLike]

LEAST = 30  # a choice: 60 would add 28% to the risk at 30 labels, and 15 take 20% off it at 15
"""With fewer labels nothing is measured, and training is plain. (Regressions of study verdicts.)"""
FOLDS = 5  # problems of the study verdicts: 3 and 10 folds change the risk by -0.1 and -0.2%
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

    The model is trained plainly and with weights, once on all labels and once without each of 5
    folds: 12 fits. The rule and its error rates are on the page of advice in the documentation.

    Parameters
    ----------
    model : An object with `fit` and `predict`. It is copied, never changed.
    X : The labelled items, in the order of the draws.
    y : Their labels.
    draws : Their draws.
    weights : The weights of the corrected model; those of R_LURE unless they are given.
    loss : "brier", "log_loss" (at most 10), "zero_one", "squared", "absolute", or a function of
        labels and predictions; "auto" is the Brier score, the error or the squared error,
        whichever fits the model.
    folds : The number of folds; None leaves one label out at a time.
    test : Rows, or (rows, labels), from where the model is to be used, to be tested for a shift.
    seed : The seed of the folds, and of each `random_state` that the model leaves open.

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
    rows, labels = n_rows(X), len(task.labels)
    if not rows == labels == M:
        raise InputError(
            f"X and y must be the labelled items in the order of the draws: there are {M} draws, "
            f"{rows} rows and {labels} labels."
        )
    own_weights = floats("weights", lure_weights(draws) if weights is None else weights, ndim=1)
    if len(own_weights) != M:
        raise InputError(f"{M} labels need {M} weights, not {len(own_weights)}.")
    if (own_weights <= 0).any():
        raise InputError("weights must be above 0: every label was drawn with some probability.")
    if M:  # a penalty is then as strong as without weights
        own_weights = own_weights / own_weights.mean()
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
    reason = corrected if isinstance(corrected, str) else ""
    verdict = measure_evidence(fits, task, draws, own_weights, reason)
    rules = apply_thumbs(fits, verdict, task, draws, own_weights, test)
    return Correction(replace(verdict, rules=rules), task, own_weights, fits)


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
        try:  # with weights that are all one, whatever a model cannot do
            fit(untrained_copy(model), X, task.labels, np.ones(len(task.labels)))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return f"{type(model).__name__} takes no sample_weight: {error_line(error)}"
        raise


ALARM = 0.003
"""The rate, three sigma, at which a test sample from the pool itself is called shifted."""
_NOTHING = 1e-12  # rounding
_ABOUT = 0.1  # a choice of words: an efficiency this close to 1 is called the same


def apply_thumbs(
    fits: Mapping[str, CrossFit],
    verdict: Verdict,
    task: PredictionTask,
    draws: Draws,
    weights: FloatArray,
    test: Test | None,
) -> tuple[Thumb, ...]:
    """The rules in the paper's order; the one about shift only where there is a test sample.

    `weights` are those of the corrected model, of mean one.
    """
    judged = fits.get("corrected", fits["naive"])
    bias, overfitting = verdict.active_learning_bias or 0.0, verdict.overfitting_bias or 0.0
    shift = [] if test is None else [_shift(judged, bias, task, draws, test)]
    return (
        _proposal(judged.held_out, draws),
        _overfitting(bias, overfitting, float(np.mean(weights * judged.training))),
        _imbalance(task, draws),
        *shift,
        _at_test_time(judged.held_out, draws),
    )


def _proposal(losses: FloatArray, draws: Draws) -> Thumb:
    """First: the closer the proposal is to the optimal one, the better R_LURE is than naive."""
    if all_one(lure_weights(draws)):
        says = "The weights are those of uniform draws: there is nothing to correct."
        return Thumb("proposal", {"efficiency": 1.0}, says)
    M, N = len(draws), draws.pool_size
    risk = lure_mean(losses, draws)
    spread = lure_mean(losses**2, draws).value - risk.value**2 + risk.stderr**2
    uniform = max(spread, 0.0) * (1 / M - 1 / N)
    efficiency = uniform / risk.stderr**2 if risk.stderr > 0 else float("nan")
    if not efficiency > 0:
        says = "Nothing can be measured: the weighted losses do not vary."
    elif abs(efficiency - 1) <= _ABOUT:
        says = "The draws measure the risk about as well as uniform ones would."
    else:
        only, how_far = ("", "close to") if efficiency > 1 else ("only ", "far from")
        says = (
            f"The draws measure the risk {only}{efficiency:.2g} times as well as uniform ones "
            f"would: the proposal is {how_far} the optimal one."
        )
    return Thumb("proposal", {"efficiency": efficiency}, says)


def _overfitting(bias: float, overfitting: float, training_risk: float) -> Thumb:
    """Second: the less overfitting, the likelier that R_LURE is useful."""
    held_out = training_risk + overfitting
    share = overfitting / held_out if held_out > 0 else float("nan")
    size = "smaller" if abs(bias) > overfitting else "larger"
    says = f"Overfitting bias is {size} than active learning bias."
    if training_risk <= _NOTHING * held_out:
        says = "The model fits its own labels exactly: all of its held-out risk is overfitting."
    return Thumb("overfitting", {"share_of_risk": share, "training_risk": training_risk}, says)


def _imbalance(task: PredictionTask, draws: Draws) -> Thumb:
    """Third: R_LURE matters more where unlikely items are over-represented."""
    weights = lure_weights(draws)
    share = weights / weights.sum()
    misplaced = float(np.abs(share - 1 / len(draws)).sum() / 2)
    measured = {"misplaced": misplaced}
    says = f"{misplaced:.0%} of the labels would have to be of other items to be like the pool"
    if task.classes is not None:
        sample = np.array([np.mean(task.labels == name) for name in task.classes])
        pool = np.array([share[task.labels == name].sum() for name in task.classes])
        rarest = int(np.argmin(pool))
        measured |= {"rarest_in_pool": float(pool[rarest]), "rarest_drawn": float(sample[rarest])}
        says += (
            f"; class {task.classes[rarest]!s} is {sample[rarest]:.0%} of them and about "
            f"{pool[rarest]:.0%} of the pool"
        )
    return Thumb("imbalance", measured, f"{says}.")


def _shift(judged: CrossFit, bias: float, task: PredictionTask, draws: Draws, test: Test) -> Thumb:
    """Fourth: where the test data differ from the pool, active learning bias is dwarfed.

    With labels the risks are compared, else the mean prediction of each class: by Welch's test,
    with a nominal rate of false alarms of 0.3% for all classes together.
    """
    parts = test if isinstance(test, tuple) else (test, None)
    if len(parts) != 2 or n_rows(parts[0], "test") < 2:
        raise InputError("test must be rows, two or more, or a pair of rows and their labels.")
    X, y = parts
    if y is None:
        return _shift_of_predictions(judged, task, draws, X)
    labels = class_names("The labels of test", y) if task.classes is not None else np.asarray(y)
    if n_rows(X) != len(labels):
        raise InputError(f"test has {n_rows(X)} rows and {len(labels)} labels: one each is needed.")
    unknown = np.zeros(0) if task.classes is None else np.setdiff1d(labels, task.classes)
    if unknown.size:
        raise InputError(
            f"test has labels that no drawn item has, such as {unknown[0]!s}: no model of these "
            f"labels can predict them."
        )
    losses = task.losses(labels, task.predictions(judged.model, X))
    gap, z, shifted = _largest_gap(losses[:, None], judged.held_out[:, None], draws)
    size = "larger" if abs(gap) > abs(bias) else "smaller"
    says = f"a shift {size} than the active learning bias, which no weights correct"
    return Thumb(
        "shift",
        {"risk_gap": gap, "standard_errors": z},
        f"The test sample's risk is off by {gap:.2g} ({abs(z):.1f} standard errors), "
        f"{says if shifted else 'no sign of a shift'}.",
    )


def _shift_of_predictions(judged: CrossFit, task: PredictionTask, draws: Draws, X: Rows) -> Thumb:
    there = _columns(task.predictions(judged.model, X), task)
    here = _columns(judged.predictions, task)
    # The variance of R_LURE is poorly known for a class that was hardly drawn: without a shift
    # its predictions vary as those of the test sample do.
    left, size = 1 - len(draws) / draws.pool_size, effective_size(lure_weights(draws))
    least = left * there.var(axis=0, ddof=1) / size
    _, z, shifted = _largest_gap(there, here, draws, least)
    says = "a shift, which no weights correct" if shifted else "no sign of a shift"
    return Thumb(
        "shift",
        {"standard_errors": z},
        f"The mean prediction on the test sample is {abs(z):.1f} standard errors from the pool's: "
        f"{says}.",
    )


def _columns(predictions: Predictions, task: PredictionTask) -> FloatArray:
    """Predictions as numbers [N, C]: probabilities, 1 for the predicted class, or the number."""
    columns = np.asarray(predictions)
    if task.classes is not None and columns.ndim == 1:
        columns = columns[:, None] == task.classes
    return columns.astype(np.float64).reshape(len(columns), -1)


def _largest_gap(
    test: FloatArray, pool: FloatArray, draws: Draws, least: FloatArray | float = 0.0
) -> tuple[float, float, bool]:
    """Welch's test of columns [n, C] against R_LURE of columns [M, C].

    Returns the largest gap, that gap in standard errors, and True if it is a shift. V is that of
    R_LURE, or `least` where that is larger.

    (mean - R_LURE) / sqrt(s^2 / n + V)    beyond Student's t at 1 - ALARM / 2C
    """
    here, (n, C) = moments(pool.T, draws.probability, draws.pool_size), test.shape
    theirs, ours = test.var(axis=0, ddof=1) / n, np.maximum(here.variance, least)
    gap, variance = test.mean(axis=0) - here.value, ours + theirs
    with np.errstate(divide="ignore", invalid="ignore"):  # predictions that are all the same
        z = np.where(variance > NO_VARIANCE * here.value**2, gap / np.sqrt(variance), 0.0)
        known = np.where(ours > 0, ours**2 / here.df, 0.0) + theirs**2 / (n - 1)
        beyond = np.abs(z) / t_quantile(variance**2 / known, 1 - ALARM / (2 * C))
    at = int(np.argmax(np.nan_to_num(beyond)))
    return float(gap[at]), float(z[at]), bool(beyond[at] > 1)


def _at_test_time(losses: FloatArray, draws: Draws) -> Thumb:
    """Fifth: in the evaluation of a model there is no overfitting."""
    naive, risk = float(losses.mean()), lure_mean(losses, draws)
    return Thumb(
        "test time",
        {"naive": naive, "lure": risk.value, "lure_stderr": risk.stderr},
        f"To evaluate a model, always use R_LURE: the naive average is {naive:.3g} where R_LURE "
        f"is {risk}.",
    )
