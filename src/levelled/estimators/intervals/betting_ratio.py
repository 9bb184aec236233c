"""The bets that labels offer on a ratio of pool means, such as precision, recall and F1.

theta = mean(A)/mean(D) with 0 <= A <= D <= d_max for every item. A candidate theta is tested by
betting that the pool mean of l = A - theta D is 0, as in `betting_mean`, with the items' bounds
-theta d_max <= l <= (1 - theta) d_max. With w = 1/(N q_m) and sums S over the labels before, the
bet that theta is too low pays

    bound     g = -theta d_max:  N w (A + theta (d_max - D)) / (theta (d_max left + S_D) - S_A)
    known     g = -theta D:      w A / (theta mean(D) - S_A/N)
    middle    g = 0:             (w A + theta (r - w D)) / (theta (r + S_D/N) - S_A/N)

and the bet that it is too high is the same for D - A and 1 - theta. All fall with theta, so
limits hold at any spacing of the candidates. "known" needs the pool mean of D (precision, slices:
D comes from the predictions). "middle" suits metrics to which most items contribute nothing; it
needs a bound r on w D over the items that could be drawn.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from levelled._check import FloatArray, between, whole
from levelled.errors import DrawsError, InputError, LossError
from levelled.estimators.intervals.betting_wealth import (
    Bet,
    Columns,
    Number,
    Sides,
    Values,
    spread_candidates,
)
from levelled.estimators.intervals.logical import Bounds

__all__ = ["RatioGame"]


@dataclass(frozen=True, slots=True)
class RatioGame:
    """Betting on mean(A)/mean(D); a label is (A, D), and their totals are the sums kept."""

    mirror: ClassVar[float] = 1.0
    sum_names: ClassVar[tuple[str, ...]] = ("numerator", "denominator")
    ends: ClassVar[Bounds] = (0.0, 1.0)

    pool_size: int
    d_max: float
    level: float
    denominator_mean: float | None = None

    def __post_init__(self) -> None:
        whole("pool_size", self.pool_size, least=1)
        between("d_max", self.d_max, 0, np.inf, open_=True)
        between("level", self.level, 0, 1, open_=True)
        if self.denominator_mean is not None and not 0 < self.denominator_mean <= self.d_max:
            raise InputError(
                f"denominator_mean must be above 0 and at most d_max = {self.d_max:g}; it is "
                f"{self.denominator_mean!r}. A ratio over nothing has no value."
            )

    def first_candidates(self) -> FloatArray:
        """The candidates at the first label."""
        return spread_candidates(*self.ends, self.pool_size)

    def scale(self, candidates: FloatArray) -> float:
        """The size of a denominator, against which rounding is judged."""
        return self.d_max

    def bets(self, m: int, label: Values, q: Number, sums: Values, columns: Columns) -> Sides:
        """The bets of label m, given the sums before it, in one trajectory or in many."""
        (a, d), (before_a, before_d), N = label, sums, self.pool_size
        left, weight = N - m + 1, 1 / (N * q)
        if left < 1:
            raise DrawsError(f"All {N} items of the pool have their label: there is no label {m}.")
        self._check_label(a, d, before_d)
        reach = self._reach(columns)
        if reach is not None and not np.all(weight * d <= reach * (1 + 1e-6)):
            raise DrawsError(
                f"The drawn item of label {m} has a larger weight than the largest that was "
                f"possible. Give the columns of the step at which it was drawn."
            )

        def side(a: Number, before: Number) -> dict[str, Bet]:
            e, all_d = before / N, (self.d_max * left + before_d) / N
            bets: dict[str, Bet] = {"bound": (weight * a, weight * (self.d_max - d), all_d, e)}
            if self.denominator_mean is not None:
                bets["known"] = (weight * a, 0.0, self.denominator_mean, e)
            if reach is not None:
                bets["middle"] = (weight * a, reach - weight * d, reach + before_d / N, e)
            return bets

        return side(a, before_a), side(d - a, before_d - before_a)

    def _reach(self, columns: Columns) -> Number | None:
        """The bound r on w D, from the largest w D or else from the largest w."""
        if "max_weighted_denominator" in columns:
            return columns["max_weighted_denominator"]
        return self.d_max * columns["max_weight"] if "max_weight" in columns else None

    def _check_label(self, a: Number, d: Number, before: Number) -> None:
        if not np.all((a >= 0) & (a <= d) & (d <= self.d_max)):
            raise LossError(
                f"A ratio needs 0 <= a <= d <= d_max = {self.d_max:g} for every item, but here "
                f"a = {a} and d = {d}. Declare a larger d_max, or look for what is wrong with them."
            )
        known = self.denominator_mean
        if known is not None and np.any(before + d > known * self.pool_size * (1 + 1e-9)):
            raise LossError(
                f"The denominators seen sum to {np.max(before + d):g}, more than denominator_mean "
                f"= {known:g} times the pool size {self.pool_size}. It is to be the exact mean "
                f"over the pool."
            )

    def add(self, m: int, label: Values, q: Number, sums: Values) -> Values:
        """The sums after label m."""
        return sums[0] + label[0], sums[1] + label[1]

    def possible(self, n_labels: int, sums: tuple[float, ...]) -> Bounds:
        """The range of the ratio that the labels seen so far leave possible."""
        (a, d), unseen = sums, self.pool_size - n_labels
        if self.denominator_mean is None or unseen == 0:
            pool_d = d + self.d_max * unseen
        else:
            pool_d = max(self.denominator_mean * self.pool_size, d)
        return (a / pool_d, (a + pool_d - d) / pool_d) if pool_d > 0 else self.ends
