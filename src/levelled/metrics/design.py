"""Labels that a design needs for a wanted width, by what the labels of its items may be.

A model's probabilities say how sure it is, not how often it is right. Networks are mostly too
sure, regularised linear models and forests not sure enough, and trees and naive Bayes give
probabilities near 0 and 1 to whatever they predict. A `Doubt` is a grid of distributions

    p'_c  =  (1 - eps) p_c^b / sum_k p_k^b  +  eps / C

with b below 1 where the model is too sure and above 1 where it is not sure enough; eps is the
share of items of which it knows nothing. Each has a weight: a prior, and the likelihood of the
labels that are there.

A pool is represented by groups of items that are alike. Everything is an expectation over draws
in proportion to frozen weights q, with w = 1 / (N q).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.estimators.intervals.limits import binomial_size, clopper_pearson, t_quantile
from levelled.estimators.moments import Moments
from levelled.labels import class_texts
from levelled.losses import Reals
from levelled.metrics.named import Metric
from levelled.metrics.ratios import RatioMoments, wilson_limits
from levelled.predictions import Categorical, PoolPredictions

LEAST = 1e-6
"""Probabilities below this one are not believed: no pool is large enough to have shown them."""

_POWERS = np.geomspace(0.1, 10.0, 26)
_UNKNOWN = np.array([0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.6])
"""The grid of b and eps: a plan moves by at most 5% with twice as many values of either."""
# The priors, and what half and twice each value do to the likely number of labels, on average over
# four synthetic pools. After 50 labels their likelihood outweighs the priors (study planning).
_TYPICAL_POWER, _POWER_SPREAD = 0.8, 0.6  # +22% and -18%; 0% and -3%
"""b = 1 / T of a temperature T (Guo et al., 2017): 0.4 to 0.8 are usual for networks, 1 to 3 for
other models."""
_TYPICAL_ERROR, _ERROR_SPREAD = 0.08, 1.5  # -5% and +6%; -2% and 0%
_SCALE_SPREAD = 0.5  # of mse: low times 1.9 and 0.8, high times 0.8 and 1.05
_BELIEF_SPREAD = 0.15  # 0% and +4%; the range is 20% narrower and 45% wider


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """A grid of powers b and shares eps, each with the logarithm of its weight."""

    power: FloatArray
    unknown: FloatArray
    log_weight: FloatArray

    @classmethod
    def prior(cls) -> "Doubt":
        """The grid before anything is known of the pool."""
        power, unknown = (grid.ravel() for grid in np.meshgrid(_POWERS, _UNKNOWN))
        distance = np.log(power / _TYPICAL_POWER) / _POWER_SPREAD
        return cls(power, unknown, _student(distance) - 0.5 * np.log(unknown))

    def __iter__(self) -> Iterator[tuple[float, float]]:
        yield from zip(self.power.tolist(), self.unknown.tolist(), strict=True)

    def typical(self, error: FloatArray) -> "Doubt":
        """The grid weighted by how usual the error rate is that each distribution implies.

        The prior of its logit is Student's t with three degrees of freedom around 8%: most
        models that are evaluated err in 2% to 25% of the cases, and some far less.
        """
        distance = _logit(error) - _logit(np.asarray(_TYPICAL_ERROR))
        return self._times(_student(distance / _ERROR_SPREAD))

    def seen(
        self, log_proba: FloatArray, pred: IntArray, wrong: FloatArray, weight: FloatArray
    ) -> "Doubt":
        """The grid weighted by the likelihood of labels: 1 where the prediction was `wrong`.

        With the weights of the draws the likelihood is that of the whole pool, so that the
        distributions that fit it best are those that fit the pool best.
        """
        own = np.arange(len(pred)), pred
        right = np.clip([flatten(log_proba, *each)[own] for each in self], 1e-12, 1 - 1e-12)
        return self._times(
            np.log1p(-right) @ (weight * wrong) + np.log(right) @ (weight * (1 - wrong))
        )

    def _times(self, log_weight: FloatArray) -> "Doubt":
        return replace(self, log_weight=self.log_weight + log_weight)


def flatten(log_proba: FloatArray, power: float, unknown: float) -> FloatArray:
    """The distributions p' [N, C] of the module's formula, from log p.

    >>> flatten(np.log([[0.9, 0.1]]), 0.5, 0.0).round(2)
    array([[0.75, 0.25]])
    """
    logits = power * log_proba
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray((1 - unknown) * proba + unknown / log_proba.shape[1])


def loss_scales() -> tuple[FloatArray, FloatArray]:
    """Factors by which losses of numbers may be larger than expected, and their log weights."""
    scales = np.geomspace(0.2, 5.0, 25)
    return scales, _student(np.log(scales) / _SCALE_SPREAD)


def believe(values: FloatArray, expected: float, *, is_share: bool) -> FloatArray:
    """The log weights of values under a user's belief: normal on a logit or a log scale."""
    scale = _logit if is_share else np.log
    distance = scale(values) - scale(np.asarray(expected))
    return np.asarray(-0.5 * (distance / _BELIEF_SPREAD) ** 2)


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, quantiles: Sequence[float]
) -> FloatArray:
    """Quantiles of weighted values, interpolated between them.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.ones(3), [0.0, 0.5, 1.0])
    array([1., 2., 3.])
    """
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(quantiles, reached / weights.sum(), values[order])


