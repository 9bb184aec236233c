"""The five rules of thumb of the paper's section 8: what each of them asks about, measured.

They are evidence, not advice: how far to correct is measured from the labels themselves.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray
from levelled.advice.evidence import CrossFit, Evidence, Thumb, all_one, lure_mean
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.intervals.limits import NO_VARIANCE, t_quantile
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import effective_size, moments
from levelled.labels import class_names
from levelled.models import Predictions, PredictionTask, Rows, n_rows

Test = Rows | tuple[Rows, ArrayLike]

ALARM = 0.003
"""The rate at which a test sample from the pool itself is called shifted, where t is exact."""
_ABOUT = 0.1  # an efficiency that is this close to one decides nothing


def apply_thumbs(
    fits: Mapping[str, CrossFit],
    evidence: Evidence,
    task: PredictionTask,
    draws: Draws,
    test: Test | None,
) -> tuple[Thumb, ...]:
    """The rules in the paper's order; the one about shift only where there is a test sample."""
    judged = fits.get("corrected", fits["naive"])
    shift = [] if test is None else [_shift(judged, evidence, task, draws, test)]
    return (
        _proposal(judged.held_out, draws),
        _overfitting(evidence),
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
    elif efficiency > 1:
        says = (
            f"The draws measure the risk {efficiency:.2g} times as well as uniform ones would: the "
            f"proposal is close to the optimal one."
        )
    else:
        says = (
            f"The draws measure the risk only {efficiency:.2g} times as well as uniform ones "
            f"would: the proposal is far from the optimal one."
        )
    return Thumb("proposal", {"efficiency": efficiency}, says)


def _overfitting(evidence: Evidence) -> Thumb:
    """Second: the less overfitting, the likelier that R_LURE is useful."""
    alb, ofb = abs(evidence.active_learning_bias.value), evidence.overfitting_bias.value
    held_out = evidence.training_risk + ofb
    share = ofb / held_out if held_out > 0 else float("nan")
    if evidence.interpolates:
        says = "The model fits its own labels exactly: all of its held-out risk is overfitting."
    elif alb > ofb:
        says = "Overfitting bias is smaller than active learning bias."
    else:
        says = "Overfitting bias is larger than active learning bias."
    return Thumb(
        "overfitting", {"share_of_risk": share, "training_risk": evidence.training_risk}, says
    )


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


def _shift(
    judged: CrossFit, evidence: Evidence, task: PredictionTask, draws: Draws, test: Test
) -> Thumb:
    """Fourth: where the test data differ from the pool, active learning bias is dwarfed.

    With labels the risks are compared, else the mean prediction of each class: by Welch's test,
    with a nominal rate of false alarms of 0.3% for all classes together.
    """
    X, y = _rows_and_labels(test)
    if y is None:
        return _shift_of_predictions(judged, task, draws, X)
    labels = class_names("The labels of test", y) if task.classes is not None else np.asarray(y)
    _check_labels(X, labels, task)
    losses = task.losses(labels, task.predictions(judged.model, X))
    gap = _largest_gap(losses[:, None], judged.held_out[:, None], draws)
    if not gap.shifted:
        says = "no sign of a shift"
    elif abs(gap.value) > abs(evidence.active_learning_bias.value):
        says = "a shift larger than the active learning bias, which no weights correct"
    else:
        says = "a shift smaller than the active learning bias, which no weights correct"
    return Thumb(
        "shift",
        {"risk_gap": gap.value, "standard_errors": gap.standardised},
        f"The test sample's risk is off by {gap.value:.2g} ({abs(gap.standardised):.1f} standard "
        f"errors), {says}.",
    )


def _shift_of_predictions(judged: CrossFit, task: PredictionTask, draws: Draws, X: Rows) -> Thumb:
    there = _columns(task.predictions(judged.model, X), task)
    here = _columns(judged.predictions, task)
    # The variance of R_LURE is poorly known for a class that was hardly drawn: without a shift
    # its predictions vary as those of the test sample do.
    left, size = 1 - len(draws) / draws.pool_size, effective_size(lure_weights(draws))
    gap = _largest_gap(there, here, draws, least=left * there.var(axis=0, ddof=1) / size)
    says = "a shift, which no weights correct" if gap.shifted else "no sign of a shift"
    return Thumb(
        "shift",
        {"standard_errors": gap.standardised},
        f"The mean prediction on the test sample is {abs(gap.standardised):.1f} standard errors "
        f"from the pool's: {says}.",
    )


def _columns(predictions: Predictions, task: PredictionTask) -> FloatArray:
    """Predictions as numbers [N, C]: probabilities, 1 for the predicted class, or the number."""
    columns = np.asarray(predictions)
    if task.classes is not None and columns.ndim == 1:
        columns = columns[:, None] == task.classes
    return columns.astype(np.float64).reshape(len(columns), -1)


class _Gap(NamedTuple):
    value: float
    standardised: float
    shifted: bool


def _largest_gap(
    test: FloatArray, pool: FloatArray, draws: Draws, least: FloatArray | float = 0.0
) -> _Gap:
    """Welch's test of columns [n, C] against R_LURE of columns [M, C]; the largest gap.

    V is that of R_LURE, or `least` where that is larger.

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
    return _Gap(float(gap[at]), float(z[at]), bool(beyond[at] > 1))


def _rows_and_labels(test: Test) -> tuple[Rows, ArrayLike | None]:
    parts = test if isinstance(test, tuple) else (test, None)
    if len(parts) != 2 or n_rows(parts[0], "test") < 2:
        raise InputError("test must be rows, two or more, or a pair of rows and their labels.")
    return parts


def _check_labels(X: Rows, labels: NDArray[Any], task: PredictionTask) -> None:
    if n_rows(X) != len(labels):
        raise InputError(f"test has {n_rows(X)} rows and {len(labels)} labels: one each is needed.")
    if task.classes is None:
        return
    unknown = np.setdiff1d(labels, task.classes)
    if unknown.size:
        raise InputError(
            f"test has labels that no drawn item has, such as {unknown[0]!s}: no model of these "
            f"labels can predict them."
        )


def _at_test_time(losses: FloatArray, draws: Draws) -> Thumb:
    """Fifth: in the evaluation of a model there is no overfitting."""
    naive, risk = float(losses.mean()), lure_mean(losses, draws)
    return Thumb(
        "test time",
        {"naive": naive, "lure": risk.value, "lure_stderr": risk.stderr},
        f"To evaluate a model, always use R_LURE: the naive average is {naive:.3g} where R_LURE "
        f"is {risk}.",
    )
