"""Betting intervals that are kept between looks, so that one more label is one more round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import Betting, RatioBetting
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.betting import COLUMNS
from levelled.estimators.intervals.hedged import Hedged

AnyGame = Betting | RatioBetting | Hedged
_GAMES: Mapping[str, type[AnyGame]] = {
    "average": Betting,
    "ratio": RatioBetting,
    "hedged": Hedged,
}
"""The kinds of games, as snapshots name them."""


@dataclass(frozen=True, slots=True, eq=False)
class GameInput:
    """The values to bet on: losses in `bounds`, or the numerators and denominators of a ratio."""

    losses: FloatArray
    bounds: tuple[float, float]
    denominators: FloatArray | None = None
    """None for an average."""
    denominator_mean: float | None = None
    control: bool = False
    """True where the design's predictor predicts these losses."""
    budgets: Sequence[int] = ()
    """The budget in force at each draw, where the interval is hedged."""
    tested: tuple[float, ...] = ()
    """Values that are tested themselves, beside those of the grid."""

    def new_game(self, pool_size: int, level: float) -> AnyGame:
        """A game on these values before its first round."""
        if self.budgets:
            return Hedged(pool_size, self.budgets[0], level, self.tested)
        if self.denominators is None:
            return Betting(pool_size, self.bounds, level, tested=self.tested)
        most, mean = self.bounds[1], self.denominator_mean
        return RatioBetting(pool_size, most, level, mean, self.tested)

    @property
    def kind(self) -> str:
        """The kind of game, as snapshots name it."""
        if self.budgets:
            return "hedged"
        return "average" if self.denominators is None else "ratio"

    def fingerprint(self, n: int, columns: Sequence[str], level: float) -> str:
        """A hash of the input of the first n rounds, which changes when a label is amended.

        `columns` are the design columns that the rounds use, `level` is that of the game.
        """
        parts = [self.losses[:n]]
        if self.denominators is not None:
            parts.append(self.denominators[:n])
        text = f"{self.kind} {self.bounds} {self.denominator_mean} {self.control} {columns}"
        text += f" {level} {self.tested}"
        if self.budgets:
            text += f" {[*self.budgets[:n]]}"
        return sha256(text.encode() + np.concatenate(parts).tobytes()).hexdigest()


@dataclass(slots=True, eq=False)
class SavedGame:
    """A game after n rounds, and the fingerprint of their input; `play` moves it on."""

    n: int
    fingerprint: str
    game: AnyGame

    def continues(self, inputs: GameInput, n: int, columns: Sequence[str], level: float) -> bool:
        """True if the rounds so far are the first of those that `inputs` now asks for."""
        if self.n > n or self.fingerprint != inputs.fingerprint(self.n, columns, level):
            return False
        return self.n == len(self.game)  # a round that failed half-way is in doubt

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a snapshot."""
        kind = next(name for name, game in _GAMES.items() if isinstance(self.game, game))
        state = self.game.to_dict()
        return {"n": self.n, "fingerprint": self.fingerprint, "kind": kind, "game": state}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "SavedGame":
        """The game that `to_json` wrote."""
        game = _GAMES[plain["kind"]]
        return cls(plain["n"], plain["fingerprint"], game.from_dict(plain["game"]))


def play(
    inputs: GameInput, draws: Draws, level: float, saved: SavedGame | None
) -> tuple[tuple[float, float], SavedGame]:
    """The limits after all draws, and the game; the rounds of `saved` are not played again."""
    n, names = len(draws), _columns(inputs, draws)
    fingerprint = inputs.fingerprint(n, names, level)
    if saved is None or not saved.continues(inputs, n, names, level):
        saved = SavedGame(0, "", inputs.new_game(draws.pool_size, level))
    game, design = saved.game, draws.design or {}
    for m in range(saved.n, n):
        loss, q = float(inputs.losses[m]), float(draws.probability[m])
        columns = {name: float(design[name][m]) for name in names}
        if isinstance(game, Hedged):
            game.budget = inputs.budgets[m]
            game.update(loss, q, **columns)
        elif isinstance(game, Betting):
            game.update(loss, q, **columns)
        elif inputs.denominators is not None:
            most = columns.get("max_weight")
            game.update(loss, float(inputs.denominators[m]), q, max_weight=most)
    saved.n, saved.fingerprint = n, fingerprint
    return game.interval(), saved


def _columns(inputs: GameInput, draws: Draws) -> list[str]:
    """The design columns that a round uses; the predictor's only where it predicts the losses."""
    if inputs.budgets:
        return [*hedged.COLUMNS]
    names = [name for name in COLUMNS if name in (draws.design or {})]
    return names if inputs.control else [name for name in names if name == "max_weight"]
