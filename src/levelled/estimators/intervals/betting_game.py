"""A game of betting on the mean of a pool: its rules, its state, and what a label does to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from levelled._check import FloatArray, between, whole
from levelled.errors import DrawsError, InputError
from levelled.estimators.intervals.betting_bets import (
    Columns,
    Number,
    Round,
    check_columns,
    mean_bets,
    variants_of,
)
from levelled.estimators.intervals.betting_wealth import (
    N_CANDIDATES,
    Sides,
    Variants,
    Wealth,
    candidates,
    opened,
    step,
    table,
)
from levelled.estimators.intervals.logical import Bounds, check_bounds, logical_limits

__all__ = [
    "Game",
    "GameState",
    "drawn_at",
    "is_due",
    "limits",
    "number",
    "probabilities_of",
    "probability_of",
    "rebuilt",
    "started",
    "told",
]

_HUGE = 1e100


@dataclass(frozen=True, slots=True)
class Game:
    """What is fixed before the first label."""

    pool_size: int
    bounds: Bounds
    level: float
    excluded: int = 0

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
        if not (-_HUGE < low < high and (high < _HUGE or high == np.inf)):
            raise InputError(
                f"bounds must be two numbers (low, high), low < high, of which only high may be "
                f"infinite; they are {self.bounds!r}. Betting needs one to hold on to."
            )

    @property
    def drawable(self) -> int:
        """How many items can be drawn."""
        return self.pool_size - self.excluded

    @property
    def ends(self) -> Bounds:
        """What the target can be before the first label."""
        share = self.drawable / self.pool_size
        return self.bounds[0] * share, self.bounds[1] * share

    @property
    def bounded(self) -> bool:
        """Whether there are two sides to bet on."""
        return self.bounds[1] < np.inf


@dataclass(frozen=True, slots=True, eq=False)
class GameState:
    """What the labels so far have made of the game.

    `terms` is the sum of a_m - A, from which an unbounded game knows where to look.
    """

    n_labels: int
    total: float
    terms: float
    variants: Variants
    wealth: Wealth


def started(game: Game) -> GameState:
    """The state before the first label, which decides who plays."""
    return GameState(0, 0.0, 0.0, ((), ()), opened(np.empty(0), ((), ()), *game.ends))


def told(
    game: Game, state: GameState, loss: float, q: float, columns: Columns
) -> tuple[GameState, FloatArray]:
    """The state after one more label, and the bets that it offered."""
    if not game.bounds[0] <= loss <= game.bounds[1]:
        check_bounds(np.asarray(loss), game.bounds)
    m = state.n_labels + 1
    drawn, sides = drawn_at(game, m, loss, q, state.total, columns)
    variants, wealth = state.variants, state.wealth
    if state.n_labels == 0:
        variants = variants_of(sides)
        first = candidates(*game.ends, game.pool_size) if game.bounded else np.empty(0)
        wealth = opened(first, variants, *game.ends)
    bets = table(sides, variants)
    wealth = step(wealth, bets, m=m, level=game.level, scale=_scale(game, wealth))
    excess = loss - game.bounds[0]
    before = state.total - game.bounds[0] * state.n_labels
    terms = state.terms + drawn.weight * excess + before / game.pool_size
    return GameState(m, state.total + loss, float(terms), variants, wealth), bets


def drawn_at(
    game: Game,
    m: int,
    loss: Number,
    q: Number,
    before: Number,
    columns: Columns,
) -> tuple[Round, Sides]:
    """Label m of one trajectory, or of many, with the bets that it offers."""
    left = game.drawable - m + 1
    if left < 1:
        raise DrawsError(
            f"All {game.drawable} items that can be drawn have their label: there is no label {m}."
        )
    weight = 1 / (game.pool_size * q)
    check_columns(weight, game.bounds[1], columns)
    drawn = Round(loss, weight, before, left, game.pool_size)
    return drawn, mean_bets(drawn, game.bounds, columns)


def rebuilt(game: Game, state: GameState, history: Sequence[FloatArray]) -> GameState:
    """The state with new candidates around the present estimate, by playing `history` again.

    For a game without an upper bound, where no grid can be laid out beforehand. The wealth
    against a candidate does not depend on when somebody looks at it, so the limit holds.
    """
    estimate = state.terms / state.n_labels
    if estimate <= 0:
        return state
    left = game.ends[0] + estimate * np.geomspace(1e-4, 2, N_CANDIDATES)
    left = left[left > state.wealth.low]
    wealth = opened(left, state.variants, state.wealth.low, np.inf)
    for m, bets in enumerate(history, start=1):
        wealth = step(wealth, bets, m=m, level=game.level, scale=_scale(game, wealth))
    return replace(state, wealth=wealth)


def is_due(before: GameState, after: GameState) -> bool:
    """Whether an unbounded game needs new candidates: at m = 1, 2, 4, 8, ..., or a first loss.

    So every label is played again about once, however many there are.
    """
    m = after.n_labels
    return m & (m - 1) == 0 or before.terms <= 0 < after.terms


def limits(game: Game, state: GameState) -> tuple[float, float]:
    """The interval: the nearest rejected candidates, within what is logically possible."""
    share = game.drawable / game.pool_size
    logical = logical_limits(np.asarray(state.total), state.n_labels, game.drawable, game.bounds)
    lowest, highest = (float(limit * share) for limit in logical)
    low, high = state.wealth.low, state.wealth.high
    return min(max(low, lowest), highest), max(min(high, highest), lowest)


def number(name: str, value: float) -> float:
    """Return `value` as a finite float, with room to multiply it."""
    try:
        as_float = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be a number; it is {value!r}.") from wrong
    if not -_HUGE < as_float < _HUGE:
        raise InputError(f"{name} must be finite (below {_HUGE:g} in size); it is {as_float}.")
    return as_float


def probability_of(q: float) -> float:
    """Return `q` as a float that the probability of a drawn item can be.

    What is even smaller than 1e-100 is raised to it: such an item is never seen, and a smaller
    weight wins less.
    """
    as_float = number("q", q)
    if not 0 < as_float <= 1:
        raise DrawsError(
            f"q must be above 0 and at most 1, the probability that the item had when it was "
            f"drawn; it is {as_float}."
        )
    return max(as_float, 1 / _HUGE)


def probabilities_of(values: FloatArray) -> FloatArray:
    """`probability_of` for arrays."""
    wrong = values[~((values > 0) & (values <= 1))]
    if wrong.size:
        raise DrawsError(
            f"A drawn item had a probability above 0 and at most 1 when it was drawn; {wrong.size} "
            f"of {values.size} do not, the first is {wrong[0]}."
        )
    return np.maximum(values, 1 / _HUGE)


def _scale(game: Game, wealth: Wealth) -> float:
    if game.bounded:
        return game.bounds[1] - game.bounds[0]
    return float(wealth.left[-1] - game.ends[0]) if len(wealth.left) else 1.0
