"""Precision, recall and their relatives: for one class, for each class, and averaged.

A metric of a class is a ratio of sums over the pool. With y = 1 where the label is that class
and p = 1 where the prediction is:

    precision      y p / p
    recall         y p / y
    specificity    (1 - y) (1 - p) / (1 - y)
    f1             2 y p / (y + p)
    f_beta         (1 + beta^2) y p / (beta^2 y + p)

`pool_pred`, the predictions for the whole pool, tells exactly how many items of a prediction are
still unlabelled, which narrows what is possible and makes a precision exact once all of them
are labelled. Before the class has been seen a metric is undefined: its value is None.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice
from levelled.draws import Draws
from levelled.estimators.record import Estimate
from levelled.metrics.classes import Answers, Class, indicator
from levelled.metrics.ratio import Pairs, ratio_estimate

__all__ = [
    "NEEDED",
    "Metric",
    "class_pairs",
    "f1",
    "f_beta",
    "outcomes",
    "per_class",
    "precision",
    "recall",
    "specificity",
    "terms",
]

Metric = Literal["precision", "recall", "specificity", "f1", "f_beta"]

NEEDED = {
    "precision": "prediction {!r}",
    "recall": "label {!r}",
    "specificity": "label other than {!r}",
    "f1": "label or prediction {!r}",
    "f_beta": "label or prediction {!r}",
}
"""What must have been seen of a class for the ratio to be defined."""


def precision(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """Of the items predicted `positive`, the share that are.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> precision(labels, pred, draws, positive="spam").value
    0.5
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    return of_class("precision", given, positive, draws, level=level, interval=interval)


def recall(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """Of the items that are `positive`, the share that were predicted so.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> recall(["ham"] * 4, ["ham"] * 4, draws, positive="spam").warnings
    ("no label 'spam' seen yet: undefined so far, between 0 and 1",)
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    return of_class("recall", given, positive, draws, level=level, interval=interval)


def specificity(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """Of the items that are not `positive`, the share that were not predicted so either."""
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    return of_class("specificity", given, positive, draws, level=level, interval=interval)


def f1(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The harmonic mean of precision and recall.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> f1(labels, pred, draws, positive="spam").value
    0.5
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    return of_class("f1", given, positive, draws, level=level, interval=interval)


def f_beta(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    beta: float,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The weighted harmonic mean in which recall counts `beta` times as much as precision."""
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    return of_class("f_beta", given, positive, draws, beta=beta, level=level, interval=interval)


def per_class(
    metric: Metric,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    beta: float = 1.0,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
    simultaneous: bool = False,
) -> dict[Class, Estimate]:
    """The metric of each class in turn as the positive one.

    With `simultaneous` all intervals hold at once with probability `level`: each is given the
    level 1 - (1 - level) / K.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> found = per_class("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws)
    >>> {name: est.value for name, est in found.items()}
    {'a': 1.0, 'b': 0.0, 'c': 0.5}
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    level = between("level", level, 0, 1, open_=True)
    if simultaneous:
        level = 1 - (1 - level) / len(given.classes)
    return {
        name: of_class(metric, given, name, draws, beta=beta, level=level, interval=interval)
        for name in given.classes
    }


def of_class(
    metric: Metric,
    given: Answers,
    positive: Class,
    draws: Draws,
    *,
    level: float,
    interval: str,
    beta: float = 1.0,
) -> Estimate:
    """The metric with `positive` as the positive class."""
    pairs = class_pairs(metric, given, positive, draws, beta)
    return ratio_estimate(pairs, draws, level=level, interval=interval)


def class_pairs(
    metric: Metric, given: Answers, positive: Class, draws: Draws, beta: float
) -> Pairs:
    """Numerators and denominators of the metric with `positive` as the positive class."""
    choice("metric", metric, get_args(Metric))
    between("beta", beta, 0, 1e6, open_=True)
    number = given.number_of(positive)
    A, D = terms(metric, indicator(given.label, number), indicator(given.pred, number), beta)
    left, what = draws.pool_size - len(draws), NEEDED[metric].format(positive)
    if given.pool is None:
        return Pairs(A, D, [(left, outcomes(metric, (0.0, 1.0), beta))], what)
    predicted = int(np.sum(given.pool == number))
    unlabelled = predicted - int(np.sum(given.pred == number))
    unseen = [
        (unlabelled, outcomes(metric, (1.0,), beta)),
        (left - unlabelled, outcomes(metric, (0.0,), beta)),
    ]
    known = predicted / draws.pool_size if metric == "precision" and predicted else None
    return Pairs(A, D, unseen, what, known)


def terms(
    metric: Metric, y: FloatArray, p: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """What an item adds to the numerator and to the denominator."""
    if metric == "precision":
        return y * p, p
    if metric == "recall":
        return y * p, y
    if metric == "specificity":
        return (1 - y) * (1 - p), 1 - y
    square = beta**2 if metric == "f_beta" else 1.0
    return (1 + square) * y * p, square * y + p


def outcomes(
    metric: Metric, predictions: tuple[float, ...], beta: float
) -> list[tuple[float, float]]:
    """The pairs (A, D) that an item with one of these predictions may have."""
    found = []
    for p in predictions:
        A, D = terms(metric, np.array([0.0, 1.0]), np.full(2, p), beta)
        found += list(zip(A.tolist(), D.tolist(), strict=True))
    return found
