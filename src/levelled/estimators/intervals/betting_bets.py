"""The bets that one label offers on the mean of a pool.

With w = 1/(N q_m), S the sum of the losses before label m and g any prediction of the losses
that does not know label m, the drawn loss L tells about a candidate mu

    E = mu - (S + sum_rem g)/N,    Y = w (L - g) - E,

where sums and maxima "rem" run over the items that could still be drawn, item m included. Y has
mean 0 if mu is the mean. For losses in [A, B] it is at least -b, with b = E + max_rem w (g - A),
and at most b' = max_rem w (B - g) - E. So the gambles that the mean is larger or smaller than mu,
1 + Y/b and 1 - Y/b', never go below 0. With r for the maximum they pay

    (+-w (L - g) + r) / (+-(mu - (S + sum_rem g)/N) + r).

Three predictions are played, as far as the design columns of the draw allow:

    bound     g = A below and g = B above: r = 0, no limit on the weights is needed
    middle    g = the possible loss nearest to 0, for losses that are mostly 0; needs max_weight
    control   g = a predictor's; needs its columns
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from levelled._check import FloatArray
from levelled.errors import DrawsError
from levelled.estimators.intervals.betting_wealth import Bet, Sides, Variants
from levelled.estimators.intervals.logical import Bounds

__all__ = ["COLUMNS", "Columns", "Number", "Round", "check_columns", "mean_bets", "variants_of"]

Number = float | FloatArray
Columns = Mapping[str, Number]
"""The design columns of one draw by name, without those that are not known."""

COLUMNS = (
    "max_weight",
    "control",
    "control_left",
    "max_weighted_control",
    "max_weighted_headroom",
)

_SLACK = 1e-6  # a sampler may add up the same probabilities in another order


class Round(NamedTuple):
    """One label, of one trajectory or of many: L, w, S, and how many could still be drawn."""

    loss: Number
    weight: Number
    before: Number
    left: int
    pool_size: int


class Prediction(NamedTuple):
    """g of the drawn item, its sum over what could be drawn, and the maximum r of its side."""

    own: Number
    left: Number
    reach: Number


def mean_bets(drawn: Round, bounds: Bounds, columns: Columns) -> Sides:
    """The bets of one label. An infinite bound has none on its side."""
    below, above = _below(drawn.left, bounds, columns), _above(drawn.left, bounds, columns)
    return (
        {name: _bet(drawn, prediction, 1) for name, prediction in below.items()},
        {name: _bet(drawn, prediction, -1) for name, prediction in above.items()},
    )


def variants_of(sides: Sides) -> Variants:
    """The variants that the first label has bets for: those that get money to play with."""
    return tuple(sides[0]), tuple(sides[1])


def check_columns(weight: Number, highest: float, columns: Columns) -> None:
    """Refuse maxima that the drawn item itself exceeds."""
    _check_maximum("max_weight", weight, columns)
    if "control" in columns:
        control = columns["control"]
        _check_maximum("max_weighted_control", weight * control, columns)
        if highest < np.inf:
            _check_maximum("max_weighted_headroom", weight * (highest - control), columns)


def _bet(drawn: Round, prediction: Prediction, sign: int) -> Bet:
    g, g_left, r = prediction
    centre = (drawn.before + g_left) / drawn.pool_size
    return drawn.weight * (sign * (drawn.loss - g)) + r, 0.0, 1.0, sign * centre - r


def _below(left: int, bounds: Bounds, columns: Columns) -> dict[str, Prediction]:
    lowest, middle = bounds[0], _middle(bounds)
    predictions = {"bound": Prediction(lowest, lowest * left, 0.0)}
    if "max_weight" in columns and middle > lowest:
        reach = columns["max_weight"] * (middle - lowest)
        predictions["middle"] = Prediction(middle, middle * left, reach)
    return predictions | _control(columns, _weighted_control(lowest, columns))


def _above(left: int, bounds: Bounds, columns: Columns) -> dict[str, Prediction]:
    highest, middle = bounds[1], _middle(bounds)
    if highest == np.inf:
        return {}
    predictions = {"bound": Prediction(highest, highest * left, 0.0)}
    if "max_weight" in columns and middle < highest:
        reach = columns["max_weight"] * (highest - middle)
        predictions["middle"] = Prediction(middle, middle * left, reach)
    return predictions | _control(columns, columns.get("max_weighted_headroom"))


def _control(columns: Columns, reach: Number | None) -> dict[str, Prediction]:
    if reach is None or "control" not in columns or "control_left" not in columns:
        return {}
    return {"control": Prediction(columns["control"], columns["control_left"], reach)}


def _weighted_control(lowest: float, columns: Columns) -> Number | None:
    """An upper bound on max_rem w (g - A), from columns that are made with A = 0 in mind."""
    reach = columns.get("max_weighted_control")
    if reach is None or lowest >= 0:
        return reach
    return reach - lowest * columns["max_weight"] if "max_weight" in columns else None


def _middle(bounds: Bounds) -> float:
    return min(max(0.0, bounds[0]), bounds[1])


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