def _student(distance: FloatArray) -> FloatArray:
    """The log density of Student's t with three degrees of freedom, up to a constant."""
    return np.asarray(-2 * np.log1p(distance**2 / 3))


def _logit(value: FloatArray) -> FloatArray:
    inside = np.clip(value, LEAST, 1 - LEAST)
    return np.asarray(np.log(inside / (1 - inside)))


_GROUPS, _ENTRIES = 800, 100_000
"""A pool is represented by at most so many of its items, with at most so many probabilities. Half
and twice as many groups move a plan by at most 3% and 1%."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPool:
    """Predicted classes of a pool, and what is said of the true ones."""

    classes: tuple[str, ...]
    pred: IntArray
    label: Reals | None
    """Probabilities of the true class, where there are any."""
    proba: Reals | None

    @classmethod
    def of(cls, predictions: PoolPredictions) -> "ClassPool":
        """The classes that a pool predicts; it may do so without probabilities."""
        label, pred = predictions.label_proba, predictions.pred
        if predictions.classes is not None and predictions.class_index is not None:
            classes, index = predictions.classes, predictions.class_index
        elif isinstance(pred, Categorical):
            classes, index = pred.values, pred.codes
        else:
            values, index = np.unique(np.asarray(pred), return_inverse=True)
            classes = tuple(class_texts(values.tolist()))
        if len(classes) < 2:
            classes = (*classes, "")
        return cls(classes, index.astype(np.int64), label, predictions.proba)

    @property
    def wrong(self) -> FloatArray:
        """The chance of each item to be predicted wrongly."""
        if self.label is None:
            return np.zeros(len(self.pred))
        right = self.label[np.arange(len(self.pred)), self.pred].astype(np.float64)
        return np.clip(1 - right, 0, 1)

    def log_proba(self, rows: IntArray) -> FloatArray:
        """The logarithms of the true classes' probabilities, none of them too small."""
        if self.label is not None:
            return np.log(np.maximum(self.label[rows].astype(np.float64), LEAST))
        certain = np.full((len(rows), len(self.classes)), np.log(LEAST))
        certain[np.arange(len(rows)), self.pred[rows]] = 0.0
        return certain

    def tables(self, metric: Metric, rows: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """The losses [G, C] of some items for each possible label, and a ratio's denominators."""
        pred = [self.classes[at] for at in self.pred[rows]]
        proba = None if self.proba is None else self.proba[rows]
        values = [
            metric.values([name] * len(rows), pred, proba, self.classes) for name in self.classes
        ]
        losses = np.stack([each.losses for each in values], axis=1)
        D = [each.denominators for each in values if each.denominators is not None]
        return losses, np.stack(D, axis=1) if D else None

    def representatives(self, weights: FloatArray, metric: Metric) -> tuple[IntArray, FloatArray]:
        """Rows that represent the pool for a metric, and the number of items each stands for."""
        positive = np.array([name == metric.positive for name in self.classes])[self.pred]
        return representatives(weights, np.sqrt(self.wrong), positive, len(self.classes))


def representatives(
    weights: FloatArray, score: FloatArray, part: BoolArray, n_classes: int = 1
) -> tuple[IntArray, FloatArray]:
    """Rows that represent a pool, and the number of items that each of them stands for.

    Items of each `part` are sorted by their weight and score and cut into runs, which hold about
    the same number of items, of likely errors (the score) and of items of a rare part.
    """
    N, most = len(weights), max(min(_GROUPS, _ENTRIES // n_classes), 100)
    order = np.lexsort((score, weights, part))
    if most >= N:
        return order, np.ones(N)
    inside = part[order]
    size = 1 / N + score[order] / max(float(score.sum()), LEAST) + inside / max(inside.sum(), 1)
    place = np.minimum((np.cumsum(size) / size.sum() * most).astype(np.int64), most - 1)
    # A run ends where the place or the part changes.
    starts = np.flatnonzero(np.diff(2 * place + inside, prepend=-1))
    ends = np.append(starts[1:], N)
    return order[(starts + ends) // 2], (ends - starts).astype(np.float64)


_BUDGETS, _TIMES = 1000, 200  # grids; half of either moves a plan by at most 1%

WidthOf = Callable[[int, float], float]
"""The width of an interval after M labels whose estimate has variance V."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What each group's label may be: values [G, K] with probabilities [G, K].

    `denominators` are those of a ratio, `bound` is the largest loss of an average.
    """

    probability: FloatArray
    losses: FloatArray
    denominators: FloatArray | None
    bound: float

    def expect(self, values: FloatArray) -> FloatArray:
        """The expectation of values [G, K] in each group."""
        return np.einsum("gk,gk->g", self.probability, values)


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Draws in proportion to q, from groups of `count` items with the same probability each.

    `budgets` are numbers of draws; `drawn` and `left` say how many items have been drawn, and
    what share of each group is left, as the race goes on: an item of weight q is still in the
    pool after a time t with chance exp(-q t).
    """

    pool_size: int
    count: FloatArray
    q: FloatArray
    weight: FloatArray
    """w of each group."""
    budgets: IntArray
    drawn: FloatArray
    left: FloatArray
    parts: FloatArray
    """The sum of d_m^2 from each budget to the next, d_m = N / ((N - m) (N - m + 1))."""

    @classmethod
    def of(cls, count: FloatArray, q: FloatArray) -> "Design":
        """The design, with its budgets and times."""
        N = int(count.sum())
        q = q / np.sum(count * q)
        budgets = np.unique(np.geomspace(1, N - 1, _BUDGETS).astype(np.int64))
        times = np.append(0.0, np.geomspace(1e-4 / q.max(), 40 / q.min(), _TIMES))
        left = np.exp(-np.outer(times, q))
        m = np.arange(1.0, N)
        total = np.cumsum((N / ((N - m) * (N - m + 1))) ** 2)
        parts = np.diff(total[budgets - 1], prepend=0.0)
        return cls(N, count, q, 1 / (N * q), budgets, (1 - left) @ count, left, parts)

    def mean(self, values: FloatArray) -> float:
        """The pool mean of a value of each group."""
        return float(self.count @ values) / self.pool_size

    def variances(self, mean: FloatArray, square: FloatArray) -> FloatArray:
        """The variance of R_LURE at each budget, given E[L] and E[L^2] of each group.

        V = ((N - M) / M)^2 sum_m d_m^2 (sum_left E[L^2] / (N^2 q_m) - (sum_left E[L] / N)^2)
        """
        N, M = self.pool_size, self.budgets.astype(np.float64)
        n, q = self.count, self.q
        step = self.left @ (n * square / q) * (self.left @ (n * q)) - (self.left @ (n * mean)) ** 2
        first, last = (
            np.maximum(np.interp(drawn, self.drawn, step), 0) / N**2
            for drawn in (np.append(0.0, M[:-1]), M - 1)
        )
        return ((N - M) / M) ** 2 * np.cumsum(self.parts * (first + last) / 2)

    def value(self, outcomes: Outcomes) -> float:
        """The expected mean of the losses, or the ratio."""
        mean = self.mean(outcomes.expect(outcomes.losses))
        if outcomes.denominators is None:
            return mean
        return mean / self.mean(outcomes.expect(outcomes.denominators))


def fewest_labels(design: Design, outcomes: Outcomes, level: float, width: float) -> int:
    """The fewest labels whose interval is at most so wide; all items if none is."""
    compute = _average if outcomes.denominators is None else _ratio
    variances, width_of = compute(design, outcomes, level)
    budgets = design.budgets

    def is_narrow(at: int) -> bool:
        return width_of(int(budgets[at]), float(variances[at])) <= width

    at = bisect_left(range(len(budgets)), True, key=is_narrow)
    return int(budgets[at]) if at < len(budgets) else design.pool_size


def _average(design: Design, outcomes: Outcomes, level: float) -> tuple[FloatArray, WidthOf]:
    """The variances of the mean of a loss, and its width: `cp_safe` where it has a bound."""
    B = outcomes.bound
    loss = outcomes.losses / B if np.isfinite(B) else outcomes.losses
    variances = design.variances(outcomes.expect(loss), outcomes.expect(loss**2))
    R, w, N = design.mean(outcomes.expect(loss)), design.weight, design.pool_size
    second, third, fourth = (
        design.mean(w ** (k - 1) * outcomes.expect(loss**k)) for k in (2, 3, 4)
    )
    if not np.isfinite(B):
        central = fourth - 4 * R * third + 6 * R**2 * second - 3 * R**4
        df = 2 * (second - R**2) ** 2 / max(central, 1e-300)

        def log_t_width(M: int, V: float) -> float:
            t = float(t_quantile(np.clip(M * df - 1, 1, M), (1 + level) / 2))
            return float(2 * R * np.sinh(min(t * np.sqrt(V) / R, 700.0)))

        return variances, log_t_width
    share = float(design.count @ (design.q * outcomes.expect((loss > 0).astype(np.float64))))
    uneven = fourth / second**2 - 1 / share

    def width(M: int, V: float) -> float:
        # Errors that carry the unevenness are missing from a typical sample if they are rare.
        typical = M / (M + fourth / second**2)
        r = max(min(uneven / M, 1 - 1 / (M * share)) * typical, 1e-9)
        size = binomial_size(
            np.asarray(R),
            np.asarray(V),
            kish=np.asarray(-np.log1p(-M / N) * N / design.mean(w)),
            errors=np.asarray(M * R / max(float(w.max()), 1.0)),
            df=np.asarray(max(2 / r, 1.0)),
            level=level,
        )
        low, high = clopper_pearson(size * R, size, level)
        return B * (min(float(high) + 0.5 / N, 1.0) - max(float(low) - 0.5 / N, 0.0))

    return variances, width


def _ratio(design: Design, outcomes: Outcomes, level: float) -> tuple[FloatArray, WidthOf]:
    """The variances of a ratio, and the width of `wilson_limits` for expected moments."""
    A, D, w, N = outcomes.losses, outcomes.denominators, design.weight, design.pool_size
    assert D is not None
    Dbar = design.mean(outcomes.expect(D))
    theta = design.mean(outcomes.expect(A)) / Dbar
    residual = (A - theta * D) / Dbar
    second, fourth = outcomes.expect(residual**2), outcomes.expect(residual**4)
    variances = design.variances(outcomes.expect(residual), second)
    square, last = design.mean(w * second), design.mean(w**3 * fourth)
    units, positive, below = (
        outcomes.expect(which.astype(np.float64)) for which in (D > 0, A > 0, A < D)
    )
    count = design.mean(units) / float(w.max())
    squares = design.mean(w * units) / float(w.max()) ** 2
    minority = min(design.mean(positive), design.mean(below)) / float(w.max())

    def width(M: int, V: float) -> float:
        df = np.clip(2 * M * square**2 / last - 1, 1, max(M - 1, 1))
        zero = np.zeros(())
        moments = Moments(zero, np.asarray(V), np.asarray(df), zero, M, N, exact=True)
        expected = RatioMoments(
            value=np.asarray(theta),
            residual=moments,
            residuals=zero,
            denominator=np.asarray(Dbar),
            size=np.asarray(M * min(count**2 / squares, count)),
            count=np.asarray(M * design.mean(units)),
            minority=np.asarray(M * minority),
        )
        low, high = wilson_limits(expected, level)
        return float(high - low)

    return variances, width
