"""Averages of a metric over the classes: macro, micro, and balanced accuracy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import choice
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.record import Estimate
from levelled.labels import Class, list_names
from levelled.metrics.classification import (
    ClassMetric,
    ClassOptions,
    ClassSample,
    class_pairs,
    terms,
)
from levelled.metrics.linearised import draws_ratio, mean_limits, mean_of_ratios
from levelled.metrics.pool_averages import complement
from levelled.metrics.ratio import (
    Limits,
    Pairs,
    Unseen,
    make_estimate,
    ratio_estimate,
    translate_fixed,
    undefined_estimate,
    widen_for_excluded,
)


def macro(
    metric: ClassMetric,
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    over: Sequence[Class] | None = None,
    beta: float = 1.0,
    **options: Unpack[ClassOptions],
) -> Estimate:
    """The plain mean of the metric of each class, rare ones counting as much as common ones.

    `over` names the classes to average, all if it is not given. While one of them has not been
    seen the mean is undefined: wait for it, or leave it out.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> macro("recall", ["a", "b", "c", "c"], ["a", "c", "c", "b"], draws).value
    0.5
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    chosen = _choose(sample, over)
    return _mean([class_pairs(metric, sample, name, beta) for name in chosen], sample)


def balanced_accuracy(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[ClassOptions]
) -> Estimate:
    """The mean recall of the classes: of those declared, or else of those that labels have.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> balanced_accuracy(["a", "b", "b", "b"], ["a", "b", "a", "b"], draws).value
    0.8333333333333333
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    seen = [sample.classes[number] for number in np.unique(sample.label)]
    over = sample.classes if sample.declared else tuple(seen)
    mean = _mean([class_pairs("recall", sample, name) for name in over], sample)
    missing = [name for name in sample.classes if name not in over]
    if missing and sample.n_left:
        note = f"predicted but not among the labels yet, so left out: {list_names(missing)}"
        mean = replace(mean, warnings=(*mean.warnings, note))
    return mean


def micro(
    metric: ClassMetric,
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
    Use `over` to leave out a class that means "nothing here". "wilson" and "cp_safe" both ask for
    the interval of a number of labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["a", "b", "none", "none"], ["a", "none", "none", "b"]
    >>> micro("f1", labels, pred, draws, over=["a", "b"]).value
    0.5
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    chosen = _choose(sample, over)
    parts = [class_pairs(metric, sample, name, beta) for name in chosen]
    if set(chosen) == set(sample.classes) and metric != "specificity":
        wrong = (sample.label != sample.pred).astype(np.float64)
        interval = translate_fixed("cp_safe", sample.interval)
        share = estimate(wrong, draws, level=sample.level, interval=interval, bounds=(0, 1))
        return complement(share)
    together = Pairs(
        np.sum([part.numerator for part in parts], axis=0),
        np.sum([part.denominator for part in parts], axis=0),
        _unseen(metric, sample, chosen, beta),
        "label or prediction of these classes",
    )
    interval = translate_fixed("wilson", sample.interval)
    return ratio_estimate(together, replace(sample, interval=interval))


def _mean(parts: Sequence[Pairs], sample: ClassSample) -> Estimate:
    """The plain mean of ratios; undefined while one of them is."""
    choice("interval", sample.interval, ("auto", "wilson", "none"))
    low, high = np.mean([part.possible for part in parts], axis=0).tolist()
    missing = [part for part in parts if not part.denominator.any()]
    if missing:
        first = missing[0]
        return undefined_estimate(sample, (low, high), first.what, final=first.settled)
    ratios = [draws_ratio(part.numerator, part.denominator, sample.draws) for part in parts]
    value, joint = mean_of_ratios(ratios, sample.draws.probability)

    def asymptotic() -> Limits:
        limits = mean_limits(ratios, value, joint, sample.level)
        rarest = min(float(part.denominator) for part in ratios)
        most = max(part.most for part in parts)
        return widen_for_excluded(limits, rarest, most, sample.draws)

    units, methods = (
        np.any([part.denominator > 0 for part in parts], axis=0),
        {"wilson": asymptotic},
    )
    return make_estimate(sample, value, joint.variance, units, (low, high), methods)


def _choose(sample: ClassSample, over: Sequence[Class] | None) -> Sequence[Class]:
    if over is None:
        return sample.classes
    if not len(over) or len(set(over)) < len(over):
        raise InputError(f"over must name one class or more, each once; it is {list_names(over)}.")
    return over


def _unseen(
    metric: ClassMetric, sample: ClassSample, chosen: Sequence[Class], beta: float
) -> Unseen:
    """The pairs that an item without a label may add to the counts of the chosen classes."""
    K = len(chosen)

    def pair(*cells: tuple[float, float]) -> tuple[float, float]:
        cells = (*cells, *[(0.0, 0.0)] * (K - len(cells)))
        y, p = np.array(cells).T
        A, D = terms(metric, y, p, beta)
        return float(A.sum()), float(D.sum())

    predicted = [pair((1, 1)), pair((0, 1))] + ([pair((1, 0), (0, 1))] if K > 1 else [])
    other = [pair((1, 0)), pair()]
    if sample.pool is None:
        return [(sample.n_left, predicted + other)]
    numbers = [sample.number_of(name) for name in chosen]
    unlabelled = int(np.isin(sample.pool, numbers).sum() - np.isin(sample.pred, numbers).sum())
    return [(unlabelled, predicted), (sample.n_left - unlabelled, other)]
