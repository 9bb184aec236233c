"""The columns of a pool from which the loss of each item is predicted."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, floats
from levelled.surrogates.families import Family
from levelled.surrogates.scaling import Scaling, ScoreColumns, first_slope

SCORES = 4
"""Columns that are there in every pool: one, and the logits of three expected losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """The scores, the features and the predicted class of each item of a pool.

    `scores` [N, 4] are one and the logits of the expected loss: under the model, under a second
    model, and their mean. `features` [N, D] have mean 0 and spread 1. `groups` are numbers of
    predicted classes below `n_groups`. Losses are predicted in units of `scale`, and `intercept`
    makes the mean of the pool's predictions before any label equal `prior_mean`. With
    `from_verdicts` the expected losses are known by the predicted class alone.
    """

    scores: FloatArray
    features: NDArray[np.float32] | None
    groups: IntArray | None
    n_groups: int
    prior_mean: float
    intercept: float
    family: Family
    scale: float
    from_verdicts: bool = False

    @classmethod
    def of(
        cls,
        expected: ArrayLike,
        surrogate: ArrayLike | None = None,
        features: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        bounded: bool = True,
        from_verdicts: bool = False,
    ) -> "Covariates":
        """Prepare the columns of a pool.

        `expected` is the expected loss of each item under the model; `surrogate` the same under
        a second model, where there is one. Losses are shares of the largest one, unless there is
        none (`bounded=False`).

        >>> pool = Covariates.of([0.1, 0.2, 0.4], features=[[1.0], [2.0], [3.0]], groups=[0, 0, 1])
        >>> pool.scores.shape, pool.features.shape, pool.n_groups, round(pool.prior_mean, 3)
        ((3, 4), (3, 1), 2, 0.233)
        """
        columns = ScoreColumns(
            floats("expected", expected, ndim=1),
            None if surrogate is None else floats("surrogate", surrogate, ndim=1),
            None if features is None else np.asarray(features),
            None if groups is None else np.asarray(groups, dtype=np.int64),
        )
        scaling = Scaling.of(lambda: [columns], len(columns), bounded, from_verdicts)
        return cls.scaled(columns, scaling)

    @classmethod
    def scaled(cls, columns: ScoreColumns, scaling: Scaling) -> "Covariates":
        """The columns of some items of a pool, on the scale of the whole pool."""
        first, second, mean = scaling.links(columns)
        return cls(
            np.column_stack([np.ones(len(columns)), first, second, mean]),
            None if columns.features is None else scaling.standardise(columns.features),
            columns.groups if scaling.n_groups else None,
            scaling.n_groups,
            scaling.prior_mean,
            scaling.intercept,
            scaling.family,
            scaling.scale,
            scaling.from_verdicts,
        )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_extra(self) -> int:
        """The number of columns besides the scores."""
        return (0 if self.features is None else self.features.shape[1]) + self.n_groups

    @property
    def start(self) -> FloatArray:
        """The coefficients before any label."""
        slope = first_slope(self.from_verdicts)
        return np.array([self.intercept, 0.0, 0.0, slope, *np.zeros(self.n_extra)])

    def at(self, rows: IntArray) -> "Covariates":
        """The columns of some items, in their order."""
        return replace(
            self,
            scores=self.scores[rows],
            features=None if self.features is None else self.features[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def table(self, rows: IntArray) -> FloatArray:
        """All columns of some items: scores, features, and one column for each class."""
        parts = [self.scores[rows]]
        if self.features is not None:
            parts.append(self.features[rows].astype(np.float64))
        if self.groups is not None:
            parts.append((self.groups[rows, None] == np.arange(self.n_groups)).astype(np.float64))
        return np.hstack(parts)

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """The linear predictor of every item; coefficients may stop after the scores."""
        total = self.scores @ coefficients[:SCORES]
        rest = coefficients[SCORES:]
        if not len(rest):
            return total
        if self.features is not None:
            own, rest = np.split(rest, [self.features.shape[1]])
            total += self.features @ own.astype(np.float32)
        if self.groups is not None:
            total += rest[self.groups]
        return total
