"""One shell for all intervals by betting: a game, its state, and the update of one label.

A *game* is a target with the bets that each label offers on it; `betting_games` has two. The shell
keeps the wealth of those bets up to date and turns it into an interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from levelled._check import FloatArray
from levelled.errors import DrawsError, InputError
from levelled.estimators.intervals.betting_wealth import (
    Columns,
    Number,
    Sides,
    Values,
    Variants,
    Wealth,
    bet_table,
    equal_prior,
    step,
)
from levelled.estimators.intervals.logical import LARGEST, Bounds

_FORMAT = 2  # of what to_dict writes; it holds amounts for the present FRACTIONS


class Game(Protocol):
    """A target, and the bets that labels offer on it: all that is fixed before the first label.

    Labels, and the sums over them that the game needs, are tuples of values. The coordinate of
    the bets above is `mirror` minus the candidate.
    """

    mirror: ClassVar[float]
    sum_names: ClassVar[tuple[str, ...]]

    @property
    def level(self) -> float:
        """The probability with which all the intervals cover the target."""

    @property
    def ends(self) -> Bounds:
        """The range of the target before the first label."""

    def first_candidates(self) -> FloatArray:
        """The candidates at the first label, in order."""

    def scale(self, candidates: FloatArray) -> float:
        """The size of a loss, against which rounding is judged."""

    def bets(self, m: int, label: Values, q: Number, sums: Values, columns: Columns) -> Sides:
        """The bets of label m, given the sums before it; an impossible label is refused."""

    def prior(self, variants: Variants, columns: Columns) -> FloatArray:
        """The strategies' weights, from the columns of the first draw: [variants, fractions, 1],
        or with a last axis of trajectories."""

    def add(self, m: int, label: Values, q: Number, sums: Values) -> Values:
        """The sums after label m."""

    def possible(self, n_labels: int, sums: tuple[float, ...]) -> Bounds:
        """The range of the target that the labels so far leave possible."""


@dataclass(frozen=True, slots=True, eq=False)
class BettingState:
    """The number of labels so far, the sums over them, and the wealth they have led to."""

    n_labels: int
    sums: tuple[float, ...]
    wealth: Wealth


class Watch:
    """The interval of a game, kept up to date label by label."""

    _game: Game

    def __init__(self, game: Game) -> None:
        self._game = game
        wealth = Wealth.start(np.empty(0), ((), ()), equal_prior(((), ())), *game.ends)
        self._state = BettingState(0, (0.0,) * len(game.sum_names), wealth)

    def __len__(self) -> int:
        return self._state.n_labels

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far: the nearest rejected candidates, if possible."""
        state = self._state
        lowest, highest = self._game.possible(state.n_labels, state.sums)
        low, high = state.wealth.low, state.wealth.high
        return min(max(low, lowest), highest), max(min(high, highest), lowest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        state = self._state
        return {
            "format": _FORMAT,
            **self._settings(),
            "n_labels": state.n_labels,
            **dict(zip(self._game.sum_names, state.sums, strict=True)),
            "variants": [list(names) for names in state.wealth.variants],
            "wealth": state.wealth.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` wrote."""
        try:
            if stored["format"] != _FORMAT:
                raise InputError(f"format {stored['format']!r} is not {_FORMAT}")
            watch = cls._create(stored)
            watch._restore(stored)
        except (KeyError, TypeError, ValueError) as wrong:
            name = cls.__name__
            raise InputError(f"This is not what {name}.to_dict writes: {wrong!r}.") from wrong
        return watch

    def _settings(self) -> dict[str, Any]:
        """The arguments of the constructor, ready for JSON."""
        raise NotImplementedError

    @classmethod
    def _create(cls, settings: Mapping[str, Any]) -> Self:
        """Call the constructor with what `_settings` returned."""
        raise NotImplementedError

    def _restore(self, stored: Mapping[str, Any]) -> None:
        below, above = (tuple(names) for names in stored["variants"])
        sums = tuple(stored[name] for name in self._game.sum_names)
        wealth = Wealth.from_dict(stored["wealth"], (below, above))
        self._state = BettingState(stored["n_labels"], sums, wealth)

    def _add(
        self, label: Mapping[str, float], q: float, columns: Mapping[str, float | None]
    ) -> FloatArray:
        """Add one label and return its bets; a label with anything wrong changes nothing."""
        game, state, m = self._game, self._state, self._state.n_labels + 1
        values = tuple(finite_number(name, value) for name, value in label.items())
        q = _probability(q)
        present = {name: finite_number(name, x) for name, x in columns.items() if x is not None}
        sides = game.bets(m, values, q, state.sums, present)
        wealth = state.wealth
        if m == 1:
            names = tuple(sides[0]), tuple(sides[1])
            prior = game.prior(names, present)
            wealth = Wealth.start(game.first_candidates(), names, prior, *game.ends)
        bets = bet_table(sides, wealth.variants)
        wealth = place_bets(game, wealth, m, bets)
        sums = tuple(float(total) for total in game.add(m, values, q, state.sums))
        self._state = BettingState(m, sums, wealth)
        return bets


def place_bets(game: Game, wealth: Wealth, m: int, bets: FloatArray) -> Wealth:
    """The wealth after the bets of label m."""
    scale = game.scale(wealth.candidates)
    return step(wealth, bets, m=m, level=game.level, scale=scale, mirror=game.mirror)


def finite_number(name: str, value: float) -> float:
    """Return `value` as a finite float that may be multiplied."""
    try:
        number = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be a number; it is {value!r}.") from wrong
    if not -LARGEST < number < LARGEST:
        raise InputError(f"{name} must be finite (below {LARGEST:g} in size); it is {number}.")
    return number


def as_tested(values: Sequence[float]) -> tuple[float, ...]:
    """Return values that are to be candidates as finite floats."""
    return tuple(finite_number("A tested value", value) for value in values)


def _probability(q: float) -> float:
    """Return `q` as the probability of a drawn item, raised to 1e-100 if it is smaller.

    Such an item is never seen, and a smaller weight wins less.
    """
    number = finite_number("q", q)
    if not 0 < number <= 1:
        raise DrawsError(
            f"q must be above 0 and at most 1, the probability that the item had when it was "
            f"drawn; it is {number}."
        )
    return max(number, 1 / LARGEST)
