"""Real data sets as pools to draw from and test sets to judge by, another split each time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, choice
from levelled._optional import optional
from levelled_studies.datasets import DataSet, load_data
from levelled_studies.images.data import RATIOS, subset

__all__ = ["DATA", "DataRows", "Split", "number_categories", "split"]

FRAUDS = 0.02
"""The share of frauds that is kept; of all payments 0.17% are."""
COMPONENTS = 30
N_UNLABELLED = 10_000
"""Images that only the principal components are fitted to."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A pool whose labels are to be bought, and items to test on that are not in it."""

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]
    n_classes: int | None
    """None for a regression."""


@dataclass(frozen=True, slots=True, eq=False)
class DataRows:
    """All rows that a split may take. Without a test set of its own, one is split off."""

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray | None = None
    y_test: NDArray[Any] | None = None
    ratios: FloatArray | None = None
    """The relative sizes of the classes in a split; None leaves them as in the data."""

    @property
    def n_classes(self) -> int | None:
        """None for a regression."""
        return int(self.y.max()) + 1 if self.y.dtype.kind == "i" else None


def split(name: str, pool_size: int, test_size: int, *, rng: Generator) -> Split:
    """A random pool and a random test set; where there are too few rows, 2/3 become the pool."""
    source = DATA[choice("The data", name, tuple(DATA))]()
    if source.X_test is None or source.y_test is None:
        n = min(pool_size + test_size, len(source.y))
        rows = _pick_rows(source.y, n, source.ratios, rng)
        first = min(pool_size, 2 * len(rows) // 3)
        at, ahead, X_test, y_test = rows[:first], rows[first:], source.X, source.y
    else:
        X_test, y_test = source.X_test, source.y_test
        at = _pick_rows(source.y, pool_size, source.ratios, rng)
        ahead = _pick_rows(y_test, test_size, source.ratios, rng)
    return Split(source.X[at], source.y[at], X_test[ahead], y_test[ahead], source.n_classes)


def _pick_rows(
    y: NDArray[Any], n: int, ratios: FloatArray | None, rng: Generator
) -> NDArray[np.int64]:
    """Places of n rows in random order, of each class in its ratio."""
    if ratios is None:
        return rng.permutation(len(y))[:n]
    return rng.permutation(subset(y, ratios, size=n, rng=rng))


def _scale(X: FloatArray, by: FloatArray) -> FloatArray:
    """Columns of numbers with the mean 0 and spread 1 of `by`; those of 0 and 1 as they are."""
    numbers = ((by != 0) & (by != 1)).any(axis=0)
    mean, sd = by.mean(axis=0), by.std(axis=0)
    return np.where(numbers, (X - mean) / np.where(sd > 0, sd, 1), X)


@cache
def _inside(name: str) -> DataRows:
    """A small data set that comes with scikit-learn."""
    data = load_data(name)
    X = data.X.reshape(len(data.X), -1).astype(np.float64)
    return DataRows(_scale(X, X), data.y)


@cache
def _adult() -> DataRows:
    data, test = _with_test("adult")
    return DataRows(_scale(data.X, data.X), data.y, _scale(test[0], data.X), test[1])


@cache
def _adult_columns(names: tuple[str, ...], target: str | None = None) -> DataRows:
    """A few columns of Adult; the target is another one, or else the income."""
    data, (X_test, y_test) = _with_test("adult")
    at = [data.features.index(name) for name in names]
    y = data.y
    if target is not None:
        aim = data.features.index(target)
        y, y_test = data.X[:, aim], X_test[:, aim]
    chosen = data.X[:, at]
    return DataRows(_scale(chosen, chosen), y, _scale(X_test[:, at], chosen), y_test)


@cache
def _hours() -> DataRows:
    """Hours of work in a week from everything else that Adult asks, but for the income."""
    data, (X_test, _) = _with_test("adult")
    aim = data.features.index("hours-per-week")
    X, unseen = (np.delete(_scale(X, data.X), aim, axis=1) for X in (data.X, X_test))
    return DataRows(X, data.X[:, aim], unseen, X_test[:, aim])


@cache
def _adult_numbered() -> DataRows:
    data, (X_test, y_test) = _with_test("adult")
    return DataRows(
        number_categories(data.X, data.features),
        data.y,
        number_categories(X_test, data.features),
        y_test,
    )


def number_categories(X: FloatArray, features: Sequence[str]) -> FloatArray:
    """One column a question, as trees like it: categories are numbered.

    >>> number_categories(np.array([[39.0, 0, 1], [50, 1, 0]]), ("age", "sex=Female", "sex=Male"))
    array([[39.,  1.],
           [50.,  0.]])
    """
    questions = np.array([name.partition("=")[0] for name in features])
    columns = []
    for question in dict.fromkeys(questions):
        own = X[:, questions == question]
        columns.append(own[:, 0] if own.shape[1] == 1 else own.argmax(axis=1))
    return np.column_stack(columns)


@cache
def _fraud() -> DataRows:
    data = load_data("credit-card-fraud")
    return DataRows(_scale(data.X, data.X), data.y, ratios=np.array([1 - FRAUDS, FRAUDS]))


@cache
def _amount() -> DataRows:
    """The logarithm of what was paid, from 28 principal components of other facts about it."""
    data = load_data("credit-card-fraud")
    at = [column for column, name in enumerate(data.features) if name.startswith("V")]
    X = data.X[:, at]
    return DataRows(_scale(X, X), np.log1p(data.X[:, data.features.index("Amount")]))


@cache
def _fashion(uneven: bool) -> DataRows:
    """Principal components of images; `uneven` thins out the classes as the paper does MNIST's."""
    data, (X_test, y_test) = _with_test("fashion-mnist")
    decomposition = optional("sklearn.decomposition", extra="sklearn")
    pixels, unseen = (X.reshape(len(X), -1) / 255 for X in (data.X, X_test))
    fitted = decomposition.PCA(COMPONENTS, svd_solver="covariance_eigh").fit(pixels[:N_UNLABELLED])
    return DataRows(
        fitted.transform(pixels[N_UNLABELLED:]),
        data.y[N_UNLABELLED:],
        fitted.transform(unseen),
        y_test,
        RATIOS if uneven else None,
    )


def _with_test(name: str) -> tuple[DataSet, tuple[FloatArray, NDArray[Any]]]:
    data = load_data(name)
    assert data.X_test is not None
    assert data.y_test is not None
    return data, (data.X_test, data.y_test)


DATA: dict[str, Callable[[], DataRows]] = {
    "diabetes": lambda: _inside("diabetes"),
    "breast-cancer": lambda: _inside("breast-cancer"),
    "digits": lambda: _inside("digits"),
    "hours": lambda: _adult_columns(("age",), "hours-per-week"),
    "hours-few": lambda: _adult_columns(("age", "education-num"), "hours-per-week"),
    "hours-all": _hours,
    "amount": _amount,
    "adult": _adult,
    "adult-age": lambda: _adult_columns(("age",)),
    "adult-few": lambda: _adult_columns(("age", "education-num", "hours-per-week")),
    "adult-coded": _adult_numbered,
    "fraud": _fraud,
    "fashion": lambda: _fashion(False),
    "fashion-uneven": lambda: _fashion(True),
}
"""The data by name; those of the first three come with scikit-learn."""
