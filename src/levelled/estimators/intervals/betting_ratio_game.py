"""Anytime intervals for ratios of pool means, such as precision, recall and F1.

theta = mean(A)/mean(D) with 0 <= A <= D <= d_max for every item. A candidate theta is tested by
betting that the pool mean of l = A - theta D is 0, as in `betting_bets`, with the items' bounds
-theta d_max <= l <= (1 - theta) d_max. With w = 1/(N q_m) and sums S over the labels before, the
gamble that theta is too low pays

    bound     g = -theta d_max:  N w (A + theta (d_max - D)) / (theta (d_max left + S_D) - S_A)
    known     g = -theta D:      w A / (theta mean(D) - S_A/N)
    middle    g = 0:             (w A + theta (r - w D)) / (theta (r + S_D/N) - S_A/N)

and the gamble that it is too high is the same for D - A and 1 - theta. All fall with theta, so
limits hold at any spacing of the candidates. "known" is played where the pool mean of D is known
(precision, slices: D comes from the predictions). "middle" suits metrics to which most items
contribute nothing; it needs a bound r on w D over what could be drawn.
"""

from dataclasses import dataclass

import numpy as np

from levelled._check import between, whole
from levelled.errors import DrawsError, InputError, LossError
from levelled.estimators.intervals.betting_bets import Number, variants_of
from levelled.estimators.intervals.betting_wealth import (
    Bet,
    Sides,
    Variants,
    Wealth,
    candidates,
    opened,
    step,
    table,
)

__all__ = ["RatioGame", "RatioState", "bets_of", "limits", "started", "told"]


@dataclass(frozen=True, slots=True)
class RatioGame:
    """What is fixed before the first label."""

    pool_size: int
    d_max: float
    level: float
    denominator_mean: float | None = None

    def __post_init__(self) -> None:
        whole("pool_size", self.pool_size, least=1)
        between("d_max", self.d_max, 0, np.inf, open_=True)
        between("level", self.level, 0, 1, open_=True)
        if self.denominator_mean is not None and not 0 < self.denominator_mean <= self.d_max:
            raise InputError(
                f"denominator_mean must be above 0 and at most d_max = {self.d_max:g}; it is "
                f"{self.denominator_mean!r}. A ratio over nothing has no value."
            )


@dataclass(frozen=True, slots=True, eq=False)
class RatioState:
    """What the labels so far have made of the game."""

    n_labels: int
    numerator: float
    denominator: float
    variants: Variants
    wealth: Wealth


def started() -> RatioState:
    """The state before the first label, which decides who plays."""
    nobody: Variants = ((), ())
    return RatioState(0, 0.0, 0.0, nobody, opened(np.empty(0), nobody, 0.0, 1.0))


def told(
    game: RatioGame, state: RatioState, a: float, d: float, q: float, reach: float | None
) -> RatioState:
    """The state after one more label. `reach` is r, the largest w D that was possible."""
    m = state.n_labels + 1
    before = state.numerator, state.denominator
    sides = bets_of(game, m, (a, d), q, before, reach)
    _check_known(game, state.denominator + d)
    variants, wealth = state.variants, state.wealth
    if m == 1:
        variants = variants_of(sides)
        wealth = opened(candidates(0.0, 1.0, game.pool_size), variants, 0.0, 1.0)
    bets = table(sides, variants)
    wealth = step(wealth, bets, m=m, level=game.level, scale=game.d_max, mirror=1.0)
    return RatioState(m, state.numerator + a, state.denominator + d, variants, wealth)


def bets_of(
    game: RatioGame,
    m: int,
    label: tuple[Number, Number],
    q: Number,
    before: tuple[Number, Number],
    reach: Number | None,
) -> Sides:
    """The bets that label m offers, of one trajectory or of many; pairs are (A, D)."""
    a, d = label
    N, left, weight = game.pool_size, game.pool_size - m + 1, 1 / (game.pool_size * q)
    if left < 1:
        raise DrawsError(f"All {N} items of the pool have their label: there is no label {m}.")
    check_ratio(game, a, d)
    if reach is not None and not np.all(weight * d <= reach * (1 + 1e-6)):
        raise DrawsError(
            f"The drawn item of label {m} has a larger weight than the largest that was possible. "
            f"Give the columns of the step at which it was drawn."
        )

    def side(a: Number, before_a: Number) -> dict[str, Bet]:
        e, all_d = before_a / N, (game.d_max * left + before[1]) / N
        bets: dict[str, Bet] = {"bound": (weight * a, weight * (game.d_max - d), all_d, e)}
        if game.denominator_mean is not None:
            bets["known"] = (weight * a, 0.0, game.denominator_mean, e)
        if reach is not None:
            bets["middle"] = (weight * a, reach - weight * d, reach + before[1] / N, e)
        return bets

    return side(a, before[0]), side(d - a, before[1] - before[0])


def limits(game: RatioGame, state: RatioState) -> tuple[float, float]:
    """The nearest rejected candidates, within what the labels seen leave possible."""
    a, d, unseen = state.numerator, state.denominator, game.pool_size - state.n_labels
    if game.denominator_mean is None or unseen == 0:
        pool_d = d + game.d_max * unseen
    else:
        pool_d = max(game.denominator_mean * game.pool_size, d)
    lowest, highest = (a / pool_d, (a + pool_d - d) / pool_d) if pool_d > 0 else (0.0, 1.0)
    low, high = state.wealth.low, state.wealth.high
    return min(max(low, lowest), highest), max(min(high, highest), lowest)


def check_ratio(game: RatioGame, a: Number, d: Number) -> None:
    """Refuse items for which not 0 <= A <= D <= d_max."""
    if not np.all((a >= 0) & (a <= d) & (d <= game.d_max)):
        raise LossError(
            f"A ratio needs 0 <= a <= d <= d_max = {game.d_max:g} for every item, but here "
            f"a = {a} and d = {d}. Declare a larger d_max, or look for what is wrong with them."
        )


def _check_known(game: RatioGame, denominator: float) -> None:
    known = game.denominator_mean
    if known is not None and denominator > known * game.pool_size * (1 + 1e-9):
        raise LossError(
            f"The denominators seen sum to {denominator:g}, more than denominator_mean = {known:g} "
            f"times the pool size {game.pool_size}. It is to be the exact mean over the pool."
        )
