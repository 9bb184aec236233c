"""The columns of a pool from which the loss of each item is predicted, and their common scale.

The columns come a run of rows at a time, so that the pool need not fit in memory; passes over them
find out the scale.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, floats
from levelled.errors import InputError

SCORES = 4
"""Columns that are there in every pool: one, and the logits of three expected losses."""
_SLOPE = 0.8  # study constants: half +2%, twice +4% of the variance
"""The slope on the logit of the expected loss before any label: models are overconfident."""
_LEAST, _MOST = 0.002, 0.5  # study constants: no pool there expects less or more
"""The pool's mean loss before any label lies between these."""
_CLIP = 1e-5  # guard: the logit and the logarithm of 0 are infinite
_MOST_GROUPS = 50  # a choice: pools of the studies have at most 10 classes
"""Where more classes are predicted they are no columns: labels are too few for so many."""
_BLOCK = 65_536
"""Items computed at once, so that intermediate results need little memory."""
_ADDED = 1 << 20
"""Items added up at once."""
_CONSTANT = 1e-12
"""A column whose spread is smaller than this share of its mean does not vary: it is rounding."""
_MOST_FEATURES = 20  # 10 change the variance by -1% (digits) and 0 (spam, adult), known to 2%
"""More features become so many principal components: fits take the cube of their number."""
_SAMPLED = 20_000
"""About so many items decide the principal components, and give a first intercept."""


class LogitFamily:
    """Losses between 0 and 1, which vary like a coin.

    >>> LogitFamily().mean(np.array([0.0, 2.0])).round(3)
    array([0.5  , 0.881])
    """

    is_bounded: ClassVar = True

    def link(self, mean: FloatArray) -> FloatArray:
        """The logit, of means at least 1e-5 from 0 and 1."""
        p = np.clip(mean, _CLIP, 1 - _CLIP)
        return np.asarray(np.log(p / (1 - p)))

    def mean(self, eta: FloatArray) -> FloatArray:
        """The inverse of the logit."""
        from scipy.special import expit

        return np.asarray(expit(eta))

    def variance(self, mean: FloatArray) -> FloatArray:
        """p (1 - p)."""
        return mean * (1 - mean)

    def third_moment(self, mean: FloatArray) -> FloatArray:
        """p (1 - p) (1 - 2 p)."""
        return mean * (1 - mean) * (1 - 2 * mean)

    def log_likelihood(self, mean: FloatArray, y: FloatArray) -> FloatArray:
        """y log p + (1 - y) log(1 - p), also for losses between 0 and 1."""
        p = np.clip(mean, 1e-12, 1 - 1e-12)  # guard: log 0
        return np.asarray(y * np.log(p) + (1 - y) * np.log1p(-p))


class LogFamily:
    """Losses of zero and more, whose variance grows in proportion to their mean.

    >>> LogFamily().variance(np.array([0.5, 2.0]))
    array([0.5, 2. ])
    """

    is_bounded: ClassVar = False

    def link(self, mean: FloatArray) -> FloatArray:
        """The logarithm, of means of at least 1e-5."""
        return np.asarray(np.log(np.maximum(mean, _CLIP)))

    def mean(self, eta: FloatArray) -> FloatArray:
        """The exponential, which is kept from overflowing."""
        return np.asarray(np.exp(np.clip(eta, -300, 300)))

    def variance(self, mean: FloatArray) -> FloatArray:
        """The mean itself."""
        return mean

    def third_moment(self, mean: FloatArray) -> FloatArray:
        """The mean itself."""
        return mean

    def log_likelihood(self, mean: FloatArray, y: FloatArray) -> FloatArray:
        """y log mu - mu."""
        return np.asarray(y * np.log(mean) - mean)


