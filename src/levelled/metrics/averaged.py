"""Averages of a metric over the classes: macro, micro, and balanced accuracy."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import choice
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.record import Estimate
from levelled.metrics.averages import complement
from levelled.metrics.classes import Answers, Class, shown
from levelled.metrics.classification import Metric, class_pairs, terms
from levelled.metrics.linearised import mean_limits, mean_of_ratios, ratio_moments
from levelled.metrics.ratio import (
    Limits,
    Pairs,
    Unseen,
    checked_level,
    figure,
    fixed_as,
    ratio_estimate,
    undefined,
    with_excluded,
)

__all__ = ["balanced_accuracy", "macro", "micro"]


def macro(
    metric: Metric,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    over: Sequence[Class] | None = None,
    classes: Sequence[Class] | None = None,
    beta: float = 1.0,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The plain mean of the metric of each class, rare ones counting as much as common ones.

    `over` names the classes to average, all if it is not given. While one of them has not been
    seen the mean is undefined: wait for it, or leave it out.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> macro("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws).value
    0.5
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    parts = [class_pairs(metric, given, name, draws, beta) for name in _chosen(given, over)]
    return _mean(parts, draws, level, interval)


def balanced_accuracy(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The mean recall of the classes: of those declared, or else of those that labels have.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> balanced_accuracy(["a", "b", "b", "b"], ["a", "b", "a", "b"], draws).value
    0.8333333333333333
    """
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    seen = [given.classes[number] for number in np.unique(given.label)]
    over = given.classes if given.declared else tuple(seen)
    parts = [class_pairs("recall", given, name, draws, 1.0) for name in over]
    found = _mean(parts, draws, level, interval)
    missing = [name for name in given.classes if name not in over]
    if missing and len(draws) < draws.pool_size:
        told = f"predicted but not among the labels yet, so left out: {shown(missing)}"
        found = replace(found, warnings=(*found.warnings, told))
    return found


def micro(
    metric: Metric,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    over: Sequence[Class] | None = None,
    classes: Sequence[Class] | None = None,
    beta: float = 1.0,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The metric of all classes' counts put together.

    Over all classes micro precision, recall and F are the accuracy, and are computed as such.
    It says more `over` some of them, leaving out the one that means "nothing here". "wilson"
    and "cp_safe" both ask for the interval of a number of labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["a", "b", "none", "none"], ["a", "none", "none", "b"]
    >>> micro("f1", labels, pred, draws, over=["a", "b"]).value
    0.5
    """
    how = fixed_as("wilson", interval)
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    chosen = _chosen(given, over)
    parts = [class_pairs(metric, given, name, draws, beta) for name in chosen]
    if set(chosen) == set(given.classes) and metric != "specificity":
        wrong = (given.label != given.pred).astype(np.float64)
        how = fixed_as("cp_safe", interval)
        return complement(estimate(wrong, draws, level=level, interval=how, bounds=(0, 1)))
    together = Pairs(
        np.sum([part.numerator for part in parts], axis=0),
        np.sum([part.denominator for part in parts], axis=0),
        _unseen(metric, given, chosen, draws, beta),
        "label or prediction of these classes",
    )
    return ratio_estimate(together, draws, level=level, interval=how)


def _mean(parts: Sequence[Pairs], draws: Draws, level: float, interval: str) -> Estimate:
    """The plain mean of ratios; undefined while one of them is."""
    choice("interval", interval, ("auto", "wilson", "none"))
    level = checked_level(level, draws)
    low, high = np.mean([part.possible for part in parts], axis=0).tolist()
    missing = [part for part in parts if not part.denominator.any()]
    if missing:
        first = missing[0]
        return undefined(draws, (low, high), level, first.what, final=first.settled)
    q, N = draws.probability, draws.pool_size
    found = [ratio_moments(part.numerator, part.denominator, q, N) for part in parts]
    value, joint = mean_of_ratios(found, q)

    def asymptotic() -> Limits:
        limits = mean_limits(found, value, joint, level)
        rarest = min(float(part.denominator) for part in found)
        most = max(part.most for part in parts)
        return with_excluded((float(limits[0]), float(limits[1])), rarest, most, draws)

    return figure(
        float(value),
        float(joint.variance),
        draws,
        units=np.any([part.denominator > 0 for part in parts], axis=0),
        possible=(low, high),
        level=level,
        interval=interval,
        methods={"wilson": asymptotic},
    )


def _chosen(given: Answers, over: Sequence[Class] | None) -> Sequence[Class]:
    if over is None:
        return given.classes
    if not len(over) or len(set(over)) < len(over):
        raise InputError(f"over must name one class or more, each once; it is {shown(over)}.")
    return over


def _unseen(
    metric: Metric, given: Answers, chosen: Sequence[Class], draws: Draws, beta: float
) -> Unseen:
    """What an item without a label may add to the counts of the chosen classes together."""
    K = len(chosen)

    def pair(*cells: tuple[float, float]) -> tuple[float, float]:
        cells = (*cells, *[(0.0, 0.0)] * (K - len(cells)))
        y, p = np.array(cells).T
        A, D = terms(metric, y, p, beta)
        return float(A.sum()), float(D.sum())

    predicted = [pair((1, 1)), pair((0, 1))] + ([pair((1, 0), (0, 1))] if K > 1 else [])
    other = [pair((1, 0)), pair()]
    left = draws.pool_size - len(draws)
    if given.pool is None:
        return [(left, predicted + other)]
    numbers = [given.number_of(name) for name in chosen]
    unlabelled = int(np.isin(given.pool, numbers).sum() - np.isin(given.pred, numbers).sum())
    return [(unlabelled, predicted), (left - unlabelled, other)]
