"""Averages over the pool: of the label itself, or of a loss.

All take the options of `estimate` as keywords: `level`, `interval`, `control` with
`control_mean`, `estimator` and `population`; those whose losses have no bounds of their own also
take `bounds`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from levelled import losses
from levelled._check import FloatArray, floats
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.intervals.logical import UNBOUNDED
from levelled.estimators.record import Estimate
from levelled.labels import (
    Class,
    class_names,
    class_numbers,
    is_class,
    quantity_notes,
    refuse_fractions,
)
from levelled.metrics.ratio import scaled


class EstimateOptions(TypedDict, total=False):
    """The options that every average passes on to `estimate`."""

    estimator: str
    level: float
    interval: str
    control: ArrayLike | str | None
    control_mean: float | None
    population: bool


class BoundedOptions(EstimateOptions, total=False):
    """The options of an average whose losses have no bounds of their own."""

    bounds: tuple[float, float] | None
    """The least and the largest loss of an item."""


def mean(labels: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]) -> Estimate:
    """The pool mean of a numeric label, such as a rating given by people.

    `bounds` are the least and the largest label. If a judge has rated the whole pool, pass its
    scores of the drawn items as `control` and its mean score over the pool as `control_mean`. The
    better it agrees with people, the fewer labels are needed; a poor judge cannot bias the mean.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> mean([4, 5, 2, 4], draws, bounds=(1, 5)).value
    3.75
    >>> judge = [4.5, 5.0, 2.0, 4.0]
    >>> round(mean([4, 5, 2, 4], draws, control=judge, control_mean=3.5).value, 3)
    3.375
    """
    check_draws(draws, labels=labels)
    return estimate(floats("labels", labels, ndim=1), draws, **options)


def share(
    labels: ArrayLike, draws: Draws, *, of: Class, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that has this label: its prevalence.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> share(["spam", "ham", "ham", "spam"], draws, of="spam").value
    0.5
    """
    check_draws(draws, labels=labels)
    inside = is_class(class_names("labels", labels), of)
    return estimate(inside.astype(np.float64), draws, bounds=(0, 1), **options)


def error(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that the model gets wrong.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> error(["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "spam"], draws).value
    0.25
    """
    check_draws(draws, labels=labels, pred=pred)
    classes = {"labels": class_names("labels", labels), "pred": class_names("pred", pred)}
    refuse_fractions(**classes)
    est = estimate(losses.zero_one(**classes), draws, bounds=(0, 1), **options)
    return replace(est, warnings=(*est.warnings, *quantity_notes(est.value, **classes)))


def accuracy(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that the model gets right: one minus the error.

    A `control` predicts accuracy here: the chance that the model is right.
    """
    control, control_mean = options.get("control"), options.get("control_mean")
    if control is not None and not isinstance(control, str):
        check_draws(draws, control=control)
        options["control"] = 1 - floats("control", control, ndim=1)
    if control_mean is not None:
        options["control_mean"] = 1 - control_mean
    return complement(error(labels, pred, draws, **options))


def log_loss(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    cap: float | None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate:
    """The mean log loss, -log of the probability [M, C] that the model gave to the label.

    `classes` names the columns of `proba`; without it labels are column numbers. One label of
    probability 0 makes the mean infinite, so declare a `cap`: each loss then counts as at most
    that, and the interval may rely on it.
    """
    check_draws(draws, labels=labels, proba=proba)
    y = label_columns(labels, proba, classes)
    bounds = UNBOUNDED if cap is None else (0.0, cap)
    return estimate(losses.log_loss(y, proba, cap=cap), draws, bounds=bounds, **options)


def brier(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate:
    """The mean Brier score, sum_c (p_c - 1[y = c])^2, between 0 and 2.

    For two classes it is twice what scikit-learn calls the Brier score of the positive class.
    """
    check_draws(draws, labels=labels, proba=proba)
    y = label_columns(labels, proba, classes)
    return estimate(losses.brier(y, proba), draws, bounds=(0, 2), **options)


def mse(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]
) -> Estimate:
    """The mean squared error; `bounds` are those of one squared error."""
    check_draws(draws, labels=labels, pred=pred)
    return estimate(losses.squared(labels, pred), draws, **{"bounds": UNBOUNDED} | options)


def mae(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]
) -> Estimate:
    """The mean absolute error; `bounds` are those of one absolute error."""
    check_draws(draws, labels=labels, pred=pred)
    return estimate(losses.absolute(labels, pred), draws, **{"bounds": UNBOUNDED} | options)


def average(
    loss: Callable[..., ArrayLike],
    labels: Sequence[object] | FloatArray,
    pred: Sequence[object] | FloatArray,
    draws: Draws,
    **options: Unpack[BoundedOptions],
) -> Estimate:
    """The pool mean of a loss of your own: `loss(labels, pred)` gives one number an item.

    `bounds` are the least and the largest loss. If the losses are at hand already,
    `levelled.estimate(losses, draws)` does the same.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> too_low = lambda labels, pred: np.maximum(np.subtract(labels, pred), 0)
    >>> average(too_low, [3.0, 2.0, 5.0, 1.0], [2.0, 2.5, 5.0, 1.0], draws).value
    0.25
    """
    check_draws(draws, labels=labels, pred=pred)
    values = floats("The loss", loss(labels, pred))
    if values.shape != (len(draws),):
        raise InputError(
            f"The loss must give one number a draw, {len(draws)} in all; it gave an array of "
            f"shape {values.shape}."
        )
    return estimate(values, draws, **options)


def complement(share: Estimate) -> Estimate:
    """One minus an estimated share."""
    return scaled(share, -1.0, 1.0)


def label_columns(
    labels: ArrayLike, proba: ArrayLike, classes: Sequence[Class] | None
) -> ArrayLike:
    """Labels as columns of `proba`."""
    if classes is None:
        return labels
    if np.shape(proba)[-1:] != (len(classes),):
        raise InputError(
            f"proba must have one column for each of the {len(classes)} classes; its shape is "
            f"{np.shape(proba)}."
        )
    return class_numbers("labels", labels, classes)
