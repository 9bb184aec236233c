"""An interval with a finite-sample guarantee that is narrow at a budget fixed beforehand.

It is for losses of 0 and 1. Against each candidate mu for the pool risk R there are two
sequences of bets, one that mu is too low and one that it is too high. Each replicates an option
that pays 1 after draw M, the budget, if mu is wrong: p is the price of the option, at first the
error rate of that side, and a candidate is rejected for good once p >= 1. With w = 1 / (N q),
g the predicted loss, S the losses so far and base = (S + sum_left g) / N,

    X = +-(w (L - g) - (mu - base)),    p <- p (1 + stake X)

E[X] <= 0 wherever the candidate is right or wrong on the other side, the stake is chosen before
the label is seen, and 1 + stake X >= 0. So p is a supermartingale whatever the predictor, and by
Ville's inequality it ever reaches 1 with at most the probability it began with. How the stake is
chosen affects the width only: as if what is still to come were a Poisson number of jumps.

An item that cannot be labelled counts as right in the bets that mu is too low and as wrong in
those that it is too high: the limits hold whatever its loss would be, and so for the risk of
the others as well.

Prices need not be monotone in mu, so a limit is the last of an unbroken run of rejected
candidates. It lies beyond R only if the candidate next to R on that side was rejected: one price
for each side, at any spacing of the candidates.
"""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, whole
from levelled.errors import InputError
from levelled.estimators.intervals.wealth import (
    as_tested,
    finite_number,
    labels_of,
    pack,
    spread_candidates,
    unpack,
)

COLUMNS = (
    "control",
    "control_left",
    "predicted_variance",
    "predicted_skew",
    "max_weighted_control",
    "max_weighted_headroom",
)
"""The design columns that a draw needs."""
# In the study constants other values change the squared width at 100 labels by:
SPLIT = (0.4, 0.6)  # (.2, .8) -2%, (.6, .4) +8%
"""The parts of the error rate for risks below the interval and above it."""
_OPTIMISM = 0.75  # half +9%, twice +52%, each known to 10%
"""The variance still to come, as a share of the one predicted now."""
_FINE = 0.4  # jumps bet on below, in units of the predicted ones: half -1%, twice +1%
_COARSE = 1.25  # jumps bet on above, likewise: half +1%, twice +19%
_UNSEEN = 1.25  # weight above of risk that the predictor does not see: half +5%, twice +25%
_LEAST_JUMP = 0.02  # least jump, so that a stake is not divided by next to 0: half 0, twice 0
_LEAST_RATIO = 0.02  # least risk still to come, as a share of the predicted one: half 0, twice 0
_HEAVIEST = 0.05  # least jump bet on above, as a share of the largest possible: half 0, twice 0
_MOST = 0.99  # .98 0, .995 0
"""The largest part of a price that one draw may cost."""
_HOPELESS = 1e-7
"""Below this price, which is also the chance that it ever reaches 1, nothing is staked: speed."""
_TINY, _ROUNDING = 1e-9, 1e-12  # guards: division by 0
_MANY, _FEW = 1600, 800  # half of both +1%, twice -1%
"""The candidates at first, and how many have to be left lest their spacing shows in the limits."""

Number = float | FloatArray


