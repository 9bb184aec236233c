"""The columns of a pool from which the loss of each item is predicted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, floats
from levelled.errors import InputError
from levelled.surrogates.families import Family, LogFamily, LogitFamily

__all__ = ["SCORES", "Covariates", "fill_gaps", "reduce_columns"]

SCORES = 4
"""Columns that are there in every pool: one, and the logits of three expected losses."""
_SLOPE = 0.8
"""The slope on the logit of the expected loss before any label: models are overconfident."""
_LEAST, _MOST = 0.002, 0.5
"""The pool's mean loss before any label lies between these."""
_MOST_GROUPS = 50
_MOST_FEATURES = 20
_BLOCK = 65_536
"""Items computed at once, so that intermediate results need little memory."""
_CONSTANT = 1e-12
"""A column whose spread is smaller than this share of its mean does not vary."""
_SAMPLED = 20_000
"""About so many items decide the principal components."""


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
        e = floats("expected", expected, ndim=1)
        s = e if surrogate is None else floats("surrogate", surrogate, ndim=1)
        both = e if s is e else (e + s) / 2
        family: Family = LogitFamily() if bounded else LogFamily()
        scale = 1.0 if bounded else max(float(both.mean()), np.finfo(float).tiny)
        first = family.link(e / scale)
        second, mean = (first, first) if s is e else (family.link(x / scale) for x in (s, both))
        scores = np.column_stack([np.ones(len(e)), first, second, mean])
        prior_mean = float(np.clip(both.mean(), _LEAST, _MOST)) if bounded else 1.0
        codes = None if groups is None else np.asarray(groups, dtype=np.int64)
        n_groups = 0 if codes is None else int(codes.max(initial=-1)) + 1
        if n_groups > _MOST_GROUPS or n_groups < 2:
            codes, n_groups = None, 0
        return cls(
            scores,
            None if features is None else _standardise(features, len(e)),
            codes,
            n_groups,
            prior_mean,
            _intercept(family, _slope(from_verdicts) * scores[:, 3], prior_mean),
            family,
            scale,
            from_verdicts,
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
        slope = _slope(self.from_verdicts)
        return np.array([self.intercept, 0.0, 0.0, slope, *np.zeros(self.n_extra)])

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


def fill_gaps(features: NDArray[np.floating[Any]]) -> FloatArray:
    """Features with the mean of each column where a number is missing or infinite.

    >>> fill_gaps(np.array([[1.0], [np.nan], [3.0]])).ravel()
    array([1., 2., 3.])
    """
    missing = ~np.isfinite(features)
    if not missing.any():
        return np.asarray(features, dtype=np.float64)
    X = np.array(features, dtype=np.float64)
    X[missing] = 0.0
    mean = X.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    X[missing] = np.broadcast_to(mean, X.shape)[missing]
    return X


def reduce_columns(features: FloatArray, most: int = _MOST_FEATURES) -> FloatArray:
    """Features as they are, or their first principal components where there are many.

    >>> reduce_columns(np.eye(30)).shape
    (30, 20)
    """
    if features.shape[1] <= most:
        return features
    sample = features[:: max(len(features) // _SAMPLED, 1)]
    centred = sample - sample.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray((features - sample.mean(axis=0)) @ vectors[:, : -most - 1 : -1])


def _standardise(features: ArrayLike, pool_size: int) -> NDArray[np.float32]:
    X = np.asarray(features)
    if X.ndim != 2 or len(X) != pool_size or not np.isfinite(X.sum(dtype=np.float64)):
        raise InputError(
            f"features must be finite numbers, one row for each of the {pool_size} items; their "
            f"shape is {X.shape}."
        )
    mean = X.mean(axis=0, dtype=np.float64)
    standard, squares = np.empty(X.shape, dtype=np.float32), np.zeros(X.shape[1])
    for start in range(0, len(X), _BLOCK):
        centred = X[start : start + _BLOCK] - mean
        squares += np.einsum("nd,nd->d", centred, centred)
        standard[start : start + _BLOCK] = centred
    sd = np.sqrt(squares / max(len(X), 1))
    standard /= np.where(sd > _CONSTANT * np.maximum(np.abs(mean), 1e-300), sd, np.inf)
    return standard


def _slope(from_verdicts: bool) -> float:
    """The slope before any label; the chances that go with a verdict are no model's own."""
    return 1.0 if from_verdicts else _SLOPE


def _intercept(family: Family, steep: FloatArray, mean: float) -> float:
    """The intercept at which the mean prediction of the pool is `mean`.

    It is found on some items, and corrected by Newton steps on all of them.
    """
    from scipy.optimize import brentq

    some = steep[:: max(len(steep) // _SAMPLED, 1)]
    c = float(brentq(lambda c: float(family.mean(c + some).mean()) - mean, -25, 25, xtol=1e-6))
    for _ in range(2 if len(some) < len(steep) else 0):
        predicted = family.mean(c + steep)
        c += float((mean - predicted.mean()) / family.variance(predicted).mean())
    return c
