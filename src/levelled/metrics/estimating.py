"""The estimate of any registered metric from labels of drawn items."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import estimate as estimate_mean
from levelled.estimators.intervals.limits import UNBOUNDED
from levelled.estimators.record import Estimate
from levelled.labels import ItemValues, class_texts
from levelled.metrics.controlled import Columns, FigureForm, controlled_estimate
from levelled.metrics.named import Metric, parse_metric
from levelled.metrics.ratios import Limits, Look, figure_estimate
from levelled.predictions import PoolPredictions

Known = tuple[ItemValues, ItemValues | None]
"""The labels and the predictions of items that are known without a draw."""


def estimate(
    metric: str | Metric,
    labels: ItemValues,
    draws: Draws,
    *,
    predictions: ArrayLike | None = None,
    pool: PoolPredictions | ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    known: Known | None = None,
    columns: Columns | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The estimate of a metric by its name, as a campaign makes it.

    Parameters
    ----------
    metric : A name such as "f1:spam", or what `figure` returns for it.
    labels : The label of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    predictions : The prediction of each drawn item, or the probabilities [M, C] of the classes;
        without them those of `pool`.
    pool : The same of every item of the pool. It narrows what is possible.
    classes : The names of the columns of probabilities.
    known : Labels and predictions of items that belong to the figure but could not be drawn,
        because their labels were known.
    columns : What a predictor of the label expected of the columns, as their control.
    level : The confidence of the interval.
    interval : "auto", "betting", "none", or another one that the metric has.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, pred = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> estimate("recall:spam", labels, draws, predictions=pred).value
    0.5
    """
    check_draws(draws, labels=labels)
    if predictions is not None:
        check_draws(draws, predictions=predictions)
    found = metric if isinstance(metric, Metric) else parse_metric(metric, classes=classes)
    every = _as_pool(pool, draws.pool_size, classes)
    names = classes if every is None or every.classes is None else every.classes
    pred, proba = _drawn(found, predictions, every, draws)
    told = found.labels([*labels], names)
    counts = None
    if every is not None and found.needs == "pred":
        counts = Counter(class_texts([*(every.of(np.arange(draws.pool_size)) or ())]))
        found = found.of_pool(counts, names)
    elif found.kind == "ratio" and not found.complemented and found.needs == "pred":
        found = found.of_pool(Counter(class_texts([*told, *pred])), names)
    look = Look(draws, level, interval)
    extra = _known_sums(found, known)
    if found.kind == "average":
        losses = found.values(told, pred, proba, names).losses
        if columns is None:
            bounds = found.bounds or (None if found.signed else UNBOUNDED)
            est = estimate_mean(losses, draws, level=level, interval=interval, bounds=bounds)
        else:
            est = _controlled(found, columns, look, found.possible, np.ones(1), "label")
        N, n = draws.pool_size, 0 if known is None else len(known[0])
        if n:
            share = est.scaled(N / (N + n), float(extra[0, 0]) / (N + n))
            est = replace(share, pool_size=N + n)
        return found.from_losses(est)
    pairs = [
        replace(part.pairs(told, pred, draws.pool_size, counts), known=(float(A), float(D)))
        for part, (A, D) in zip(found.parts, extra.T, strict=True)
    ]
    if columns is not None:
        low, high = np.mean([one.possible for one in pairs], axis=0).tolist()
        means = np.array([one.denominator_mean or np.nan for one in pairs])
        est = _controlled(found, columns, look, (low, high), means, pairs[0].what)
    else:
        est = figure_estimate(pairs, look)
    return found.from_losses(est)


def _controlled(
    metric: Metric, columns: Columns, look: Look, possible: Limits, means: FloatArray, what: str
) -> Estimate:
    """The estimate with the controls of a predictor of the label."""
    P = len(metric.parts)
    bounds = metric.possible if metric.kind == "average" else (0.0, 1.0)
    form = FigureForm(np.full(P, 1 / P), means, bounds, counts_errors=bool(np.isfinite(bounds[1])))
    units = np.asarray((columns.values[P:] > 0).any(axis=0))
    return controlled_estimate(columns, form, look, possible, units, what)


def _as_pool(
    pool: PoolPredictions | ArrayLike | None, size: int, classes: Sequence[str] | None
) -> PoolPredictions | None:
    if pool is None or isinstance(pool, PoolPredictions):
        return pool
    values = np.asarray(pool)
    if len(values) != size:
        raise InputError(f"pool has {len(values)} items, and the draws are of {size}.")
    if values.ndim == 2:
        return PoolPredictions(size, None if classes is None else tuple(classes), proba=values)
    return PoolPredictions(size, None if classes is None else tuple(classes), pred=values)


def _drawn(
    metric: Metric, predictions: ArrayLike | None, pool: PoolPredictions | None, draws: Draws
) -> tuple[ItemValues, ArrayLike | None]:
    """The predictions and the probabilities of the drawn items, as far as the metric needs them."""
    if metric.needs == "label":
        return (), None
    if predictions is None and pool is not None:
        proba = None if pool.proba is None else np.asarray(pool.proba)[draws.index]
        return pool.of(draws.index) or (), proba
    if predictions is None:
        raise InputError(f"{metric.name} needs predictions= of the drawn items, or pool=.")
    check_draws(draws, predictions=predictions)
    values = np.asarray(predictions)
    return ((), values) if metric.needs == "proba" else (values, None)


def _known_sums(metric: Metric, known: Known | None) -> FloatArray:
    """The sums of A and D [2, P] over items that are known without a draw."""
    P = len(metric.parts)
    if known is None:
        return np.zeros((2, P))
    values = metric.values(*known)
    below = np.ones_like(values.losses) if values.denominators is None else values.denominators
    return np.stack([np.atleast_2d(one).sum(axis=1) for one in (values.losses, below)])
