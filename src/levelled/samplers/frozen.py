"""Draws from the items left in a pool, by weights that stay the same for a while."""

from dataclasses import dataclass, replace

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.samplers.design import ClassChance, with_design
from levelled.samplers.race import race

__all__ = ["FrozenProposal"]

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
        rows = self.rows[draws.index]
        return Draws(rows, draws.probability, self.pool_size, design=design)
