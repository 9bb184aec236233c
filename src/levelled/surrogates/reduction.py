"""Features of items without gaps, and few of them: principal components where there are many."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray

_MOST_FEATURES = 20
_SAMPLED = 20_000
"""About so many items decide the principal components."""


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
            sample.append(features[-start % step :: step])
            start += len(features)
        fill = total / np.maximum(count, 1)
        if len(fill) <= most:
            return cls(fill)
        whole = cls(fill).apply(np.concatenate(sample))
        centred = whole - whole.mean(axis=0)
        _, vectors = np.linalg.eigh(centred.T @ centred)
        return cls(fill, whole.mean(axis=0), vectors[:, : -most - 1 : -1])

    def apply(self, features: NDArray[np.floating[Any]]) -> FloatArray:
        """The features of some items, filled and reduced."""
        X, missing = np.asarray(features, dtype=np.float64), ~np.isfinite(features)
        if missing.any():
            X = np.where(missing, self.fill, X)
        if self.centre is None or self.vectors is None:
            return X
        return np.asarray((X - self.centre) @ self.vectors)
