"""Intervals that hold at every label at once, for any number of labels and any proposal.

They come from betting (Waudby-Smith and Ramdas, arXiv:2010.09686) on the terms a_m of the
estimators: a *game* has the bets that a label offers on a mean, or on a ratio of means.

**Mean.** With w = 1/(N q_m), S the sum of the losses before label m and g any prediction of the
losses that does not use label m, a candidate mu is tested by the drawn loss L through

    E = mu - (S + sum_rem g)/N,    Y = w (L - g) - E,

where sums and maxima "rem" run over the items that could still be drawn, item m included. Y has
mean 0 if mu is the mean. For losses in [A, B] it is at least -b, with b = E + max_rem w (g - A),
and at most b' = max_rem w (B - g) - E. So the bets that the mean is larger or smaller than mu,
1 + Y/b and 1 - Y/b', never pay less than 0. With r for the maximum they pay

    (+-w (L - g) + r) / (+-(mu - (S + sum_rem g)/N) + r).

A label offers these variants, as far as the design columns of the draw allow:

    bound     g = A below and g = B above: r = 0, no limit on the weights is needed
    middle    g = the possible loss nearest to 0, for losses that are mostly 0; needs max_weight
    control   g = a predictor's; needs its columns

**Ratio.** theta = mean(A)/mean(D) with 0 <= A <= D <= d_max for every item: precision, recall, F1.
A candidate theta is tested by betting that the pool mean of l = A - theta D is 0, with the items'
bounds -theta d_max <= l <= (1 - theta) d_max. The bet that theta is too low pays

    bound     g = -theta d_max:  N w (A + theta (d_max - D)) / (theta (d_max left + S_D) - S_A)
    known     g = -theta D:      w A / (theta mean(D) - S_A/N)
    middle    g = 0:             (w A + theta (r - w D)) / (theta (r + S_D/N) - S_A/N)

and the bet that it is too high is the same for D - A and 1 - theta. All fall with theta. "known"
needs the pool mean of D (precision, slices: D comes from the predictions). "middle" suits metrics
to which most items contribute nothing; r is a bound on w D over the items that could be drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, FloatArray, between, whole
from levelled.errors import DrawsError, InputError, LossError
from levelled.estimators.intervals.limits import Bounds, as_bounds, check_bounds, logical_limits
from levelled.estimators.intervals.wealth import (
    N_CANDIDATES,
    Bet,
    Columns,
    Number,
    Sides,
    Values,
    Variants,
    Wealth,
    as_tested,
    bet_table,
    equal_prior,
    finite_number,
    labels_of,
    normalised_prior,
    pack,
    spread_candidates,
    step,
    unpack,
)
from levelled.estimators.moments import GivenValues

COLUMNS = ("max_weight", "control", "control_left", "max_weighted_control", "max_weighted_headroom")
"""The design columns that a game on a mean can use."""
# In the study constants half and twice these change the squared width of betting by:
_UNEVEN = 1.1  # 1.05 and 1.2: 0
"""The largest weight of a first draw, relative to a uniform one, that still counts as even."""
_STAKES_NEAR = (1.0, 1.0, 2.0, 3.0, 3.0, 2.0)  # roots of both +10%, squares -7%
_STAKES_FAR = (0.5, 0.5, 1.0, 1.0, 3.0, 6.0)
"""The uneven prior's weights of the fractions, on a side that bets from the bound nearest to 0
and on one that bets from a bound far from 0, where large stakes win."""
_SHARES_NEAR = {"bound": 0.3, "control": 0.5}  # half the control +2%, twice -2%
_SHARES_FAR = {"bound": 0.2, "middle": 0.3, "control": 0.5}
"""Its weights of the variants, likewise."""
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
    tested: tuple[float, ...] = ()
    """Values that are candidates themselves, where B is finite."""

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
        if not (-LARGEST < low < high and (high < LARGEST or high == np.inf)):
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
        if not self.bounded:
            return np.empty(0)
        return spread_candidates(*self.ends, self.pool_size, tested=self.tested)

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
        own = {"max_weight": weight}
        if "control" in columns:
            own["max_weighted_control"] = weight * columns["control"]
        if "control" in columns and self.bounded:
            own["max_weighted_headroom"] = weight * (self.bounds[1] - columns["control"])
        _check_maxima(own, columns)

        def side(sign: int) -> dict[str, Bet]:
            bets: dict[str, Bet] = {}
            for name, (g, g_left, r) in self._predictions(sign, left, columns).items():
                e = sign * ((sums[0] + g_left) / self.pool_size) - r
                bets[name] = (weight * (sign * (loss - g)) + r, 0.0, 1.0, e)
            return bets

        return side(1), side(-1)

    def prior(self, variants: Variants, columns: Columns) -> FloatArray:
        """The strategies' weights: equal, or uneven where the first draw's largest weight is.

        That weight depends on the design only, not on the item drawn, so the prior is fixed before
        the first label. The uneven one gives narrower intervals there.
        """
        equal, largest = equal_prior(variants), columns.get("max_weight")
        if largest is None:
            return equal
        sides = []
        for names in variants:
            far = "middle" in names
            shares, stakes = (_SHARES_FAR, _STAKES_FAR) if far else (_SHARES_NEAR, _STAKES_NEAR)
            sides.append(np.outer([shares[name] for name in names], stakes))
        uneven = normalised_prior(*sides)
        weight = np.asarray(largest) * (self.pool_size / self.drawable)
        return np.where(weight > _UNEVEN, uneven, equal)

    def _predictions(
        self, sign: int, left: int, columns: Columns
    ) -> dict[str, tuple[Number, Number, Number]]:
        """By variant, below (sign 1) or above (sign -1): g of the item, the sum of g, and r.

        There are none on the side of an infinite bound.
        """
        low, high = self.bounds
        end, middle = low if sign == 1 else high, min(max(0.0, low), high)
        if end == np.inf:
            return {}
        predictions: dict[str, tuple[Number, Number, Number]] = {"bound": (end, end * left, 0.0)}
        if "max_weight" in columns and middle != end:
            reach = columns["max_weight"] * (sign * (middle - end))
            predictions["middle"] = middle, middle * left, reach
        largest = columns.get("max_weighted_control" if sign == 1 else "max_weighted_headroom")
        if sign == 1 and largest is not None and low < 0:
            # An upper bound on max_rem w (g - A), from columns that are made for A = 0.
            heaviest = columns.get("max_weight")
            largest = None if heaviest is None else largest - low * heaviest
        if largest is not None and {"control", "control_left"} <= columns.keys():
            predictions["control"] = columns["control"], columns["control_left"], largest
        return predictions

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
    tested: tuple[float, ...] = ()
    """Values that are candidates themselves."""

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
        return spread_candidates(*self.ends, self.pool_size, tested=self.tested)

    def scale(self, candidates: FloatArray) -> float:
        """The size of a denominator, against which rounding is judged."""
        return self.d_max

    def bets(self, m: int, label: Values, q: Number, sums: Values, columns: Columns) -> Sides:
        """The bets of label m, given the sums before it, in one trajectory or in many."""
        (a, d), (before_a, before_d), N = label, sums, self.pool_size
        left, weight = N - m + 1, 1 / (N * q)
        if left < 1:
            raise DrawsError(f"All {N} items of the pool have their label: there is no label {m}.")
        if not np.all((a >= 0) & (a <= d) & (d <= self.d_max)):
            raise LossError(
                f"A ratio needs 0 <= a <= d <= d_max = {self.d_max:g} for every item, but here "
                f"a = {a} and d = {d}. Declare a larger d_max, or look for what is wrong with them."
            )
        mean = self.denominator_mean
        if mean is not None and np.any(before_d + d > mean * N * (1 + 1e-9)):
            raise LossError(
                f"The denominators seen sum to {np.max(before_d + d):g}, more than "
                f"denominator_mean = {mean:g} times the pool size {N}. It is to be the exact mean "
                f"over the pool."
            )
        reach = columns.get("max_weighted_denominator")  # a bound r on w D
        if reach is None and "max_weight" in columns:
            reach = self.d_max * columns["max_weight"]
        if reach is not None:
            name = "max_weighted_denominator"
            _check_maxima({name: weight * d}, {name: reach})

        def side(a: Number, before: Number) -> dict[str, Bet]:
            e, all_d = before / N, (self.d_max * left + before_d) / N
            bets: dict[str, Bet] = {"bound": (weight * a, weight * (self.d_max - d), all_d, e)}
            if self.denominator_mean is not None:
                bets["known"] = (weight * a, 0.0, self.denominator_mean, e)
            if reach is not None:
                bets["middle"] = (weight * a, reach - weight * d, reach + before_d / N, e)
            return bets

        return side(a, before_a), side(d - a, before_d - before_a)

    def prior(self, variants: Variants, columns: Columns) -> FloatArray:
        """Equal weights of the strategies, whatever the design."""
        return equal_prior(variants)

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


def _check_maxima(own: Columns, columns: Columns) -> None:
    """Refuse a maximum that the drawn item's `own` value exceeds."""
    for name, value in own.items():
        largest = columns.get(name, np.inf)
        wrong = (value > largest * (1 + _SLACK)) & (value > largest * (1 - _SLACK))  # of any sign
        if wrong if isinstance(wrong, bool) else wrong.any():
            raise DrawsError(
                f"{name} is the largest value over the items that could be drawn, but the drawn "
                f"item's own is larger by {np.max(value - largest):.3g}. Give the columns of the "
                f"step at which the draw was made, with the item still in the pool, and for the "
                f"same bounds."
            )


