"""The bets that labels offer on the mean of a pool.

With w = 1/(N q_m), S the sum of the losses before label m and g any prediction of the losses
that does not use label m, a candidate mu is tested by the drawn loss L through

    E = mu - (S + sum_rem g)/N,    Y = w (L - g) - E,

where sums and maxima "rem" run over the items that could still be drawn, item m included. Y has
mean 0 if mu is the mean. For losses in [A, B] it is at least -b, with b = E + max_rem w (g - A),
and at most b' = max_rem w (B - g) - E. So the bets that the mean is larger or smaller than mu,
1 + Y/b and 1 - Y/b', never pay less than 0. With r for the maximum they pay

    (+-w (L - g) + r) / (+-(mu - (S + sum_rem g)/N) + r).

Each label offers the following variants, as far as the design columns of the draw allow:

    bound     g = A below and g = B above: r = 0, no limit on the weights is needed
    middle    g = the possible loss nearest to 0, for losses that are mostly 0; needs max_weight
    control   g = a predictor's; needs its columns
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from levelled._check import FloatArray, between, whole
from levelled.errors import DrawsError, InputError
from levelled.estimators.intervals.betting_wealth import (
    HUGE,
    Bet,
    Columns,
    Number,
    Sides,
    Values,
    spread_candidates,
)
from levelled.estimators.intervals.logical import Bounds, check_bounds, logical_limits

__all__ = ["COLUMNS", "MeanGame"]

COLUMNS = (
    "max_weight",
    "control",
    "control_left",
    "max_weighted_control",
    "max_weighted_headroom",
)

_SLACK = 1e-6  # a sampler may add up the same probabilities in another order


@dataclass(frozen=True, slots=True)
class MeanGame:
    """Betting on the mean of losses in `bounds`; a label is (loss,).

    The sums kept are the total of the losses, and that of a_m - A with the terms a_m of the
    estimators: the mean of the latter shows where candidates are needed if B is infinite.
    """

    mirror: ClassVar[float] = 0.0
    sum_names: ClassVar[tuple[str, ...]] = ("total", "terms")

    pool_size: int
    bounds: Bounds
    level: float
    excluded: int = 0

    def __post_init__(self) -> None:
        whole("pool_size", self.pool_size, least=1)
        whole("excluded", self.excluded, least=0)
        between("level", self.level, 0, 1, open_=True)
        if self.excluded >= self.pool_size:
            raise InputError(
                f"excluded must leave something to draw; it is {self.excluded} of a pool of "
                f"{self.pool_size}."
            )
        low, high = self.bounds
        if not (-HUGE < low < high and (high < HUGE or high == np.inf)):
            raise InputError(
                f"bounds must be two numbers (low, high), low < high, of which only high may be "
                f"infinite; they are {self.bounds!r}. Betting needs at least a lower bound."
            )

    @property
    def drawable(self) -> int:
        """The number of items that can be drawn."""
        return self.pool_size - self.excluded

    @property
    def ends(self) -> Bounds:
        """The range of the target before the first label."""
        share = self.drawable / self.pool_size
        return self.bounds[0] * share, self.bounds[1] * share

    @property
    def bounded(self) -> bool:
        """True if B is finite, so that there are bets on both sides."""
        return self.bounds[1] < np.inf

    def first_candidates(self) -> FloatArray:
        """The candidates at the first label; none if B is infinite, where the scale is unknown."""
        return spread_candidates(*self.ends, self.pool_size) if self.bounded else np.empty(0)

    def scale(self, candidates: FloatArray) -> float:
        """The size of a loss, against which rounding is judged."""
        if self.bounded:
            return self.bounds[1] - self.bounds[0]
        return float(candidates.max() - self.ends[0]) if len(candidates) else 1.0

    def bets(self, m: int, label: Values, q: Number, sums: Values, columns: Columns) -> Sides:
        """The bets of label m, given the sums before it, in one trajectory or in many."""
        (loss,), left, weight = label, self.drawable - m + 1, 1 / (self.pool_size * q)
        if left < 1:
            raise DrawsError(
                f"All {self.drawable} items that can be drawn have their label: there is no label "
                f"{m}."
            )
        check_bounds(np.asarray(loss), self.bounds)
        self._check_columns(weight, columns)
        return (
            self._side(1, loss, weight, sums[0], left, columns),
            self._side(-1, loss, weight, sums[0], left, columns),
        )

    def _side(
        self,
        sign: int,
        loss: Number,
        weight: Number,
        before: Number,
        left: int,
        columns: Columns,
    ) -> dict[str, Bet]:
        """The bets below (sign 1) or above (sign -1); none on the side of an infinite bound."""
        low, high = self.bounds
        end, middle = low if sign == 1 else high, min(max(0.0, low), high)
        if end == np.inf:
            return {}
        predictions: dict[str, tuple[Number, Number, Number]] = {"bound": (end, end * left, 0.0)}
        if "max_weight" in columns and middle != end:
            reach = columns["max_weight"] * (sign * (middle - end))
            predictions["middle"] = middle, middle * left, reach
        headroom = columns.get("max_weighted_headroom")
        largest = self._largest_control(columns) if sign == 1 else headroom
        if largest is not None and {"control", "control_left"} <= columns.keys():
            predictions["control"] = columns["control"], columns["control_left"], largest
        return {
            name: (
                weight * (sign * (loss - g)) + r,
                0.0,
                1.0,
                sign * ((before + g_left) / self.pool_size) - r,
            )
            for name, (g, g_left, r) in predictions.items()
        }

    def _largest_control(self, columns: Columns) -> Number | None:
        """An upper bound on max_rem w (g - A), from columns that are made for A = 0."""
        largest, lowest = columns.get("max_weighted_control"), self.bounds[0]
        if largest is None or lowest >= 0:
            return largest
        return largest - lowest * columns["max_weight"] if "max_weight" in columns else None

    def _check_columns(self, weight: Number, columns: Columns) -> None:
        """Refuse maxima that the drawn item itself exceeds."""
        _check_maximum("max_weight", weight, columns)
        if "control" in columns:
            control = columns["control"]
            _check_maximum("max_weighted_control", weight * control, columns)
            if self.bounded:
                own = weight * (self.bounds[1] - control)
                _check_maximum("max_weighted_headroom", own, columns)

    def add(self, m: int, label: Values, q: Number, sums: Values) -> Values:
        """The sums after label m."""
        (loss,), (total, terms), lowest = label, sums, self.bounds[0]
        before = total - lowest * (m - 1)
        weight = 1 / (self.pool_size * q)
        return total + loss, terms + weight * (loss - lowest) + before / self.pool_size

    def possible(self, n_labels: int, sums: tuple[float, ...]) -> Bounds:
        """The range of the target that the losses seen so far leave possible."""
        share = self.drawable / self.pool_size
        low, high = logical_limits(np.asarray(sums[0]), n_labels, self.drawable, self.bounds)
        return float(low * share), float(high * share)


def _check_maximum(name: str, own: Number, columns: Columns) -> None:
    if name not in columns:
        return
    largest = columns[name]
    wrong = (own > largest * (1 + _SLACK)) & (own > largest * (1 - _SLACK))  # of either sign
    if wrong if isinstance(wrong, bool) else wrong.any():
        by = float(np.max(own - largest))
        raise DrawsError(
            f"{name} is the largest value over the items that could be drawn, but the drawn "
            f"item's own is larger by {by:.3g}. Give the columns of the step at which the draw "
            f"was made, with the item still in the pool, and for the same bounds."
        )
