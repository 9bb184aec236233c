"""Metrics of classes: of one class, of each in turn, averaged over them, and all cells at once.

A metric of a class is a ratio of sums over the pool. With y = 1 where the label is that class
and p = 1 where the prediction is:

    precision      y p / p
    recall         y p / y
    specificity    (1 - y) (1 - p) / (1 - y)
    f1             2 y p / (y + p)
    f_beta         (1 + beta^2) y p / (beta^2 y + p)

Before the class has been seen a metric is undefined: its value is None.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import IntArray, between, choice, same_length
from levelled.draws import Draws, check_draws, check_pool_column
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.record import Estimate, align, footnotes
from levelled.labels import (
    Class,
    check_same_kind,
    class_names,
    class_numbers,
    list_names,
    refuse_fractions,
)
from levelled.metrics.named import RATIOS
from levelled.metrics.ratios import (
    Look,
    Pairs,
    Unseen,
    figure_estimate,
    translate_fixed,
    undefined_estimate,
)


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
        if classes is None:
            names = tuple(sorted({one for column in columns.values() for one in column.tolist()}))
        else:
            names = tuple(class_names("classes", classes).tolist())
        if classes is not None and (len(set(names)) != len(names) or not names):
            raise InputError(
                f"classes must be distinct names, one or more; they are {list_names(names)}."
            )
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

    def pairs(self, metric: str, positive: Class, beta: float = 1.0) -> Pairs:
        """Numerators and denominators of the metric with `positive` as the positive class."""
        choice("metric", metric, tuple(RATIOS))
        between("beta", beta, 0, 1e6, open_=True)
        number, N = self.number_of(positive), self.draws.pool_size
        y, p = ((column == number).astype(np.float64) for column in (self.label, self.pred))
        predicted = None if self.pool is None else int(np.sum(self.pool == number))
        return RATIOS[metric].pairs(positive, y, p, N, predicted, beta)

    def estimate(self, metric: str, over: Sequence[Class], beta: float = 1.0) -> Estimate:
        """The metric of a class, or the plain mean of it over several."""
        return figure_estimate([self.pairs(metric, name, beta) for name in over], self)


def precision(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items predicted `positive`, the share that are.

    Parameters
    ----------
    labels, pred : The label and the prediction of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    positive : The class that is counted.
    options : The options of `ClassOptions`: `classes`, `pool_pred`, `level` and `interval`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> precision(labels, pred, draws, positive="spam").value
    0.5
    """
    return ClassSample.of(labels, pred, draws, **options).estimate("precision", [positive])


