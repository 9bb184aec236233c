"""Draws from the items left in a pool, by weights that stay the same for a while."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.samplers.design import ClassChance, with_design
from levelled.samplers.race import race

__all__ = ["FrozenProposal", "PoolSlices"]

_POWERS = {
    "max_weight": 1,
    "max_weighted_control": 1,
    "max_weighted_headroom": 1,
    "predicted_variance": 2,
    "predicted_skew": 3,
    "true_positive_variance": 2,
    "false_negative_variance": 2,
}
"""The power of 1/N in each column; the others do not depend on the size of the pool."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolSlices:
    """A division of items into slices: the number of each item's slice, and their names."""

    names: tuple[str, ...]
    codes: NDArray[np.integer[Any]]

    def left_sums(self, values: FloatArray, index: IntArray) -> FloatArray:
        """The sum of `values` over the items of each slice [M, S] that are left at each draw.

        >>> halves = PoolSlices(("a", "b"), np.array([0, 0, 1]))
        >>> halves.left_sums(np.array([1.0, 2.0, 4.0]), np.array([1, 2]))
        array([[3., 4.],
               [1., 4.]])
        """
        never = np.ones(len(values), dtype=bool)
        never[index] = False
        rest = np.bincount(self.codes[never], values[never], minlength=len(self.names))
        drawn = np.zeros((len(index), len(self.names)))
        drawn[np.arange(len(index)), self.codes[index]] = values[index]
        return np.asarray(rest + np.cumsum(drawn[::-1], axis=0)[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class FrozenProposal:
    """Weights of the items left in a pool of `pool_size`, and what is expected of their losses.

    `rows` are their positions in the pool; the other arrays have one value for each of them.
    """

    rows: IntArray
    pool_size: int
    weights: FloatArray
    control: FloatArray | None = None
    """The expected loss."""
    bound: float | None = None
    """The largest loss, where there is a predictor and losses are bounded."""
    spread: FloatArray | None = None
    """The standard deviation that the predictor expects of the loss."""
    third_moment: FloatArray | None = None
    """The third central moment that the predictor expects of the loss."""
    positive: ClassChance | None = None
    """The chance that the predictor gives to a class, for ratios such as its recall."""
    slices: tuple[PoolSlices, ...] = ()
    """Divisions of the items, where the predictor is to help the estimate of each slice."""
    ramp: float | None = None
    """How fast the shares of later terms rise in the estimate, if not as usual."""

    def without(self, rows: IntArray) -> "FrozenProposal":
        """The same for the items that are left once these rows of the pool are drawn."""
        kept = ~np.isin(self.rows, rows)
        return replace(
            self,
            rows=self.rows[kept],
            weights=self.weights[kept],
            control=None if self.control is None else self.control[kept],
            spread=None if self.spread is None else self.spread[kept],
            third_moment=None if self.third_moment is None else self.third_moment[kept],
            positive=None if self.positive is None else self.positive.of(kept),
            slices=tuple(replace(one, codes=one.codes[kept]) for one in self.slices),
        )

    def draw(self, k: int, *, seed: int) -> Draws:
        """Draw k items; design columns are relative to the whole pool.

        >>> proposal = FrozenProposal(np.array([1, 2]), 4, np.array([1.0, 3.0]))
        >>> draws = proposal.draw(2, seed=0)
        >>> sorted(draws.index.tolist()), draws.pool_size, float(draws.probability[-1])
        ([1, 2], 4, 1.0)
        """
        draws = race(self.weights, min(k, len(self.rows)), seed=seed)
        return self._with_design(draws)

    def fixed(self, rows: IntArray) -> Draws:
        """These rows as draws in this order: items that were chosen beforehand, by the weights."""
        at = np.searchsorted(self.rows, rows)
        before = np.cumsum(self.weights[at]) - self.weights[at]
        probability = self.weights[at] / (self.weights.sum() - before)
        return self._with_design(Draws(at, probability, len(self.rows)))

    def _with_design(self, draws: Draws) -> Draws:
        """Draws among `rows` as draws from the pool, with their design columns."""
        draws = with_design(
            draws,
            self.weights,
            control=self.control,
            bound=self.bound,
            spread=self.spread,
            third_moment=self.third_moment,
            positive=self.positive,
        )
        share = len(self.rows) / self.pool_size
        design = {
            name: column * share ** _POWERS.get(name, 0)
            for name, column in (draws.design or {}).items()
        }
        if self.ramp is not None:
            design["ramp"] = np.full(len(draws), self.ramp)
        for slices in self.slices:
            design |= self._slice_columns(slices, draws.index)
        rows = self.rows[draws.index]
        return Draws(rows, draws.probability, self.pool_size, design=design)

    def _slice_columns(self, slices: PoolSlices, index: IntArray) -> dict[str, FloatArray]:
        """`control_left`, `predicted_variance` and `predicted_skew`, summed over each slice only.

        The name of the slice follows that of the column.
        """
        g, s, t = self.control, self.spread, self.third_moment
        if g is None or s is None or t is None:
            return {}
        whole = PoolSlices(("",), np.zeros(len(self.rows), dtype=np.int64))
        scale = whole.left_sums(self.weights, index) / self.pool_size
        variance = slices.left_sums(s**2 / self.weights, index)
        skew = slices.left_sums(t / self.weights**2, index)
        columns = {
            "control_left": slices.left_sums(g, index),
            "predicted_variance": scale * variance / self.pool_size,
            "predicted_skew": scale**2 * skew / self.pool_size,
        }
        return {
            f"{name} {one}": column[:, at]
            for name, column in columns.items()
            for at, one in enumerate(slices.names)
        }
