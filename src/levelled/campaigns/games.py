"""Intervals by betting, kept between looks: one more label is one more round."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import Betting, RatioBetting
from levelled.estimators.intervals.betting_games import COLUMNS

__all__ = ["Games", "Kept", "Table", "play"]

Games = Mapping[str, Any]
"""The kept game of each figure."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What is played on: losses in `bounds`, or numerators and denominators up to a bound."""

    kind: Literal["average", "ratio"]
    losses: FloatArray
    denominators: FloatArray | None
    bounds: tuple[float, float]
    denominator_mean: float | None = None
    control: bool = False
    """Whether the design's predictor is one of these losses."""

    def fingerprint(self, n: int) -> str:
        """What the first n rounds were played on: an amended answer changes it."""
        parts = [self.losses[:n]]
        if self.denominators is not None:
            parts.append(self.denominators[:n])
        text = f"{self.kind} {self.bounds} {self.denominator_mean} {self.control} "
        return sha256(text.encode() + np.concatenate(parts).tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A game after n rounds, and the fingerprint of what they were played on."""

    n: int
    fingerprint: str
    game: Betting | RatioBetting

    def goes_on(self, table: Table, n: int) -> bool:
        """Whether the rounds played so far are the first of those to be played now."""
        if self.n > n or self.n != len(self.game):  # a round that failed half-way is in doubt
            return False
        return self.fingerprint == table.fingerprint(self.n)

    def to_json(self) -> dict[str, Any]:
        """Plain values, from which `from_json` goes on."""
        kind = "average" if isinstance(self.game, Betting) else "ratio"
        state = self.game.to_dict()
        return {"n": self.n, "fingerprint": self.fingerprint, "kind": kind, "game": state}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Kept":
        """What `to_json` wrote."""
        game = Betting if kept["kind"] == "average" else RatioBetting
        return cls(kept["n"], kept["fingerprint"], game.from_dict(kept["game"]))


def play(
    table: Table, draws: Draws, level: float, before: Kept | None
) -> tuple[tuple[float, float], Kept]:
    """The limits after all labels; rounds that `before` has seen are not played again."""
    n = len(draws)
    game = _new(table, draws.pool_size, level)
    if before is not None and before.goes_on(table, n):
        game = before.game
    _rounds(game, table, draws)
    return game.interval(), Kept(n, table.fingerprint(n), game)


def _new(table: Table, pool_size: int, level: float) -> Betting | RatioBetting:
    if table.kind == "average":
        return Betting(pool_size, table.bounds, level)
    return RatioBetting(pool_size, table.bounds[1], level, table.denominator_mean)


def _rounds(game: Betting | RatioBetting, table: Table, draws: Draws) -> None:
    design = draws.design or {}
    names = [name for name in COLUMNS if name in design]
    if not table.control:
        names = [name for name in names if name == "max_weight"]
    for m in range(len(game), len(draws)):
        loss, q = float(table.losses[m]), float(draws.probability[m])
        columns = {name: float(design[name][m]) for name in names}
        if isinstance(game, Betting):
            game.update(loss, q, **columns)
        elif table.denominators is not None:
            most = columns.get("max_weight")
            game.update(loss, float(table.denominators[m]), q, max_weight=most)
