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

__all__ = ["DATA", "Source", "Split", "coded", "split"]

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
class Source:
    """All rows that a split may take. Without a test set of its own, one is split off."""

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray | None = None
    y_test: NDArray[Any] | None = None
    ratios: FloatArray | None = None
    """How many of each class a split takes, relative to one another; None takes what comes."""

    @property
    def n_classes(self) -> int | None:
        """None for a regression."""
        return int(self.y.max()) + 1 if self.y.dtype.kind == "i" else None


def split(name: str, pool_size: int, test_size: int, *, rng: Generator) -> Split:
    """A random pool and a random test set; where there are too few rows, 2/3 become the pool."""
    source = DATA[choice("The data", name, tuple(DATA))]()
    if source.X_test is None or source.y_test is None:
        n = min(pool_size + test_size, len(source.y))
        rows = _picked(source.y, n, source.ratios, rng)
        first = min(pool_size, 2 * len(rows) // 3)
        at, ahead, X_test, y_test = rows[:first], rows[first:], source.X, source.y
    else:
        X_test, y_test = source.X_test, source.y_test
        at = _picked(source.y, pool_size, source.ratios, rng)
        ahead = _picked(y_test, test_size, source.ratios, rng)
    return Split(source.X[at], source.y[at], X_test[ahead], y_test[ahead], source.n_classes)


def _picked(
    y: NDArray[Any], n: int, ratios: FloatArray | None, rng: Generator
) -> NDArray[np.int64]:
    """Places of n rows in random order, of each class in its ratio."""
    if ratios is None:
        return rng.permutation(len(y))[:n]
    return rng.permutation(subset(y, ratios, size=n, rng=rng))


def _scaled(X: FloatArray, by: FloatArray) -> FloatArray:
    """Columns of numbers with the mean 0 and spread 1 of `by`; those of 0 and 1 as they are."""
    numbers = ((by != 0) & (by != 1)).any(axis=0)
    mean, sd = by.mean(axis=0), by.std(axis=0)
    return np.where(numbers, (X - mean) / np.where(sd > 0, sd, 1), X)


@cache
def _inside(name: str) -> Source:
    """A small data set that comes with scikit-learn."""
    found = load_data(name)
    X = found.X.reshape(len(found.X), -1).astype(np.float64)
    return Source(_scaled(X, X), found.y)


@cache
def _adult() -> Source:
    found, test = _with_test("adult")
    return Source(_scaled(found.X, found.X), found.y, _scaled(test[0], found.X), test[1])


@cache
def _adult_columns(names: tuple[str, ...], target: str | None = None) -> Source:
    """A few columns of Adult; the target is another one, or else the income."""
    found, (X_test, y_test) = _with_test("adult")
    at = [found.features.index(name) for name in names]
    y = found.y
    if target is not None:
        aim = found.features.index(target)
        y, y_test = found.X[:, aim], X_test[:, aim]
    known = found.X[:, at]
    return Source(_scaled(known, known), y, _scaled(X_test[:, at], known), y_test)


@cache
def _hours() -> Source:
    """Hours of work in a week from everything else that Adult asks, but for the income."""
    found, (X_test, _) = _with_test("adult")
    aim = found.features.index("hours-per-week")
    X, unseen = (np.delete(_scaled(X, found.X), aim, axis=1) for X in (found.X, X_test))
    return Source(X, found.X[:, aim], unseen, X_test[:, aim])


@cache
def _adult_coded() -> Source:
    found, (X_test, y_test) = _with_test("adult")
    return Source(coded(found.X, found.features), found.y, coded(X_test, found.features), y_test)


def coded(X: FloatArray, features: Sequence[str]) -> FloatArray:
    """One column a question, as trees like it: categories are numbered.

    >>> coded(np.array([[39.0, 0, 1], [50, 1, 0]]), ("age", "sex=Female", "sex=Male"))
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
def _fraud() -> Source:
    found = load_data("credit-card-fraud")
    return Source(_scaled(found.X, found.X), found.y, ratios=np.array([1 - FRAUDS, FRAUDS]))


@cache
def _amount() -> Source:
    """The logarithm of what was paid, from 28 principal components of other facts about it."""
    found = load_data("credit-card-fraud")
    at = [column for column, name in enumerate(found.features) if name.startswith("V")]
    X = found.X[:, at]
    return Source(_scaled(X, X), np.log1p(found.X[:, found.features.index("Amount")]))


@cache
def _fashion(uneven: bool) -> Source:
    """Principal components of images; `uneven` thins out the classes as the paper does MNIST's."""
    found, (X_test, y_test) = _with_test("fashion-mnist")
    decomposition = optional("sklearn.decomposition", extra="sklearn")
    pixels, unseen = (X.reshape(len(X), -1) / 255 for X in (found.X, X_test))
    fitted = decomposition.PCA(COMPONENTS, svd_solver="covariance_eigh").fit(pixels[:N_UNLABELLED])
    return Source(
        fitted.transform(pixels[N_UNLABELLED:]),
        found.y[N_UNLABELLED:],
        fitted.transform(unseen),
        y_test,
        RATIOS if uneven else None,
    )


def _with_test(name: str) -> tuple[DataSet, tuple[FloatArray, NDArray[Any]]]:
    found = load_data(name)
    assert found.X_test is not None
    assert found.y_test is not None
    return found, (found.X_test, found.y_test)


DATA: dict[str, Callable[[], Source]] = {
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
    "adult-coded": _adult_coded,
    "fraud": _fraud,
    "fashion": lambda: _fashion(False),
    "fashion-uneven": lambda: _fashion(True),
}
"""The data by name; those of the first three come with scikit-learn."""