_FORMAT = 2  # of what to_dict writes; it holds amounts for the present FRACTIONS

Game = MeanGame | RatioGame


class Watch:
    """The interval of a game, kept up to date label by label."""

    _game: Game
    _game_type: ClassVar[type[Game]]
    """Its fields are the arguments of the constructor."""

    def __init__(self, game: Game) -> None:
        self._game, self._n_labels, self._sums = game, 0, (0.0,) * len(game.sum_names)
        self._n_given = 0
        self._wealth = Wealth.start(np.empty(0), ((), ()), equal_prior(((), ())), *game.ends)

    def __len__(self) -> int:
        return self._n_labels

    def give(self, sums: Sequence[float], count: int) -> None:
        """Add the summed values of `count` items that became known without a draw.

        They count from the next label on, and are not drawn any more. Items that were never part
        of the pool have a count of 0.
        """
        added = (old + float(new) for old, new in zip(self._sums, sums, strict=False))
        self._sums = (*added, *self._sums[len(sums) :])
        self._n_given += count

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far: the nearest rejected candidates, if possible."""
        lowest, highest = self._game.possible(self._n_labels + self._n_given, self._sums)
        low, high = self._wealth.low, self._wealth.high
        return min(max(low, lowest), highest), max(min(high, highest), lowest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        return {
            "format": _FORMAT,
            **{name: _plain(getattr(self._game, name)) for name in self._arguments()},
            "n_labels": self._n_labels,
            "n_given": self._n_given,
            **dict(zip(self._game.sum_names, self._sums, strict=True)),
            "variants": [list(names) for names in self._wealth.variants],
            "wealth": self._wealth.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` wrote."""
        try:
            if stored["format"] != _FORMAT:
                raise InputError(f"format {stored['format']!r} is not {_FORMAT}")
            watch = cls(**{name: _restored(stored[name]) for name in cls._arguments()})
            watch._restore(stored)
        except (KeyError, TypeError, ValueError) as wrong:
            name = cls.__name__
            raise InputError(f"This is not what {name}.to_dict writes: {wrong!r}.") from wrong
        return watch

    @classmethod
    def _arguments(cls) -> list[str]:
        return [field.name for field in fields(cls._game_type)]

    def _restore(self, stored: Mapping[str, Any]) -> None:
        below, above = (tuple(names) for names in stored["variants"])
        self._sums = tuple(stored[name] for name in self._game.sum_names)
        self._wealth = Wealth.from_dict(stored["wealth"], (below, above))
        self._n_labels, self._n_given = stored["n_labels"], stored.get("n_given", 0)

    def _add(
        self, label: Mapping[str, float], q: float, columns: Mapping[str, float | None]
    ) -> FloatArray:
        """Add one label and return its bets; a label with anything wrong changes nothing."""
        game, wealth, m = self._game, self._wealth, self._n_labels + self._n_given + 1
        values = tuple(finite_number(name, value) for name, value in label.items())
        q = finite_number("q", q)
        if not 0 < q <= 1:
            raise DrawsError(
                f"q must be above 0 and at most 1, the probability that the item had when it was "
                f"drawn; it is {q}."
            )
        q = max(q, 1 / LARGEST)  # such an item is never seen, and a smaller weight wins less
        present = {name: finite_number(name, x) for name, x in columns.items() if x is not None}
        sides = game.bets(m, values, q, self._sums, present)
        if not self._n_labels:
            names = tuple(sides[0]), tuple(sides[1])
            prior = game.prior(names, present)
            wealth = Wealth.start(game.first_candidates(), names, prior, *game.ends)
        bets = bet_table(sides, wealth.variants)
        self._wealth = place_bets(game, wealth, self._n_labels + 1, bets)
        self._sums = tuple(float(total) for total in game.add(m, values, q, self._sums))
        self._n_labels += 1
        return bets


