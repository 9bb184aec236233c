"""Precision, recall, specificity and F of one class, or of each class in turn.

A metric of a class is a ratio of sums over the pool. With y = 1 where the label is that class
and p = 1 where the prediction is:

    precision      y p / p
    recall         y p / y
    specificity    (1 - y) (1 - p) / (1 - y)
    f1             2 y p / (y + p)
    f_beta         (1 + beta^2) y p / (beta^2 y + p)

All take the options of `ClassOptions`. Before the class has been seen a metric is undefined: its
value is None.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, between, choice, same_length
from levelled.draws import Draws, check_draws, check_pool_column
from levelled.errors import InputError
from levelled.estimators.record import Estimate
from levelled.labels import (
    Class,
    check_same_kind,
    class_names,
    class_numbers,
    list_names,
    refuse_fractions,
)
from levelled.metrics.ratio import Look, Pairs, ratio_estimate

ClassMetric = Literal["precision", "recall", "specificity", "f1", "f_beta"]

_NEEDED = {
    "precision": "prediction {!r}",
    "recall": "label {!r}",
    "specificity": "label other than {!r}",
    "f1": "label or prediction {!r}",
    "f_beta": "label or prediction {!r}",
}
"""An item that must have been seen for the ratio of a class to be defined."""


class ClassOptions(TypedDict, total=False):
    """The options of every metric of classes."""

    classes: Sequence[Class] | None
    """All classes; without it those that labels or predictions have."""
    pool_pred: ArrayLike | None
    """The predictions of the whole pool. They tell how many items of a prediction are still
    unlabelled, which narrows what is possible; a precision is exact once all are labelled."""
    level: float
    """The coverage of the interval, 0.95 unless given."""
    interval: str
    """One of auto (the default), wilson, betting and none."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassSample(Look):
    """Labels and predictions of drawn items as positions in `classes`, checked once."""

    classes: tuple[Class, ...]
    declared: bool
    """The classes were given, not only seen."""
    label: IntArray
    pred: IntArray
    pool: IntArray | None
    """The predictions of the whole pool, where they are known."""

    @classmethod
    def of(
        cls,
        labels: ArrayLike,
        pred: ArrayLike,
        draws: Draws,
        *,
        classes: Sequence[Class] | None = None,
        pool_pred: ArrayLike | None = None,
        level: float = 0.95,
        interval: str = "auto",
    ) -> "ClassSample":
        """Check the arguments that all metrics of classes share."""
        check_draws(draws, labels=labels, pred=pred)
        columns = {"labels": class_names("labels", labels), "pred": class_names("pred", pred)}
        same_length(**columns, draws=draws.index)
        if pool_pred is not None:
            columns["pool_pred"] = class_names("pool_pred", pool_pred)
        check_same_kind(**columns)
        refuse_fractions(**columns)
        names = _distinct(columns, classes)
        codes = {name: class_numbers(name, values, names) for name, values in columns.items()}
        pool, declared = codes.get("pool_pred"), classes is not None
        if pool is not None:
            check_pool_column("pred", columns["pred"], columns["pool_pred"], draws)
        return cls(draws, level, interval, names, declared, codes["labels"], codes["pred"], pool)

    @property
    def n_left(self) -> int:
        """The number of items without a label."""
        return self.draws.pool_size - len(self.draws)

    def number_of(self, name: Class) -> int:
        """The position of a class, or -1 for one that may exist but has not been seen.

        A class that is neither predicted in the whole pool nor among the labels is taken for a
        misspelling, unless `classes` declares it.
        """
        if name in self.classes:
            return self.classes.index(name)
        other_kind = any(isinstance(name, str) != isinstance(one, str) for one in self.classes)
        if self.declared or other_kind or self.pool is not None:
            near = difflib.get_close_matches(str(name), map(str, self.classes), n=1)
            hint = f" Is {near[0]!r} meant?" if near else ""
            raise InputError(
                f"{name!r} is none of the classes, which are {list_names(self.classes)}.{hint} "
                f"Correct the spelling, or declare it in classes."
            )
        return -1


