"""The scale of a pool's columns, on which predictors of the loss are fitted: found in passes.

The columns come a run of rows at a time, so that the pool need not fit in memory.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.surrogates.families import Family, LogFamily, LogitFamily

_SLOPE = 0.8
"""The slope on the logit of the expected loss before any label: models are overconfident."""
_LEAST, _MOST = 0.002, 0.5
"""The pool's mean loss before any label lies between these."""
_MOST_GROUPS = 50
_BLOCK = 65_536
"""Items computed at once, so that intermediate results need little memory."""
_ADDED = 1 << 20
"""Items added up at once."""
_CONSTANT = 1e-12
"""A column whose spread is smaller than this share of its mean does not vary."""
_SAMPLED = 20_000
"""About so many items give a first intercept."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreColumns:
    """Expected losses of a run of items, under the model and a second one, and what they are like.

    `features` are finite numbers [N, D], `groups` the numbers of predicted classes.
    """

    expected: FloatArray
    surrogate: FloatArray | None = None
    features: NDArray[Any] | None = None
    groups: IntArray | None = None

    def __post_init__(self) -> None:
        X = self.features
        if X is None:
            return
        if X.ndim != 2 or len(X) != len(self) or not np.isfinite(X.sum(dtype=np.float64)):
            raise InputError(
                f"features must be finite numbers, one row for each of the {len(self)} items; "
                f"their shape is {X.shape}."
            )

    def __len__(self) -> int:
        return len(self.expected)

    @property
    def both(self) -> FloatArray:
        """The mean of the two expected losses."""
        return self.expected if self.surrogate is None else (self.expected + self.surrogate) / 2


Columns = Callable[[], Iterable[ScoreColumns]]
"""The columns of a pool, a run of rows at a time; each call begins a new pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What the columns of all items of a pool have in common, as `Covariates` explains it."""

    family: Family
    scale: float
    prior_mean: float
    intercept: float
    n_groups: int
    feature_mean: FloatArray | None
    feature_sd: FloatArray | None
    from_verdicts: bool

    @classmethod
    def of(cls, columns: Columns, pool_size: int, bounded: bool, from_verdicts: bool) -> "Scaling":
        """The scale of a pool, in one pass over its columns, or two for losses without a bound.

        It takes eight bytes for each item.
        """
        family: Family = LogitFamily() if bounded else LogFamily()
        scale = 1.0 if bounded else max(_mean(columns, pool_size), np.finfo(float).tiny)
        steep, start, total, n_groups = np.empty(pool_size), 0, 0.0, 0
        features = Moments()
        for run in columns():
            total += float(run.both.sum())
            end = start + len(run)
            steep[start:end] = first_slope(from_verdicts) * family.link(run.both / scale)
            if run.groups is not None:
                n_groups = max(n_groups, int(run.groups.max(initial=-1)) + 1)
            if run.features is not None:
                features.add(run.features)
            start = end
        prior_mean = float(np.clip(total / pool_size, _LEAST, _MOST)) if bounded else 1.0
        return cls(
            family,
            scale,
            prior_mean,
            _intercept(family, steep, prior_mean),
            n_groups if 2 <= n_groups <= _MOST_GROUPS else 0,
            features.mean if features.n else None,
            features.spread() if features.n else None,
            from_verdicts,
        )

    def links(self, columns: ScoreColumns) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The linear predictors of the losses expected by the model, the second one, and both."""
        first = self.family.link(columns.expected / self.scale)
        if columns.surrogate is None:
            return first, first, first
        second, mean = (self.family.link(x / self.scale) for x in (columns.surrogate, columns.both))
        return first, second, mean

    def standardise(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """Features of mean 0 and spread 1 over the pool; 0 where a column does not vary."""
        assert self.feature_mean is not None
        assert self.feature_sd is not None
        standard = np.empty(features.shape, dtype=np.float32)
        for start in range(0, len(features), _BLOCK):
            part = slice(start, start + _BLOCK)
            standard[part] = features[part] - self.feature_mean
        standard /= self.feature_sd
        return standard


def first_slope(from_verdicts: bool) -> float:
    """The slope before any label; the chances that go with a verdict are no model's own."""
    return 1.0 if from_verdicts else _SLOPE


def _mean(columns: Columns, pool_size: int) -> float:
    """The mean expected loss of a pool."""
    return sum(float(run.both.sum()) for run in columns()) / pool_size


class Moments:
    """The mean and the spread of columns of numbers that come a run of rows at a time.

    >>> moments = Moments()
    >>> for run in ([[0.0], [2.0]], [[4.0]]):
    ...     moments.add(np.array(run))
    >>> moments.mean, moments.sd.round(3)
    (array([2.]), array([1.633]))
    """

    def __init__(self) -> None:
        self.n = 0
        self.mean = np.empty(0)
        self._squares = np.empty(0)

    def add(self, X: NDArray[Any]) -> None:
        """Take in some rows: sums of squares about two means are put together exactly."""
        n = len(X)
        if not n:
            return
        mean = X.mean(axis=0, dtype=np.float64)
        squares = np.zeros(X.shape[1])
        for start in range(0, n, _BLOCK):
            centred = X[start : start + _BLOCK] - mean
            squares += np.einsum("nd,nd->d", centred, centred)
        if not self.n:
            self.n, self.mean, self._squares = n, mean, squares
            return
        total, shift = self.n + n, mean - self.mean
        self._squares = self._squares + squares + shift**2 * (self.n * n / total)
        self.mean, self.n = self.mean + shift * (n / total), total

    @property
    def sd(self) -> FloatArray:
        """The standard deviation of each column."""
        return np.asarray(np.sqrt(self._squares / self.n))

    def spread(self) -> FloatArray:
        """The standard deviation of each column; infinite for one that does not vary."""
        sd = self.sd
        varies = sd > _CONSTANT * np.maximum(np.abs(self.mean), 1e-300)
        return np.where(varies, sd, np.inf)


def _intercept(family: Family, steep: FloatArray, mean: float) -> float:
    """The intercept at which the mean prediction of the pool is `mean`.

    It is found on some items, and corrected by Newton steps on all of them.
    """
    from scipy.optimize import brentq

    some = steep[:: max(len(steep) // _SAMPLED, 1)]
    c = float(brentq(lambda c: float(family.mean(c + some).mean()) - mean, -25, 25, xtol=1e-6))
    for _ in range(2 if len(some) < len(steep) else 0):
        total = slope = 0.0
        for start in range(0, len(steep), _ADDED):
            predicted = family.mean(c + steep[start : start + _ADDED])
            total += float(predicted.sum())
            slope += float(family.variance(predicted).sum())
        c += (mean - total / len(steep)) / (slope / len(steep))
    return c
