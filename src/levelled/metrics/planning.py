"""The number of labels that a wanted width will take, from the predictions alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice
from levelled.errors import InputError
from levelled.estimators.intervals.fixed import cp_safe, t_quantile
from levelled.estimators.moments import Moments
from levelled.losses import Normal
from levelled.metrics.named import PLAIN, parse_metric
from levelled.proposals import mixture, proportional, uniform
from levelled.scores import expected_loss, root_mean_squared_loss

__all__ = ["Plan", "plan"]

_LOSSES = {name: metric.loss for name, metric in PLAIN.items() if metric.loss is not None}

WidthOf = Callable[[int, float], float]
"""The width of an interval after M labels whose estimate has variance V."""

_GROUPS = 2000
"""Items of about the same weight are taken together: the curve does not need each of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of labels needed under the default proposal, and drawn uniformly."""

    metric: str
    width: float
    level: float
    pool_size: int
    expected: float
    """The metric, if the predicted probabilities are right."""
    labels: int
    labels_uniform: int
    floor: float
    """The share of the draws that the default proposal makes uniformly."""

    def __str__(self) -> str:
        return (
            f"{self._count(self.labels)} drawn by the root mean squared loss with a floor of "
            f"{self.floor:g}, or {self._count(self.labels_uniform)} drawn uniformly, give the "
            f"{self.metric} an interval {self.width:g} wide at {self.level:g} when it is read "
            f"once, at the end; in a campaign, which may be looked at as often as you like, it is "
            f"6% wider. "
            f"This assumes that the probabilities are right, so that the {self.metric} is "
            f"{self.expected:.4g}; if they are overconfident, it takes more"
        )

    def _count(self, labels: int) -> str:
        return f"all {labels} labels" if labels == self.pool_size else f"{labels} labels"


def plan(
    pred: ArrayLike,
    width: float,
    metric: str = "error",
    *,
    label: ArrayLike | Normal | None = None,
    cap: float | None = None,
    level: float = 0.95,
    floor: float = 0.5,
) -> Plan:
    """The number of labels until the interval, from its low to its high end, is `width` wide.

    `pred` are the model's predictions for the pool: probabilities [N, C] for the metrics error,
    accuracy, log_loss and brier, numbers [N] for mse and mae. `label` is a distribution of the
    true label, as in `levelled.scores.expected_loss`; without it the model's own probabilities
    are used. `cap` bounds the log loss, as log_loss:CAP does. For draws with frozen weights w
    and E[L^2] of each item, the variance of R_LURE is a sum over the draws, in which an item is
    still in the pool after a time t of the race with chance exp(-w t):

        V = ((N - M) / M)^2 sum_m d_m^2 (sum_left E[L^2] / (N^2 q_m) - (sum_left E[L] / N)^2)

    and the width is that of the interval `estimate` will choose. Where nothing less than the
    whole pool will do, the plan says so.

    >>> proba = np.tile([[0.99, 0.01], [0.7, 0.3], [0.98, 0.02], [0.999, 0.001]], (500, 1))
    >>> needed = plan(proba, width=0.05)
    >>> needed.labels < needed.labels_uniform < 2000
    True
    """
    width = between("width", width, 0, np.inf, open_=True)
    level = between("level", level, 0, 1, open_=True)
    name = choice("metric", str(metric).partition(":")[0], list(_LOSSES))
    loss, parsed = _LOSSES[name], parse_metric(metric)
    cap = parsed.cap if cap is None else cap
    mean = expected_loss(pred, label, loss=loss, cap=cap)
    root = root_mean_squared_loss(pred, label, loss=loss, cap=cap)
    N, risk = len(mean), float(mean.mean()) if len(mean) else 0.0
    if N < 2 or risk <= 0:
        raise InputError(
            f"Nothing can be planned for {N} items whose expected loss is {risk:g}. Give two items "
            f"or more, and as label a distribution that allows for mistakes."
        )
    proposals = mixture(proportional(root, allow_zero=True), floor), uniform(N)
    labels, labels_uniform = (
        _fewest(
            _variances(mean, root**2, q),
            _cp_safe_width(mean, q, level) if loss == "zero_one" else _log_t_width(risk, level),
            width,
        )
        for q in proposals
    )
    expected = 1 - risk if parsed.complemented else risk
    return Plan(name, width, level, N, expected, labels, labels_uniform, float(floor))


def _variances(mean: FloatArray, square: FloatArray, weights: FloatArray) -> FloatArray:
    """The variance of R_LURE after 1, ..., N - 1 draws in proportion to the weights."""
    N = len(weights)
    order = np.argsort(weights)
    starts = np.unique(np.linspace(0, N, min(N, _GROUPS), endpoint=False).astype(np.int64))
    count = np.diff(np.append(starts, N))
    w, L, ratio = (
        np.add.reduceat(values[order], starts) for values in (weights, mean, square / weights)
    )
    w = w / count
    times = np.append(0.0, np.geomspace(1e-4 / w.max(), 40 / w.min(), 400))
    left = np.exp(-np.outer(times, w))
    drawn = (count * (1 - left)).sum(axis=1)
    step = (left @ ratio) * (left @ (count * w)) - (left @ L) ** 2
    m = np.arange(1.0, N)
    each = np.maximum(np.interp(m - 1, drawn, step), 0) / N**2
    d = N / ((N - m) * (N - m + 1))
    return ((N - m) / m) ** 2 * np.cumsum(d**2 * each)


def _fewest(variances: FloatArray, width_of: WidthOf, width: float) -> int:
    """The smallest number of draws whose interval is narrow enough, by halving; at most all."""
    few, enough = 1, len(variances) + 1
    while enough - few > 1:
        M = (few + enough) // 2
        if width_of(M, float(variances[M - 1])) <= width:
            enough = M
        else:
            few = M
    return enough


def _cp_safe_width(chance: FloatArray, q: FloatArray, level: float) -> WidthOf:
    """The width of `cp_safe` for a typical sample: every quantile of the weights, once.

    `chance` is that of an error. The degrees of freedom are those of the fourth moment of one
    draw.
    """
    N, risk = len(q), float(chance.mean())
    powers = [float(np.sum(chance / (N * q) ** k) / N) for k in range(4)]
    square = powers[1] - risk**2
    fourth = powers[3] - 4 * risk * powers[2] + 6 * risk**2 * powers[1] - 3 * risk**4
    order = np.argsort(q)
    reached = np.cumsum(q[order])

    def width(M: int, variance: float) -> float:
        quantiles = reached[-1] * (np.arange(M) + 0.5) / M
        sample = order[np.searchsorted(reached, quantiles)]
        errors = np.diff(np.floor(np.append(0.0, np.cumsum(chance[sample])) + 0.5))
        sample_moments = Moments(
            value=np.asarray(risk),
            variance=np.asarray(variance),
            df=np.clip(2 * M * square**2 / fourth - 1, 1, max(M - 1, 1)),
            total=np.asarray(M * risk),
            budget=M,
            pool_size=N,
            exact=True,
        )
        low, high = cp_safe(sample_moments, errors, 1 / (N * q[sample]), level)
        return float(high - low)

    return width


def _log_t_width(risk: float, level: float) -> WidthOf:
    """The width of `log_t`, with as many degrees of freedom as there are labels."""

    def width(M: int, variance: float) -> float:
        t = float(t_quantile(np.asarray(max(M - 1.0, 1.0)), (1 + level) / 2))
        return float(2 * risk * np.sinh(min(t * np.sqrt(variance) / risk, 700.0)))

    return width
