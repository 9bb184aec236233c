"""Labels that a design needs for a wanted width, if each item's label has a given distribution.

A pool is represented by groups of items that are alike. Everything is an expectation over draws
in proportion to frozen weights q, with w = 1 / (N q).
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.estimators.intervals.fixed import binomial_size, clopper_pearson, t_quantile
from levelled.estimators.moments import Moments
from levelled.metrics.linearised import RatioMoments, wilson_limits

_BUDGETS, _TIMES = 1000, 200

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
    R, w = design.mean(outcomes.expect(loss)), design.weight
    second, third, fourth = (
        design.mean(w ** (k - 1) * outcomes.expect(loss**k)) for k in (2, 3, 4)
    )
    if not np.isfinite(B):
        central = fourth - 4 * R * third + 6 * R**2 * second - 3 * R**4
        df = 2 * (second - R**2) ** 2 / max(central, 1e-300)
        return variances, lambda M, V: _log_t_width(R, V, np.clip(M * df - 1, 1, M), level)
    share = float(design.count @ (design.q * outcomes.expect((loss > 0).astype(np.float64))))
    uneven = fourth / second**2 - 1 / share

    def width(M: int, V: float) -> float:
        # Errors that carry the unevenness are missing from a typical sample if they are rare.
        typical = M / (M + fourth / second**2)
        r = max(min(uneven / M, 1 - 1 / (M * share)) * typical, 1e-9)
        return B * _cp_safe_width(design, M, R, V, 2 / r, level)

    return variances, width


def _log_t_width(R: float, V: float, df: FloatArray, level: float) -> float:
    t = float(t_quantile(df, (1 + level) / 2))
    return float(2 * R * np.sinh(min(t * np.sqrt(V) / R, 700.0)))


def _cp_safe_width(design: Design, M: int, R: float, V: float, df: float, level: float) -> float:
    N, w = design.pool_size, design.weight
    size = binomial_size(
        np.asarray(R),
        np.asarray(V),
        kish=np.asarray(-np.log1p(-M / N) * N / design.mean(w)),
        errors=np.asarray(M * R / max(float(w.max()), 1.0)),
        df=np.asarray(max(df, 1.0)),
        level=level,
    )
    low, high = clopper_pearson(size * R, size, level)
    return min(float(high) + 0.5 / N, 1.0) - max(float(low) - 0.5 / N, 0.0)


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