Family = LogitFamily | LogFamily
"""The mean of a loss as a function of its linear predictor (`mean`, and `link` the other way).

`variance` and `third_moment` are the central moments that go with a mean, but for a constant factor
and its square; the variance is also the slope of the mean. `log_likelihood` is up to a constant.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """How the features of a pool lose their gaps and, where there are many, become fewer.

    `fill` stands where a number is missing or infinite; `vectors` are the principal components
    about `centre`, or None where the columns stay as they are.
    """

    fill: FloatArray
    centre: FloatArray | None = None
    vectors: FloatArray | None = None

    @classmethod
    def of(
        cls, runs: Iterable[NDArray[np.floating[Any]]], pool_size: int, most: int = _MOST_FEATURES
    ) -> "Reduction":
        """The reduction of a pool whose features come a run of rows at a time, in one pass.

        >>> Reduction.of([np.array([[1.0], [np.nan]]), np.array([[3.0]])], 3).fill
        array([2.])
        >>> Reduction.of([np.eye(30)], 30).apply(np.eye(30)).shape
        (30, 20)
        """
        step, start = max(pool_size // _SAMPLED, 1), 0
        total, count = np.zeros(1), np.zeros(1)
        sample = []
        for features in runs:
            finite = np.isfinite(features)
            total = total + np.where(finite, features, 0.0).sum(axis=0, dtype=np.float64)
            count = count + finite.sum(axis=0)
            # Every step-th row of the pool, wherever its runs begin.
            sample.append(features[-start % step :: step])
            start += len(features)
        fill = total / np.maximum(count, 1)
        if len(fill) <= most:
            return cls(fill)
        whole = cls(fill).apply(np.concatenate(sample))
        centred = whole - whole.mean(axis=0)
        _, vectors = np.linalg.eigh(centred.T @ centred)  # the largest components come last
        return cls(fill, whole.mean(axis=0), vectors[:, : -most - 1 : -1])

    def apply(self, features: NDArray[np.floating[Any]]) -> FloatArray:
        """The features of some items, filled and reduced."""
        X, missing = np.asarray(features, dtype=np.float64), ~np.isfinite(features)
        if missing.any():
            X = np.where(missing, self.fill, X)
        if self.centre is None or self.vectors is None:
            return X
        return np.asarray((X - self.centre) @ self.vectors)


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


class ColumnMoments:
    """The mean and the spread of columns of numbers that come a run of rows at a time.

    >>> moments = ColumnMoments()
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


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What the columns of all items of a pool have in common.

    Losses are predicted in units of `scale`, and `intercept` makes the mean of the pool's
    predictions before any label equal `prior_mean`. Predicted classes are columns where there are
    `n_groups` of them, not 0. With `from_verdicts` the expected losses are known by the predicted
    class alone.
    """

    family: Family
    scale: float
    prior_mean: float
    intercept: float
    n_groups: int
    features: ColumnMoments
    from_verdicts: bool

    @classmethod
    def of(cls, columns: Columns, pool_size: int, bounded: bool, from_verdicts: bool) -> "Scaling":
        """The scale of a pool, in one pass over its columns, or two for losses without a bound.

        It takes eight bytes for each item.
        """
        family: Family = LogitFamily() if bounded else LogFamily()
        scale = 1.0
        if not bounded:
            mean = sum(float(run.both.sum()) for run in columns()) / pool_size
            scale = max(mean, np.finfo(float).tiny)
        steep, start, total, n_groups = np.empty(pool_size), 0, 0.0, 0
        features = ColumnMoments()
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
            solve_intercept(family, steep, prior_mean),
            n_groups if 2 <= n_groups <= _MOST_GROUPS else 0,
            features,
            from_verdicts,
        )

    def standardise(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """Features of mean 0 and spread 1 over the pool; 0 where a column does not vary."""
        standard = np.empty(features.shape, dtype=np.float32)
        for start in range(0, len(features), _BLOCK):
            part = slice(start, start + _BLOCK)
            standard[part] = features[part] - self.features.mean
        standard /= self.features.spread()
        return standard


def first_slope(from_verdicts: bool) -> float:
    """The slope before any label; the chances that go with a verdict are no model's own."""
    return 1.0 if from_verdicts else _SLOPE


def solve_intercept(family: Family, steep: FloatArray, mean: float) -> float:
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


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """The scores, the features and the predicted class of each item of a pool.

    `scores` [N, 4] are one and the logits of the expected loss: under the model, under a second
    model, and their mean. `features` [N, D] have mean 0 and spread 1. `groups` are numbers of
    predicted classes.
    """

    scores: FloatArray
    features: NDArray[np.float32] | None
    groups: IntArray | None
    scaling: Scaling

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

        Parameters
        ----------
        expected, surrogate : The expected loss of each item under the model, and under a second one
            if there is one.
        features : Finite numbers [N, D] that describe the items.
        groups : The number of each item's predicted class.
        bounded : True for losses that are shares of the largest one, False if there is none.
        from_verdicts : True if the expected losses are known by the predicted class alone.

        >>> pool = Covariates.of([0.1, 0.2, 0.4], features=[[1.0], [2.0], [3.0]], groups=[0, 0, 1])
        >>> pool.scores.shape, pool.features.shape, pool.scaling.n_groups
        ((3, 4), (3, 1), 2)
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
        link, scale = scaling.family.link, scaling.scale
        first = second = mean = link(columns.expected / scale)
        if columns.surrogate is not None:
            second, mean = (link(x / scale) for x in (columns.surrogate, columns.both))
        return cls(
            np.column_stack([np.ones(len(columns)), first, second, mean]),
            None if columns.features is None else scaling.standardise(columns.features),
            columns.groups if scaling.n_groups else None,
            scaling,
        )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_extra(self) -> int:
        """The number of columns besides the scores."""
        return (0 if self.features is None else self.features.shape[1]) + self.scaling.n_groups

    @property
    def start(self) -> FloatArray:
        """The coefficients before any label."""
        slope = first_slope(self.scaling.from_verdicts)
        return np.array([self.scaling.intercept, 0.0, 0.0, slope, *np.zeros(self.n_extra)])

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
            classes = np.arange(self.scaling.n_groups)
            parts.append((self.groups[rows, None] == classes).astype(np.float64))
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
