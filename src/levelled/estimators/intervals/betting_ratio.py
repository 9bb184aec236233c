"""Anytime intervals for ratios of pool means, such as precision, recall and F1."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, floats
from levelled.errors import InputError
from levelled.estimators.intervals.betting_game import number, probabilities_of, probability_of
from levelled.estimators.intervals.betting_ratio_game import (
    RatioGame,
    RatioState,
    bets_of,
    limits,
    started,
    told,
)
from levelled.estimators.intervals.betting_truth import first_rejections
from levelled.estimators.intervals.betting_wealth import Sides, Wealth

__all__ = ["RatioBetting", "ratio_rejected_at"]

_FORMAT = 1  # of what to_dict writes; it holds amounts for the present FRACTIONS


class RatioBetting:
    """An interval for mean(A)/mean(D) over the pool that may be watched while labels come in.

    For 0 <= A <= D <= `d_max` it covers the ratio after all labels at once with probability
    `level`, however the proposal adapts and whenever one stops. `denominator_mean` is the pool
    mean of D if that is known exactly, as for precision, where D = 1 for the items predicted
    positive. As in `Betting`, the first label decides which columns are used.

    >>> watch = RatioBetting(pool_size=1000)
    >>> for right, relevant in [(1, 1), (0, 0), (1, 1), (0, 1), (1, 1)] * 30:
    ...     q = 1 / (1000 - len(watch))
    ...     watch.update(right, relevant, q, max_weight=1 / (1000 * q))
    >>> low, high = watch.interval()
    >>> round(low, 2), round(high, 2)
    (0.62, 0.85)
    """

    def __init__(
        self,
        pool_size: int,
        d_max: float = 1.0,
        level: float = 0.95,
        denominator_mean: float | None = None,
    ) -> None:
        mean = None if denominator_mean is None else number("denominator_mean", denominator_mean)
        self._game = RatioGame(pool_size, number("d_max", d_max), level, mean)
        self._state = started()

    def __len__(self) -> int:
        return self._state.n_labels

    def update(
        self,
        a: float,
        d: float,
        q: float,
        *,
        max_weight: float | None = None,
        max_weighted_denominator: float | None = None,
    ) -> None:
        """Take in one label: its numerator and denominator, and its probability `q`.

        `max_weight` is the largest 1/(N q(n)) over the items that could then be drawn, and
        `max_weighted_denominator` the largest D(n)/(N q(n)) if all D are known, which is better.
        """
        reach = None
        if max_weighted_denominator is not None:
            reach = number("max_weighted_denominator", max_weighted_denominator)
        elif max_weight is not None:
            reach = self._game.d_max * number("max_weight", max_weight)
        a, d, q = number("a", a), number("d", d), probability_of(q)
        self._state = told(self._game, self._state, a, d, q, reach)

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far."""
        return limits(self._game, self._state)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` goes on exactly."""
        game, state = self._game, self._state
        return {
            "format": _FORMAT,
            "pool_size": game.pool_size,
            "d_max": game.d_max,
            "level": game.level,
            "denominator_mean": game.denominator_mean,
            "n_labels": state.n_labels,
            "numerator": state.numerator,
            "denominator": state.denominator,
            "variants": [list(names) for names in state.variants],
            "wealth": state.wealth.to_dict(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "RatioBetting":
        """What `to_dict` wrote."""
        try:
            if kept["format"] != _FORMAT:
                raise InputError(f"format {kept['format']!r} is not {_FORMAT}")
            watch = cls(kept["pool_size"], kept["d_max"], kept["level"], kept["denominator_mean"])
            below, above = (tuple(names) for names in kept["variants"])
            watch._state = RatioState(
                kept["n_labels"],
                kept["numerator"],
                kept["denominator"],
                (below, above),
                Wealth.from_dict(kept["wealth"], n_variants=len(below) + len(above)),
            )
        except (KeyError, TypeError, ValueError) as wrong:
            raise InputError(f"This is not what RatioBetting.to_dict writes: {wrong!r}.") from wrong
        return watch


def ratio_rejected_at(
    theta: ArrayLike,
    a: ArrayLike,
    d: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    d_max: float = 1.0,
    level: float = 0.95,
    *,
    denominator_mean: float | None = None,
    max_weighted_denominator: ArrayLike | None = None,
) -> IntArray:
    """The label, counted from 1, at which `RatioBetting` rejects `theta`; 0 if it never does.

    `a`, `d`, `probability` and the column are [trajectories, M]; `theta` is one value, or one a
    trajectory. Where only the largest weight is known, the column is d_max times that.

    >>> a, q = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 1]]), np.full((2, 6), 0.01)
    >>> ratio_rejected_at(0.03, a, np.ones((2, 6)), q, 100, denominator_mean=1.0)
    array([2, 3])
    """
    given = {"a": a, "d": d, "probability": probability}
    if max_weighted_denominator is not None:
        given["max_weighted_denominator"] = max_weighted_denominator
    arrays = {name: floats(name, values, ndim=2) for name, values in given.items()}
    if len({values.shape for values in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise InputError(f"One value a label is needed everywhere: {shapes}.")
    arrays["probability"] = probabilities_of(arrays["probability"])
    game = RatioGame(pool_size, d_max, level, denominator_mean)
    n = len(arrays["a"])
    return first_rejections(floats("theta", theta), _labels(game, arrays), n, level, d_max, 1.0)


def _labels(game: RatioGame, arrays: Mapping[str, FloatArray]) -> Iterator[Sides]:
    a, d, q = arrays["a"], arrays["d"], arrays["probability"]
    reach = arrays.get("max_weighted_denominator")
    before = np.zeros(len(a)), np.zeros(len(a))
    for at in range(a.shape[1]):
        label = a[:, at], d[:, at]
        possible = None if reach is None else reach[:, at]
        yield bets_of(game, at + 1, label, q[:, at], before, possible)
        before = before[0] + label[0], before[1] + label[1]