class Hedged:
    """An interval for a pool risk that holds at every label, and is narrow at the budget.

    For losses of 0 and 1 it covers the pool risk after all labels at once with probability
    `level`, however the predictor and the proposal adapt.

    Parameters
    ----------
    pool_size : The number of items in the pool, N.
    budget : The number of labels at which it is meant to be read; it may be changed between two
        labels.
    level : The probability that all intervals hold.
    tested : Values that are added to the grid of limits.

    >>> watch = Hedged(pool_size=1000, budget=200)
    >>> for m, loss in enumerate([1, 0, 0, 0, 0, 0, 0, 0, 0, 0] * 20):
    ...     watch.update(
    ...         loss, q=1 / (1000 - m), control=0.1, control_left=0.1 * (1000 - m),
    ...         predicted_variance=0.09 * (1 - m / 1000) ** 2,
    ...         predicted_skew=0.072 * (1 - m / 1000) ** 3,
    ...         max_weighted_control=0.1 * (1 - m / 1000),
    ...         max_weighted_headroom=0.9 * (1 - m / 1000),
    ...     )
    >>> low, high = watch.interval()
    >>> round(low, 3), round(high, 3)
    (0.065, 0.145)
    """

    def __init__(
        self, pool_size: int, budget: int, level: float = 0.95, tested: Sequence[float] = ()
    ) -> None:
        self.pool_size = whole("pool_size", pool_size, least=1)
        self.budget = whole("budget", budget, least=1)
        self.level = between("level", level, 0, 1, open_=True)
        self._n_labels, self._totals = 0, np.zeros((2, 1))
        self._low, self._high = 0.0, 1.0
        values = as_tested(tested)
        self._candidates = spread_candidates(0.0, 1.0, self.pool_size, _MANY, values)
        rates = (1 - self.level) * np.array(SPLIT)
        self._prices = np.repeat(rates[:, None], len(self._candidates), axis=1)

    def __len__(self) -> int:
        return self._n_labels

    def update(
        self,
        loss: float,
        q: float,
        *,
        control: float,
        control_left: float,
        predicted_variance: float,
        predicted_skew: float,
        max_weighted_control: float,
        max_weighted_headroom: float,
    ) -> None:
        """Add one label, with the design columns of its draw (`levelled.samplers.with_design`).

        They are of the items that could then be drawn, this one included, with w = 1 / (N q) and
        the predicted loss g; none of them may depend on this label.

        Parameters
        ----------
        loss : 0 or 1; NaN for an item that cannot be labelled.
        q : The probability with which it was drawn.
        control, control_left : The predicted loss of the item, and its sum over all that could be
            drawn.
        predicted_variance, predicted_skew : The variance and the third moment that are expected of
            w (L - g).
        max_weighted_control, max_weighted_headroom : The largest w g and the largest w (1 - g).
        """
        if loss not in (0, 1) and not isnan(loss):
            raise InputError(
                f"A hedged interval is for losses of 0 and 1, and this one is {loss}: use "
                f"interval='betting'."
            )
        values = (
            q,
            control,
            control_left,
            predicted_variance,
            predicted_skew,
            max_weighted_control,
            max_weighted_headroom,
        )
        numbers = dict(zip(("q", *COLUMNS), values, strict=True))
        label = {name: finite_number(name, number) for name, number in numbers.items()}
        losses = np.array([[0.0], [1.0]]) if isnan(loss) else np.full((2, 1), float(loss))
        n_left, known = max(self.budget - self._n_labels, 1), (self._totals, self.pool_size)
        prices = new_prices(self._candidates, self._prices, losses, label, *known, n_left)
        self._prices = np.where(prices >= 1, np.inf, prices)  # rejected for good
        self._n_labels, self._totals = self._n_labels + 1, self._totals + losses
        self._drop_rejected()

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far, cut to what is possible."""
        lowest, highest = self._possible()
        return min(max(self._low, lowest), highest), max(min(self._high, highest), lowest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        return {
            "pool_size": self.pool_size,
            "budget": self.budget,
            "level": self.level,
            "n_labels": self._n_labels,
            "totals": pack(self._totals),
            "low": self._low,
            "high": self._high,
            "candidates": pack(self._candidates),
            "prices": pack(self._prices),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` wrote."""
        try:
            watch = cls(stored["pool_size"], stored["budget"], stored["level"])
            watch._n_labels = stored["n_labels"]
            watch._totals = unpack(stored["totals"]).reshape(2, 1)
            watch._low, watch._high = stored["low"], stored["high"]
            watch._candidates = unpack(stored["candidates"])
            watch._prices = unpack(stored["prices"]).reshape(2, len(watch._candidates))
        except (KeyError, TypeError, ValueError) as wrong:
            raise InputError(f"This is not what Hedged.to_dict writes: {wrong!r}.") from wrong
        return watch

    def _possible(self) -> tuple[float, float]:
        """The least and the largest risk that the labels so far leave possible."""
        (least,), (most,) = self._totals.tolist()
        return least / self.pool_size, (most + self.pool_size - self._n_labels) / self.pool_size

    def _drop_rejected(self) -> None:
        """Move the limits over the runs of rejected candidates at both ends."""
        lowest, highest = self._possible()
        too_low, too_high = np.isinf(self._prices)
        too_low |= self._candidates < lowest - _ROUNDING
        too_high |= self._candidates > highest + _ROUNDING
        n = len(self._candidates)
        first = n if too_low.all() else int(too_low.argmin())
        last = 0 if too_high.all() else n - int(too_high[::-1].argmin())
        if first:
            self._low = float(self._candidates[first - 1])
        if last < n:
            self._high = max(self._low, float(self._candidates[last]))
        rest = slice(first, max(first, last))
        self._candidates, self._prices = self._candidates[rest], self._prices[:, rest]
        if 0 < len(self._candidates) < _FEW:
            self._refine()

    def _refine(self) -> None:
        """Put a candidate into each gap, between the limits too, with the price of a neighbour.

        Where R lies in the half of the gap next to the limit, the price that guards R changes
        from that of the neighbour to that of the new candidate. They are equal at that moment,
        so it stays a supermartingale. A limit has no price any more: what would begin with it
        has price 0.
        """
        old = np.concatenate([[self._low], self._candidates, [self._high]])
        middle = (old[1:] + old[:-1]) / 2
        if not ((old[:-1] < middle) & (middle < old[1:])).all():
            return  # they are as close as numbers get
        n = len(self._candidates)
        candidates, prices = np.empty(2 * n + 1), np.zeros((2, 2 * n + 1))
        candidates[::2], candidates[1::2] = middle, self._candidates
        prices[:, 1::2] = self._prices
        prices[0, :-1:2], prices[1, 2::2] = self._prices
        self._candidates, self._prices = candidates, prices


