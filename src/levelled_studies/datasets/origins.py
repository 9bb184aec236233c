"""Data sets that need no package: those inside scikit-learn, and those it fetches from OpenML."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

import numpy as np

from levelled._optional import optional
from levelled.errors import PoolError
from levelled_studies.datasets.record import Parts

__all__ = ["OpenML", "inside_sklearn"]


@dataclass(frozen=True, slots=True)
class OpenML:
    """Square grey images at OpenML, those for training first."""

    number: int
    n_train: int

    def __str__(self) -> str:
        return f"OpenML {self.number}"

    def fetch(self) -> Parts:
        """Fetch the images through scikit-learn."""
        datasets = optional("sklearn.datasets", extra="sklearn")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns of every attempt that fails
                found = datasets.fetch_openml(data_id=self.number, as_frame=False, cache=False)
        except (HTTPException, ImportError, OSError, ValueError) as wrong:
            raise PoolError(f"{wrong}") from wrong
        side = round(found.data.shape[1] ** 0.5)
        X = found.data.reshape(-1, side, side).astype(np.uint8)
        y = found.target.astype(np.int64)
        n = self.n_train
        return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def inside_sklearn(loader: str) -> Parts:
    """A small data set that comes with scikit-learn; digits are images of 8 x 8 pixels."""
    found: Any = getattr(optional("sklearn.datasets", extra="sklearn"), loader)()
    if loader == "load_digits":
        return {"X": found.images.astype(np.uint8), "y": found.target.astype(np.int64)}
    kind = np.float64 if loader == "load_diabetes" else np.int64
    names = tuple(map(str, found.feature_names))
    return {"X": found.data, "y": found.target.astype(kind), "features": names}
