"""Intervals that hold at every label at once, for any number of labels and any proposal.

They come from betting (Waudby-Smith and Ramdas, arXiv:2010.09686) on the terms a_m of the
estimators. `betting_games` shows the bets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats, same_length
from levelled.estimators.intervals.betting_games import COLUMNS, MeanGame, RatioGame
from levelled.estimators.intervals.betting_watch import (
    Watch,
    as_tested,
    finite_number,
    place_bets,
)
from levelled.estimators.intervals.betting_wealth import N_CANDIDATES, Wealth, pack, unpack
from levelled.estimators.intervals.logical import as_bounds


class Betting(Watch):
    """An interval for the pool risk that may be watched while labels come in.

    For losses in `bounds` = (A, B) it covers the pool risk after all labels at once with
    probability `level`, however the proposal adapts and whenever one stops. B may be infinite;
    then there is a lower limit only.

    The columns that `update` takes describe what else could have been drawn. All are optional,
    and make the interval narrower. The wealth is split at the first label among the bets for which
    that label has the columns: equally, or unevenly if the largest weight shows an uneven design.
    At a later label without the columns that share does not bet, and columns that appear only
    later are not used.

    With `excluded` items that can never be drawn, the interval is for 1/N times the summed
    losses of the others: widen it by what the excluded ones may have. Limits are values of a fine
    grid; a value that matters is added to it by `tested`, so that it is excluded at the first
    label that allows it.

    >>> watch = Betting(pool_size=100, bounds=(0, 1))
    >>> for loss in [1, 0, 0, 0] * 5:
    ...     watch.update(loss, q=1 / (100 - len(watch)))
    >>> low, high = watch.interval()
    >>> round(low, 3), round(high, 3)
    (0.071, 0.594)
    """

    _game: MeanGame

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
        """Add one label: its loss, and the probability `q` with which it was drawn.

        Of the items that could then be drawn, this one included, with w(n) = 1/(N q(n)) and a
        prediction g(n) of the loss that does not use this label, the columns are: the largest
        w; g of this item; the sum of g; the largest w g; and the largest w (B - g). If anything
        is wrong, an error is raised and nothing changes.
        """
        columns = (max_weight, control, control_left, max_weighted_control, max_weighted_headroom)
        terms = self._state.sums[1]
        bets = self._add({"loss": loss}, q, dict(zip(COLUMNS, columns, strict=True)))
        if not self._game.bounded:
            self._history.append(bets)
            # At m = 1, 2, 4, 8, ... every label is replayed about once, however many there are.
            if len(self) & (len(self) - 1) == 0 or terms <= 0 < self._state.sums[1]:
                self._replay()

    def _replay(self) -> None:
        """Put new candidates around the present estimate, and place all bets against them.

        No grid can be laid out beforehand without an upper bound. The wealth against a candidate
        does not depend on when the candidate is chosen, so the limit holds.
        """
        game, state = self._game, self._state
        estimate = state.sums[1] / state.n_labels
        if estimate <= 0:
            return
        candidates = game.ends[0] + estimate * np.geomspace(1e-4, 2, N_CANDIDATES)
        candidates = candidates[candidates > state.wealth.low]
        start = state.wealth
        wealth = Wealth.start(candidates, start.variants, start.prior, start.low, np.inf)
        for m, bets in enumerate(self._history, start=1):
            wealth = place_bets(game, wealth, m, bets)
        self._state = replace(state, wealth=wealth)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        return super().to_dict() | {"history": pack(np.array(self._history))}

    def _settings(self) -> dict[str, Any]:
        game, (low, high) = self._game, self._game.bounds
        return {
            "pool_size": game.pool_size,
            "bounds": [low, high if game.bounded else None],
            "level": game.level,
            "excluded": game.excluded,
            "tested": [*game.tested],
        }

    @classmethod
    def _create(cls, settings: Mapping[str, Any]) -> Self:
        low, high = settings["bounds"]
        bounds = low, np.inf if high is None else high
        rest = (settings[name] for name in ("level", "excluded", "tested"))
        return cls(settings["pool_size"], bounds, *rest)

    def _restore(self, stored: Mapping[str, Any]) -> None:
        super()._restore(stored)
        n_bets = 0 if self._game.bounded else len(self)
        shape = n_bets, 4, self._state.wealth.n_below, 1
        self._history = list(unpack(stored["history"]).reshape(shape))


class RatioBetting(Watch):
    """An interval for mean(A)/mean(D) over the pool that may be watched while labels come in.

    For 0 <= A <= D <= `d_max` it covers the ratio after all labels at once with probability
    `level`, however the proposal adapts and whenever one stops. `denominator_mean` is the pool
    mean of D if that is known exactly, as for precision, where D = 1 for the items predicted
    positive. As in `Betting`, the first label decides which columns are used, and values that are
    `tested` are added to the grid of limits.

    >>> watch = RatioBetting(pool_size=1000)
    >>> for right, relevant in [(1, 1), (0, 0), (1, 1), (0, 1), (1, 1)] * 30:
    ...     q = 1 / (1000 - len(watch))
    ...     watch.update(right, relevant, q, max_weight=1 / (1000 * q))
    >>> low, high = watch.interval()
    >>> round(low, 2), round(high, 2)
    (0.62, 0.85)
    """

    _game: RatioGame

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
        """Add one label: its numerator and denominator, and its probability `q`.

        `max_weight` is the largest 1/(N q(n)) over the items that could then be drawn, and
        `max_weighted_denominator` the largest D(n)/(N q(n)) if all D are known, which is better.
        """
        columns = {
            "max_weight": max_weight,
            "max_weighted_denominator": max_weighted_denominator,
        }
        self._add({"a": a, "d": d}, q, columns)

    def _settings(self) -> dict[str, Any]:
        return asdict(self._game) | {"tested": [*self._game.tested]}

    @classmethod
    def _create(cls, settings: Mapping[str, Any]) -> Self:
        names = "pool_size", "d_max", "level", "denominator_mean", "tested"
        return cls(*(settings[name] for name in names))


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
    names in it are ignored.

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
    limits = []
    for label in _labels(losses, probability, design):
        watch.update(**label)
        limits.append(watch.interval())
    low, high = np.array(limits, dtype=np.float64).reshape(-1, 2).T
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
