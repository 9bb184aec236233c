"""Whether betting would ever have rejected the truth, in many trajectories at once.

A study of coverage knows the truth and needs no interval: the truth is covered at every label
at once exactly if it is never rejected. That takes one candidate a trajectory instead of 800.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, floats
from levelled.errors import InputError
from levelled.estimators.intervals.betting_bets import COLUMNS, variants_of
from levelled.estimators.intervals.betting_game import Game, drawn_at, probabilities_of
from levelled.estimators.intervals.betting_wealth import (
    Sides,
    grown,
    opened,
    rejected,
    table,
)
from levelled.estimators.intervals.logical import check_bounds

__all__ = ["first_rejections", "rejected_at"]


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
    losses = floats("losses", losses, ndim=2)
    probability = floats("probability", probability, ndim=2)
    columns = {
        name: floats(f"design column {name!r}", values, ndim=2)
        for name, values in (design or {}).items()
        if name in COLUMNS
    }
    for name, values in {"probability": probability, **columns}.items():
        if values.shape != losses.shape:
            raise InputError(f"losses are {losses.shape}, but {name} is {values.shape}.")
    probability = probabilities_of(probability)
    game = Game(pool_size, (float(bounds[0]), float(bounds[1])), level, excluded)
    check_bounds(losses, game.bounds)
    scale = game.bounds[1] - game.bounds[0] if game.bounded else float(np.max(mu)) - game.ends[0]
    return first_rejections(
        floats("mu", mu), _labels(game, losses, probability, columns), len(losses), level, scale
    )


def first_rejections(
    truth: FloatArray,
    labels: Iterable[Sides],
    n_trajectories: int,
    level: float,
    scale: float,
    mirror: float = 0.0,
) -> IntArray:
    """The label at which each trajectory rejects its truth, 0 for never, given all the bets."""
    when = np.zeros(n_trajectories, dtype=np.int64)
    truth = np.broadcast_to(truth, n_trajectories)
    for m, sides in enumerate(labels, start=1):
        if m == 1:
            variants = variants_of(sides)
            wealth = opened(truth, variants, 0.0, 0.0)
            amounts, n_below = wealth.amounts, wealth.n_below
            t = np.repeat([truth, mirror - truth], [len(names) for names in variants], axis=0)
        bets = table(sides, variants, n_trajectories)
        amounts, impossible = grown(amounts, t, bets, m=m, scale=scale)
        too_low, too_high = rejected(amounts, impossible, n_below, level)
        when[(too_low | too_high) & (when == 0)] = m
        amounts[..., when > 0] = 1  # decided, and not to overflow
    return when


def _labels(
    game: Game, losses: FloatArray, probability: FloatArray, columns: Mapping[str, FloatArray]
) -> Iterator[Sides]:
    before = np.zeros(len(losses))
    for m in range(1, losses.shape[1] + 1):
        at = m - 1
        here = {name: values[:, at] for name, values in columns.items()}
        loss = losses[:, at]
        yield drawn_at(game, m, loss, probability[:, at], before, here)[1]
        before = before + loss