def place_bets(game: Game, wealth: Wealth, m: int, bets: FloatArray) -> Wealth:
    """The wealth after the bets of label m."""
    scale = game.scale(wealth.candidates)
    return step(wealth, bets, m=m, level=game.level, scale=scale, mirror=game.mirror)


def _plain(setting: Any) -> Any:  # noqa: ANN401
    """A setting of a game, ready for JSON: tuples are lists, and an infinite bound is None."""
    return [None if x == np.inf else x for x in setting] if type(setting) is tuple else setting


def _restored(setting: Any) -> Any:  # noqa: ANN401
    """The setting that `_plain` wrote."""
    return [np.inf if x is None else x for x in setting] if type(setting) is list else setting


class Betting(Watch):
    """An interval for the pool risk that may be watched while labels come in.

    It covers the pool risk after all labels at once with probability `level`, however the
    proposal adapts and whenever one stops.

    The columns that `update` takes describe what else could have been drawn. All are optional,
    and make the interval narrower. The wealth is split at the first label among the bets for which
    that label has the columns: equally, or unevenly if the largest weight shows an uneven design.
    At a later label without the columns that share does not bet, and columns that appear only
    later are not used.

    Parameters
    ----------
    pool_size : The number of items in the pool, N.
    bounds : The least and the largest loss (A, B). B may be infinite; then there is a lower limit
        only.
    level : The probability that all intervals hold.
    excluded : Items that can never be drawn. The interval is then for 1/N times the summed losses
        of the others: widen it by what the excluded ones may have.
    tested : Values added to the fine grid whose values limits are, so that each is excluded at the
        first label that allows it.

    >>> watch = Betting(pool_size=100, bounds=(0, 1))
    >>> for loss in [1, 0, 0, 0] * 5:
    ...     watch.update(loss, q=1 / (100 - len(watch)))
    >>> low, high = watch.interval()
    >>> round(low, 3), round(high, 3)
    (0.071, 0.594)
    """

    _game: MeanGame
    _game_type = MeanGame

    def __init__(
        self,
        pool_size: int,
        bounds: tuple[float, float] = (0.0, 1.0),
        level: float = 0.95,
        excluded: int = 0,
        tested: Sequence[float] = (),
    ) -> None:
        game = MeanGame(pool_size, as_bounds(bounds), level, excluded, as_tested(tested))
        super().__init__(game)
        self._history: list[FloatArray] = []  # the bets so far; needed only where B is infinite

    def update(
        self,
        loss: float,
        q: float,
        *,
        max_weight: float | None = None,
        control: float | None = None,
        control_left: float | None = None,
        max_weighted_control: float | None = None,
        max_weighted_headroom: float | None = None,
    ) -> None:
        """Add one label; if anything is wrong, an error is raised and nothing changes.

        The columns are of the items that could then be drawn, this one included, with
        w(n) = 1/(N q(n)) and a prediction g(n) of the loss that does not use this label.

        Parameters
        ----------
        loss : The loss of the item.
        q : The probability with which it was drawn.
        max_weight : The largest w.
        control : g of this item.
        control_left : The sum of g.
        max_weighted_control : The largest w g.
        max_weighted_headroom : The largest w (B - g).
        """
        columns = (max_weight, control, control_left, max_weighted_control, max_weighted_headroom)
        terms = self._sums[1]
        bets = self._add({"loss": loss}, q, dict(zip(COLUMNS, columns, strict=True)))
        if not self._game.bounded:
            self._history.append(bets)
            # At m = 1, 2, 4, 8, ... every label is replayed about once, however many there are.
            if len(self) & (len(self) - 1) == 0 or terms <= 0 < self._sums[1]:
                self._replay()

    def _replay(self) -> None:
        """Put new candidates around the present estimate, and place all bets against them.

        No grid can be laid out beforehand without an upper bound. The wealth against a candidate
        does not depend on when the candidate is chosen, so the limit holds.
        """
        game, start = self._game, self._wealth
        estimate = self._sums[1] / len(self)
        if estimate <= 0:
            return
        candidates = game.ends[0] + estimate * np.geomspace(1e-4, 2, N_CANDIDATES)
        candidates = candidates[candidates > start.low]
        wealth = Wealth.start(candidates, start.variants, start.prior, start.low, np.inf)
        for m, bets in enumerate(self._history, start=1):
            wealth = place_bets(game, wealth, m, bets)
        self._wealth = wealth

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        return super().to_dict() | {"history": pack(np.array(self._history))}

    def _restore(self, stored: Mapping[str, Any]) -> None:
        super()._restore(stored)
        n_bets = 0 if self._game.bounded else len(self)
        shape = n_bets, 4, self._wealth.n_below, 1
        self._history = list(unpack(stored["history"]).reshape(shape))