def recall(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items that are `positive`, the share that were predicted so.

    Parameters
    ----------
    labels, pred, draws, positive, options : As for `precision`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> recall(["ham"] * 4, ["ham"] * 4, draws, positive="spam").warnings
    ("no label 'spam' seen yet: undefined so far, between 0 and 1",)
    """
    return ClassSample.of(labels, pred, draws, **options).estimate("recall", [positive])


def specificity(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """Of the items that are not `positive`, the share that were not predicted so either.

    Parameters
    ----------
    labels, pred, draws, positive, options : As for `precision`.
    """
    return ClassSample.of(labels, pred, draws, **options).estimate("specificity", [positive])


def f1(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The harmonic mean of precision and recall.

    Parameters
    ----------
    labels, pred, draws, positive, options : As for `precision`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> f1(labels, pred, draws, positive="spam").value
    0.5
    """
    return ClassSample.of(labels, pred, draws, **options).estimate("f1", [positive])


def f_beta(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    positive: Class,
    beta: float,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The weighted harmonic mean in which recall counts `beta` times as much as precision.

    Parameters
    ----------
    labels, pred, draws, positive, options : As for `precision`.
    beta : How many times as much as precision recall counts.
    """
    return ClassSample.of(labels, pred, draws, **options).estimate("f_beta", [positive], beta)


def per_class(
    metric: str,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    beta: float = 1.0,
    simultaneous: bool = False,
    **options: Unpack[ClassOptions],
) -> dict[Class, Estimate]:
    """The metric of each class in turn as the positive one.

    Parameters
    ----------
    metric : "precision", "recall", "specificity", "f1" or "f_beta".
    labels, pred, draws, options : As for `precision`.
    beta : That of "f_beta".
    simultaneous : All K intervals hold at once: each is given the level 1 - (1 - level) / K.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> recalls = per_class("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws)
    >>> {name: est.value for name, est in recalls.items()}
    {'a': 1.0, 'b': 0.0, 'c': 0.5}
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    if simultaneous:
        sample = replace(sample, level=1 - (1 - sample.level) / len(sample.classes))
    return {name: sample.estimate(metric, [name], beta) for name in sample.classes}


def macro(
    metric: str,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    over: Sequence[Class] | None = None,
    beta: float = 1.0,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The plain mean of the metric of each class, rare ones counting as much as common ones.

    While one of them has not been seen the mean is undefined: wait for it, or leave it out.

    Parameters
    ----------
    metric, labels, pred, draws, beta : As for `per_class`.
    over : The classes to average, all if it is not given.
    options : As for `precision`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> macro("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws).value
    0.5
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    return sample.estimate(metric, _choose(sample, over), beta)


def balanced_accuracy(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[ClassOptions]
) -> Estimate:
    """The mean recall of the classes: of those declared, or else of those that labels have.

    Parameters
    ----------
    labels, pred, draws, options : As for `precision`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> balanced_accuracy(["a", "b", "b", "b"], ["a", "b", "a", "b"], draws).value
    0.8333333333333333
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    seen = [sample.classes[number] for number in np.unique(sample.label)]
    over = sample.classes if sample.declared else tuple(seen)
    mean = sample.estimate("recall", over)
    missing = [name for name in sample.classes if name not in over]
    if missing and sample.n_left:
        note = f"predicted but not among the labels yet, so left out: {list_names(missing)}"
        mean = replace(mean, warnings=(*mean.warnings, note))
    return mean


def micro(
    metric: str,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    over: Sequence[Class] | None = None,
    beta: float = 1.0,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The metric of all classes' counts put together.

    Over all classes micro precision, recall and F are the accuracy, and are computed as such.

    Parameters
    ----------
    metric, labels, pred, draws, beta : As for `per_class`.
    over : The classes that count, all if it is not given; leave out one that means "nothing here".
    options : As for `precision`; "wilson" and "cp_safe" both ask for the interval of a number of
        labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["a", "b", "none", "none"], ["a", "none", "none", "b"]
    >>> micro("f1", labels, pred, draws, over=["a", "b"]).value
    0.5
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    chosen = _choose(sample, over)
    parts = [sample.pairs(metric, name, beta) for name in chosen]
    if set(chosen) == set(sample.classes) and metric != "specificity":
        wrong = (sample.label != sample.pred).astype(np.float64)
        interval = translate_fixed("cp_safe", sample.interval)
        share = estimate(wrong, draws, level=sample.level, interval=interval, bounds=(0, 1))
        return share.scaled(-1.0, 1.0)
    together = Pairs(
        np.sum([part.numerator for part in parts], axis=0),
        np.sum([part.denominator for part in parts], axis=0),
        _unseen(metric, sample, chosen, beta),
        "label or prediction of these classes",
    )
    interval = translate_fixed("wilson", sample.interval)
    return figure_estimate([together], replace(sample, interval=interval))


def _choose(sample: ClassSample, over: Sequence[Class] | None) -> Sequence[Class]:
    if over is None:
        return sample.classes
    if not len(over) or len(set(over)) < len(over):
        raise InputError(f"over must name one class or more, each once; it is {list_names(over)}.")
    return over


def _unseen(metric: str, sample: ClassSample, chosen: Sequence[Class], beta: float) -> Unseen:
    """The pairs that an item without a label may add to the counts of the chosen classes."""
    K = len(chosen)

    def pair(*cells: tuple[float, float]) -> tuple[float, float]:
        cells = (*cells, *[(0.0, 0.0)] * (K - len(cells)))
        y, p = np.array(cells).T
        A, D = RATIOS[metric].columns(y, p, beta)
        return float(A.sum()), float(D.sum())

    predicted = [pair((1, 1)), pair((0, 1))] + ([pair((1, 0), (0, 1))] if K > 1 else [])
    other = [pair((1, 0)), pair()]
    if sample.pool is None:
        return [(sample.n_left, predicted + other)]
    numbers = [sample.number_of(name) for name in chosen]
    unlabelled = int(np.isin(sample.pool, numbers).sum() - np.isin(sample.pred, numbers).sum())
    return [(unlabelled, predicted), (sample.n_left - unlabelled, other)]


@dataclass(frozen=True, slots=True)
class Confusion:
    """Shares of the pool by label and prediction; `matrix[label, pred]` is one cell."""

    classes: tuple[Class, ...]
    cells: tuple[tuple[Estimate, ...], ...]
    """A row for each label, a column for each prediction."""

    def __getitem__(self, at: tuple[Class, Class]) -> Estimate:
        label, pred = at
        for name in at:
            if name not in self.classes:
                raise InputError(f"{name!r} is none of the classes {list_names(self.classes)}.")
        return self.cells[self.classes.index(label)][self.classes.index(pred)]

    @property
    def values(self) -> list[list[float | None]]:
        """The estimated shares alone, None where undefined so far."""
        return [[cell.value for cell in row] for row in self.cells]

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a cell, ready for JSON or a data frame."""
        return [
            {"label": label, "pred": pred} | self[label, pred].as_dict()
            for label in self.classes
            for pred in self.classes
        ]

    def __str__(self) -> str:
        header = ["label", *(f"pred {name}" for name in self.classes)]
        rows = [
            [str(name), *(_cell_text(cell) for cell in row)]
            for name, row in zip(self.classes, self.cells, strict=True)
        ]
        notes = footnotes(
            (f"label {label}, pred {pred}", self[label, pred])
            for label in self.classes
            for pred in self.classes
        )
        return f"{align(header, rows)}{notes}"


def confusion(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    simultaneous: bool = False,
    **options: Unpack[ClassOptions],
) -> Confusion:
    """The share of the pool in each cell of label and prediction, with its interval.

    With `pool_pred`, the predictions of the whole pool, the total of each column is known, and
    a cell is that total times the share of the label among those predictions.

    Parameters
    ----------
    labels, pred, draws : As for `precision`.
    simultaneous : All C^2 intervals hold at once: each is given the level 1 - (1 - level) / C^2.
    options : As for `precision`; "wilson" and "cp_safe" both ask for the interval of a number of
        labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> pool_pred = np.array(["b", "a", "b", "b", "a"])
    >>> pred = pool_pred[draws.index]
    >>> confusion(["a", "b", "b", "a"], pred, draws, pool_pred=pool_pred).values
    [[0.2, 0.3], [0.2, 0.3]]
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    fixed = "cp_safe" if sample.pool is None else "wilson"
    sample = replace(
        sample,
        level=1 - (1 - sample.level) / len(sample.classes) ** 2 if simultaneous else sample.level,
        interval=translate_fixed(fixed, sample.interval),
    )
    numbers = range(len(sample.classes))
    cells = tuple(tuple(_cell(sample, label, pred) for pred in numbers) for label in numbers)
    return Confusion(sample.classes, cells)


def _cell(sample: ClassSample, label: int, pred: int) -> Estimate:
    draws, level = sample.draws, sample.level
    is_label, inside = (sample.label == label).astype(np.float64), sample.pred == pred
    if sample.pool is None:
        joint = is_label * inside
        return estimate(joint, draws, level=level, interval=sample.interval, bounds=(0, 1))
    pool_size = int(np.sum(sample.pool == pred))
    if not pool_size:
        nothing = undefined_estimate(sample, (0.0, 0.0), "")
        return replace(nothing, value=0.0, stderr=0.0, interval="point", warnings=())
    what = f"prediction {sample.classes[pred]!r}"
    pairs = Pairs.over_part(is_label, inside, pool_size, draws, what)
    return figure_estimate([pairs], sample).scaled(pool_size / draws.pool_size)


def _cell_text(cell: Estimate) -> str:
    value = "?" if cell.value is None else f"{cell.value:.3g}"
    return f"{value} [{cell.low:.2g}, {cell.high:.2g}]"