def precision(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items predicted `positive`, the share that are.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> precision(labels, pred, draws, positive="spam").value
    0.5
    """
    return _of_class("precision", ClassSample.of(labels, pred, draws, **options), positive)


def recall(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items that are `positive`, the share that were predicted so.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> recall(["ham"] * 4, ["ham"] * 4, draws, positive="spam").warnings
    ("no label 'spam' seen yet: undefined so far, between 0 and 1",)
    """
    return _of_class("recall", ClassSample.of(labels, pred, draws, **options), positive)


def specificity(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items that are not `positive`, the share that were not predicted so either."""
    return _of_class("specificity", ClassSample.of(labels, pred, draws, **options), positive)


def f1(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The harmonic mean of precision and recall.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> f1(labels, pred, draws, positive="spam").value
    0.5
    """
    return _of_class("f1", ClassSample.of(labels, pred, draws, **options), positive)


def f_beta(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    beta: float,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The weighted harmonic mean in which recall counts `beta` times as much as precision."""
    return _of_class("f_beta", ClassSample.of(labels, pred, draws, **options), positive, beta)


def per_class(
    metric: ClassMetric,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    beta: float = 1.0,
    simultaneous: bool = False,
    **options: Unpack[ClassOptions],
) -> dict[Class, Estimate]:
    """The metric of each class in turn as the positive one.

    With `simultaneous` all intervals hold at once with probability `level`: each is given the
    level 1 - (1 - level) / K.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> recalls = per_class("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws)
    >>> {name: est.value for name, est in recalls.items()}
    {'a': 1.0, 'b': 0.0, 'c': 0.5}
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    if simultaneous:
        sample = replace(sample, level=1 - (1 - sample.level) / len(sample.classes))
    return {name: _of_class(metric, sample, name, beta) for name in sample.classes}


def class_pairs(
    metric: ClassMetric, sample: ClassSample, positive: Class, beta: float = 1.0
) -> Pairs:
    """Numerators and denominators of the metric with `positive` as the positive class."""
    choice("metric", metric, get_args(ClassMetric))
    between("beta", beta, 0, 1e6, open_=True)
    number = sample.number_of(positive)
    y, p = indicator(sample.label, number), indicator(sample.pred, number)
    predicted = None if sample.pool is None else int(np.sum(sample.pool == number))
    return pairs_of(metric, positive, y, p, sample.draws.pool_size, predicted, beta)


def pairs_of(
    metric: ClassMetric,
    positive: Class,
    y: FloatArray,
    p: FloatArray,
    pool_size: int,
    predicted: int | None,
    beta: float = 1.0,
) -> Pairs:
    """The pairs of drawn items with the label (y = 1) or the prediction (p = 1) of a class.

    `predicted` is the number of items in the pool that are predicted to be of the class.
    """
    A, D = terms(metric, y, p, beta)
    left, what = pool_size - len(y), _NEEDED[metric].format(positive)
    if predicted is None:
        return Pairs(A, D, [(left, outcomes(metric, (0.0, 1.0), beta))], what)
    unlabelled = predicted - int(p.sum())
    unseen = [
        (unlabelled, outcomes(metric, (1.0,), beta)),
        (left - unlabelled, outcomes(metric, (0.0,), beta)),
    ]
    share = predicted / pool_size if metric == "precision" and predicted else None
    return Pairs(A, D, unseen, what, share)


def terms(
    metric: ClassMetric, y: FloatArray, p: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """The terms that each item adds to the numerator and to the denominator."""
    if metric == "precision":
        return y * p, p
    if metric == "recall":
        return y * p, y
    if metric == "specificity":
        return (1 - y) * (1 - p), 1 - y
    square = beta**2 if metric == "f_beta" else 1.0
    return (1 + square) * y * p, square * y + p


def outcomes(
    metric: ClassMetric, predictions: tuple[float, ...], beta: float
) -> list[tuple[float, float]]:
    """The pairs (A, D) that an item with one of these predictions may have."""
    pairs = []
    for p in predictions:
        A, D = terms(metric, np.array([0.0, 1.0]), np.full(2, p), beta)
        pairs += list(zip(A.tolist(), D.tolist(), strict=True))
    return pairs


def indicator(numbers: IntArray, number: int) -> FloatArray:
    """1 where the class is this one, else 0."""
    return (numbers == number).astype(np.float64)


def _of_class(
    metric: ClassMetric, sample: ClassSample, positive: Class, beta: float = 1.0
) -> Estimate:
    return ratio_estimate(class_pairs(metric, sample, positive, beta), sample)


def _distinct(
    columns: dict[str, NDArray[Any]], classes: Sequence[Class] | None
) -> tuple[Class, ...]:
    """The declared classes, refusing repeats, or else those that the columns hold."""
    if classes is None:
        return tuple(sorted({one for column in columns.values() for one in column.tolist()}))
    names = tuple(class_names("classes", classes).tolist())
    if len(set(names)) != len(names) or not names:
        raise InputError(
            f"classes must be distinct names, one or more; they are {list_names(names)}."
        )
    return names