class RatioBetting(Watch):
    """An interval for mean(A)/mean(D) over the pool that may be watched while labels come in.

    For 0 <= A <= D <= `d_max` it covers the ratio after all labels at once with probability
    `level`, however the proposal adapts and whenever one stops. As in `Betting`, the first label
    decides which columns are used.

    Parameters
    ----------
    pool_size : The number of items in the pool, N.
    d_max : The largest D that an item may have.
    level : The probability that all intervals hold.
    denominator_mean : The pool mean of D if that is known exactly, as for precision, where D = 1
        for the items predicted positive.
    tested : As for `Betting`.

    >>> watch = RatioBetting(pool_size=1000)
    >>> for right, relevant in [(1, 1), (0, 0), (1, 1), (0, 1), (1, 1)] * 30:
    ...     q = 1 / (1000 - len(watch))
    ...     watch.update(right, relevant, q, max_weight=1 / (1000 * q))
    >>> low, high = watch.interval()
    >>> round(low, 2), round(high, 2)
    (0.62, 0.85)
    """

    _game: RatioGame
    _game_type = RatioGame

    def __init__(
        self,
        pool_size: int,
        d_max: float = 1.0,
        level: float = 0.95,
        denominator_mean: float | None = None,
        tested: Sequence[float] = (),
    ) -> None:
        if denominator_mean is not None:
            denominator_mean = finite_number("denominator_mean", denominator_mean)
        d_max = finite_number("d_max", d_max)
        game = RatioGame(pool_size, d_max, level, denominator_mean, as_tested(tested))
        super().__init__(game)

    def update(
        self,
        a: float,
        d: float,
        q: float,
        *,
        max_weight: float | None = None,
        max_weighted_denominator: float | None = None,
    ) -> None:
        """Add one label; if anything is wrong, an error is raised and nothing changes.

        Parameters
        ----------
        a, d : The numerator and the denominator of the item.
        q : The probability with which it was drawn.
        max_weight : The largest 1/(N q(n)) over the items that could then be drawn.
        max_weighted_denominator : The largest D(n)/(N q(n)) if all D are known, which is better.
        """
        widths = {"max_weight": max_weight, "max_weighted_denominator": max_weighted_denominator}
        self._add({"a": a, "d": d}, q, widths)