def hedged_interval(
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    budget: int,
    level: float = 0.95,
    *,
    design: Mapping[str, ArrayLike],
) -> tuple[float, float]:
    """The interval of `Hedged` after all the labels, in the order in which they were drawn.

    Parameters
    ----------
    losses, probability : The loss and the probability of each draw, in order.
    pool_size, budget, level : As for `Hedged`.
    design : One value a draw under the names of the columns of `Hedged.update`; others are ignored.

    >>> one = dict(control=[0.2], control_left=[2.0], predicted_variance=[0.16],
    ...     predicted_skew=[0.096], max_weighted_control=[0.2], max_weighted_headroom=[0.8])
    >>> low, high = hedged_interval([1], [0.1], pool_size=10, budget=5, design=one)
    >>> round(low, 3), round(high, 3)
    (0.1, 1.0)
    """
    watch = Hedged(pool_size, budget, level)
    for label in labels_of(losses, probability, design, COLUMNS):
        watch.update(**label)
    return watch.interval()


def new_prices(
    mu: FloatArray,
    prices: FloatArray,
    loss: FloatArray,
    known: Mapping[str, Number],
    total: FloatArray,
    pool_size: int,
    n_left: int,
) -> FloatArray:
    """The prices [2, ...] of both sides at each mu after a draw, of one trajectory or of many.

    `known` are its q and its design columns, `total` is the sum of the losses before it, and
    `n_left` the number of draws up to the budget, this one included. Its loss and the total may
    have an axis for the two sides in front.
    """
    variance, skew = known["predicted_variance"], known["predicted_skew"]
    most_below, most_above = known["max_weighted_control"], known["max_weighted_headroom"]
    seen, base = total / pool_size, (total + known["control_left"]) / pool_size
    gain = (loss - known["control"]) / (pool_size * known["q"])
    excess = np.broadcast_to(mu - base, prices.shape)
    ratio = np.broadcast_to((mu - seen) / np.maximum(base - seen, _TINY), prices.shape)
    ratio = np.maximum(ratio, _LEAST_RATIO)
    jump = np.maximum(skew / np.maximum(variance, _TINY), _LEAST_JUMP)
    # The stake that mu is too low: on many jumps.
    size = _FINE * jump
    rate = _OPTIMISM * n_left * variance * ratio[0] / size**2
    stake = poisson_stake(prices[0], rate, many=True) / size
    below = _limited(stake, excess[0] + most_below)
    # The stake that mu is too high: on few jumps.
    less, unseen = np.minimum(ratio[1], 1), _UNSEEN * np.maximum(excess[1], 0)
    spread = np.maximum(variance * less + unseen * jump, _TINY)
    size = _COARSE * (skew * less + unseen * jump**2) / spread
    size = np.maximum(size, _HEAVIEST * most_above)
    rate = _OPTIMISM * n_left * spread / size**2
    stake = poisson_stake(prices[1], rate, many=False) / size
    above = _limited(stake, most_above - excess[1])
    # The stakes are limited, so only rounding of the columns could make a factor smaller.
    surplus = gain - excess
    factors = np.stack([1 + below * surplus[0], 1 - above * surplus[1]])
    return np.asarray(prices * np.maximum(factors, 1 - _MOST))


def _limited(stake: FloatArray, worst: FloatArray) -> FloatArray:
    """The stake, at most what leaves a price above 0 if the draw loses `worst`."""
    return np.where(worst > _TINY, np.minimum(stake, _MOST / np.maximum(worst, _TINY)), 0)


def poisson_stake(price: FloatArray, rate: FloatArray, *, many: bool) -> FloatArray:
    """The share of its price by which an option on a Poisson number of jumps moves at one jump.

    The option pays 1 if there are many jumps, at least k, or few, at most k, and k is the real
    number at which it is worth `price`. One jump moves the price by the probability of exactly
    k - 1 jumps, or of k.

    >>> poisson_stake(np.array([0.02]), np.array([4.0]), many=True).round(2)
    array([1.41])
    """
    from scipy.special import gammaln, pdtrik

    price, rate = np.broadcast_arrays(price, rate)
    stake = np.zeros(price.shape)
    live = (price > _HOPELESS) & (price < 1)
    p, x = price[live], np.maximum(rate[live], _TINY)
    j = pdtrik(1 - p if many else p, x)
    moved = np.exp(j * np.log(x) - x - gammaln(j + 1))
    stake[live] = np.minimum(moved, 1 - p if many else p) / p
    return stake
