"""The label at which a watched interval first rejects a given value, in many trajectories at once.

A study of coverage knows the truth and needs no interval: the truth is covered at every label
at once exactly if it is never rejected. That takes one candidate a trajectory instead of 800.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, FloatArray, IntArray, floats
from levelled.errors import DrawsError, InputError
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.betting import COLUMNS, Game, MeanGame, RatioGame
from levelled.estimators.intervals.wealth import (
    Values,
    Wealth,
    bet_table,
    grow,
    reject,
)

__all__ = ["hedged_rejected_at", "ratio_rejected_at", "rejected_at"]


def rejected_at(
    mu: ArrayLike,
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    *,
    excluded: int = 0,
    design: Mapping[str, ArrayLike] | None = None,
) -> IntArray:
    """The label, counted from 1, at which `Betting` rejects the value `mu`; 0 if it never does.

    Losses, probabilities and the columns of `design` are [trajectories, M]; `mu` is one value,
    or one a trajectory.

    >>> rejected_at(0.02, [[1, 1, 0, 1], [0, 0, 0, 0]], np.full((2, 4), 0.01), pool_size=100)
    array([2, 0])
    """
    game = MeanGame(pool_size, (float(bounds[0]), float(bounds[1])), level, excluded)
    columns = {name: values for name, values in (design or {}).items() if name in COLUMNS}
    return _first_rejections(game, mu, {"losses": losses}, probability, columns)


def hedged_rejected_at(
    mu: ArrayLike,
    losses: ArrayLike,
    probability: ArrayLike,
    pool_size: int,
    budget: int,
    level: float = 0.95,
    *,
    design: Mapping[str, ArrayLike],
) -> IntArray:
    """The label, counted from 1, at which `Hedged` rejects the value `mu`; 0 if it never does.

    The arrays are those of `rejected_at`; `design` has the columns `hedged.COLUMNS`.
    """
    columns = {"loss": losses, "q": probability} | {name: design[name] for name in hedged.COLUMNS}
    arrays = {name: floats(name, values, ndim=2) for name, values in columns.items()}
    trajectories, M = arrays["loss"].shape
    value = np.broadcast_to(floats("mu", mu), (trajectories,))
    prices = np.repeat((1 - level) * np.array(hedged.SPLIT)[:, None], trajectories, axis=1)
    when, total = np.zeros(trajectories, dtype=np.int64), np.zeros(trajectories)
    for m in range(M):
        now = {name: array[:, m] for name, array in arrays.items()}
        n_left = max(budget - m, 1)
        prices = hedged.new_prices(value, prices, now["loss"], now, total, pool_size, n_left)
        when[(when == 0) & (prices >= 1).any(axis=0)] = m + 1
        total = total + now["loss"]
    return when


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
    game = RatioGame(pool_size, d_max, level, denominator_mean)
    largest = max_weighted_denominator
    columns = {} if largest is None else {"max_weighted_denominator": largest}
    return _first_rejections(game, theta, {"a": a, "d": d}, probability, columns)


def _first_rejections(
    game: Game,
    truth: ArrayLike,
    labels: Mapping[str, ArrayLike],
    probability: ArrayLike,
    columns: Mapping[str, ArrayLike],
) -> IntArray:
    """The label at which each trajectory rejects its truth, 0 for never."""
    label, q, design = _checked_arrays(labels, probability, columns)
    n_trajectories, budget = q.shape
    when = np.zeros(n_trajectories, dtype=np.int64)
    truth = np.broadcast_to(floats("truth", truth), n_trajectories)
    scale = game.scale(truth)
    sums: Values = (np.zeros(n_trajectories),) * len(game.sum_names)
    for m in range(1, budget + 1):
        values = tuple(column[:, m - 1] for column in label)
        here = {name: column[:, m - 1] for name, column in design.items()}
        sides = game.bets(m, values, q[:, m - 1], sums, here)
        sums = game.add(m, values, q[:, m - 1], sums)
        if m == 1:
            names = tuple(sides[0]), tuple(sides[1])
            start = Wealth.start(truth, names, game.prior(names, here), 0.0, 0.0)
            amounts, t = start.amounts, start.coordinates(game.mirror)
        bets = bet_table(sides, start.variants, n_trajectories)
        amounts, impossible = grow(amounts, t, bets, m=m, scale=scale)
        too_low, too_high = reject(amounts, start.prior, impossible, start.n_below, game.level)
        when[(too_low | too_high) & (when == 0)] = m
        amounts[..., when > 0] = 1  # decided, and not to overflow
    return when


def _checked_arrays(
    labels: Mapping[str, ArrayLike], probability: ArrayLike, columns: Mapping[str, ArrayLike]
) -> tuple[list[FloatArray], FloatArray, dict[str, FloatArray]]:
    """All arrays as numbers [trajectories, M] of one shape, with probabilities of drawn items."""
    label = {name: floats(name, values, ndim=2) for name, values in labels.items()}
    q = floats("probability", probability, ndim=2)
    design = {name: floats(name, values, ndim=2) for name, values in columns.items()}
    arrays = {**label, "probability": q, **design}
    if len({values.shape for values in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} is {values.shape}" for name, values in arrays.items())
        raise InputError(f"One value a label is needed everywhere: {shapes}.")
    wrong = q[~((q > 0) & (q <= 1))]
    if wrong.size:
        raise DrawsError(
            f"A drawn item had a probability above 0 and at most 1 when it was drawn; {wrong.size} "
            f"of {q.size} do not, the first is {wrong[0]}."
        )
    return list(label.values()), np.maximum(q, 1 / LARGEST), design