def betting_interval(
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    *,
    excluded: int = 0,
    design: Mapping[str, ArrayLike] | None = None,
    given: GivenValues | None = None,
) -> tuple[float, float]:
    """The interval of `Betting` after all the labels, in the order in which they were drawn.

    Parameters
    ----------
    losses, probability : The loss and the probability of each draw, in order.
    pool_size, bounds, level, excluded : As for `Betting`.
    design : One value a draw under the names of the columns of `Betting.update`; others are
        ignored.
    given : Losses of items of the pool that became known between the draws.

    >>> low, high = betting_interval([1.0, 0.0, 0.0], [0.2, 0.1, 0.1], pool_size=10)
    >>> round(low, 3), round(high, 3)
    (0.1, 0.8)
    """
    watch = Betting(pool_size, bounds, level, excluded)
    for label in labels_of(losses, probability, design or {}, COLUMNS):
        if given is not None:
            watch.give(*given.at(len(watch) + 1))
        watch.update(**label)
    return watch.interval()


def running_betting(
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    *,
    excluded: int = 0,
    design: Mapping[str, ArrayLike] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The interval of `Betting` after 1, 2, ..., M labels: two arrays, low and high.

    Parameters
    ----------
    losses, probability, pool_size, bounds, level, excluded, design : As for `betting_interval`.

    >>> low, high = running_betting([1.0, 0.0, 0.0], [0.2, 0.1, 0.1], pool_size=10)
    >>> low.round(3), high.round(3)
    (array([0.1, 0.1, 0.1]), array([1. , 0.9, 0.8]))
    """
    watch = Betting(pool_size, bounds, level, excluded)
    limits = []
    for label in labels_of(losses, probability, design or {}, COLUMNS):
        watch.update(**label)
        limits.append(watch.interval())
    low, high = np.array(limits, dtype=np.float64).reshape(-1, 2).T
    return low, high
