"""Intervals that hold at every label at once, for any number of labels and any proposal."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats, same_length
from levelled.errors import InputError
from levelled.estimators.intervals.betting_bets import COLUMNS
from levelled.estimators.intervals.betting_game import (
    Game,
    GameState,
    is_due,
    limits,
    number,
    probability_of,
    rebuilt,
    started,
    told,
)
from levelled.estimators.intervals.betting_wealth import Wealth, packed, unpacked

__all__ = ["Betting", "betting_interval", "running_betting"]

_FORMAT = 1  # of what to_dict writes; it holds amounts for the present FRACTIONS


class Betting:
    """An interval for the pool risk that may be watched while labels come in.

    For losses in `bounds` = (A, B) it covers the pool risk after all labels at once with
    probability `level`, however the proposal adapts and whenever one stops. B may be infinite;
    then there is a lower limit only. The method is betting (Waudby-Smith and Ramdas,
    arXiv:2010.09686) on the terms a_m of the estimators: `betting_bets` shows the bets.

    The columns that `update` takes describe what else could have been drawn. All are optional,
    and make the interval narrower. The money is shared out at the first label, equally among
    the predictions for which that label has the columns; at a later label without them such a
    share does not bet, and columns that appear only later are not used.

    With `excluded` items that can never be drawn, the interval is for 1/N times the summed
    losses of the others: widen it by what the excluded ones may have.

    >>> watch = Betting(pool_size=100, bounds=(0, 1))
    >>> for loss in [1, 0, 0, 0] * 5:
    ...     watch.update(loss, q=1 / (100 - len(watch)))
    >>> low, high = watch.interval()
    >>> round(low, 3), round(high, 3)
    (0.071, 0.594)
    """

    def __init__(
        self,
        pool_size: int,
        bounds: tuple[float, float] = (0.0, 1.0),
        level: float = 0.95,
        excluded: int = 0,
    ) -> None:
        self._game = Game(pool_size, _pair(bounds), level, excluded)
        self._state = started(self._game)
        self._history: list[FloatArray] = []  # needed only where B is infinite

    def __len__(self) -> int:
        return self._state.n_labels

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
        """Take in one label: its loss, and the probability `q` with which it was drawn.

        Of the items that could then be drawn, this one included, with w(n) = 1/(N q(n)) and a
        prediction g(n) of the loss that does not know this label, the columns are: the largest
        w; g of this item; the sum of g; the largest w g; and the largest w (B - g). In any
        trouble the label is refused as a whole.
        """
        columns = (max_weight, control, control_left, max_weighted_control, max_weighted_headroom)
        given = {
            name: number(name, value)
            for name, value in zip(COLUMNS, columns, strict=True)
            if value is not None
        }
        loss, q = number("loss", loss), probability_of(q)
        state, bets = told(self._game, self._state, loss, q, given)
        if not self._game.bounded:
            self._history.append(bets)
            if is_due(self._state, state):
                state = rebuilt(self._game, state, self._history)
        self._state = state

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far."""
        return limits(self._game, self._state)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` goes on exactly."""
        game, state = self._game, self._state
        low, high = game.bounds
        return {
            "format": _FORMAT,
            "pool_size": game.pool_size,
            "bounds": [low, high if game.bounded else None],
            "level": game.level,
            "excluded": game.excluded,
            "n_labels": state.n_labels,
            "total": state.total,
            "terms": state.terms,
            "variants": [list(names) for names in state.variants],
            "wealth": state.wealth.to_dict(),
            "history": packed(np.array(self._history)),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Betting":
        """What `to_dict` wrote."""
        try:
            if kept["format"] != _FORMAT:
                raise InputError(f"format {kept['format']!r} is not {_FORMAT}")
            low, high = kept["bounds"]
            bounds = low, np.inf if high is None else high
            watch = cls(kept["pool_size"], bounds, kept["level"], kept["excluded"])
            below, above = (tuple(names) for names in kept["variants"])
            watch._state = GameState(
                kept["n_labels"],
                kept["total"],
                kept["terms"],
                (below, above),
                Wealth.from_dict(kept["wealth"], n_variants=len(below) + len(above)),
            )
            n_kept = 0 if watch._game.bounded else watch._state.n_labels
            watch._history = list(unpacked(kept["history"]).reshape(n_kept, 4, len(below), 1))
        except (KeyError, TypeError, ValueError) as wrong:
            raise InputError(f"This is not what Betting.to_dict writes: {wrong!r}.") from wrong
        return watch


def betting_interval(
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    *,
    excluded: int = 0,
    design: Mapping[str, ArrayLike] | None = None,
) -> tuple[float, float]:
    """The interval of `Betting` after all the labels, in the order in which they were drawn.

    `design` has one value a draw under the names of the columns of `Betting.update`; other
    names in it are passed over.

    >>> low, high = betting_interval([1.0, 0.0, 0.0], [0.2, 0.1, 0.1], pool_size=10)
    >>> round(low, 3), round(high, 3)
    (0.1, 0.8)
    """
    watch = Betting(pool_size, bounds, level, excluded)
    for label in _labels(losses, probability, design):
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

    >>> low, high = running_betting([1.0, 0.0, 0.0], [0.2, 0.1, 0.1], pool_size=10)
    >>> low.round(3), high.round(3)
    (array([0.1, 0.1, 0.1]), array([1. , 0.9, 0.8]))
    """
    watch = Betting(pool_size, bounds, level, excluded)
    seen = []
    for label in _labels(losses, probability, design):
        watch.update(**label)
        seen.append(watch.interval())
    low, high = np.array(seen, dtype=np.float64).reshape(-1, 2).T
    return low, high


def _labels(
    losses: ArrayLike, probability: ArrayLike, design: Mapping[str, ArrayLike] | None
) -> list[dict[str, float]]:
    columns = {"loss": losses, "q": probability} | {
        name: values for name, values in (design or {}).items() if name in COLUMNS
    }
    arrays = {name: floats(name, values, ndim=1, finite=False) for name, values in columns.items()}
    same_length(**arrays)
    return [
        dict(zip(arrays, row, strict=True))
        for row in zip(*(array.tolist() for array in arrays.values()), strict=True)
    ]


def _pair(bounds: tuple[float, float]) -> tuple[float, float]:
    pair = floats("bounds", bounds, ndim=1, finite=False)
    if len(pair) != 2:
        raise InputError(f"bounds must be two numbers, (low, high); they are {bounds!r}.")
    return float(pair[0]), float(pair[1])
