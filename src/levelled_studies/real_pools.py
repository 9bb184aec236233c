"""Real pools: a model's predictions for items whose labels are known, for studies of evaluation.

A model is trained on a few items of a data set; the others are the pool. What it predicts, the
labels and up to 20 features of each item are kept beside the data sets, because training takes
minutes. For some pools there is a surrogate too: other models, trained on the same items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray, choice
from levelled._files import replace_file
from levelled._optional import optional
from levelled_studies.datasets import load_data
from levelled_studies.datasets.cache import data_folder

__all__ = ["REAL_POOLS", "SURROGATES", "RealPool", "load_real_pool", "load_surrogate"]

N_FEATURES = 20
_MEMBERS, _TREES = 10, 20
"""Forests of a surrogate, and trees of each."""

Made = tuple[FloatArray, NDArray[Any], FloatArray]
"""Predictions, labels and features of a pool."""
Split = tuple[Any, IntArray, Any, IntArray]
"""Inputs and labels to train on, and those of the pool; texts are sparse matrices."""


@dataclass(frozen=True, slots=True, eq=False)
class RealPool:
    """Predictions, labels and features of the items of a pool.

    `pred` is [N, C] probabilities for classes numbered from 0, or [N] numbers for a regression.
    """

    name: str
    pred: FloatArray
    label: NDArray[Any]
    features: FloatArray

    @property
    def errors(self) -> FloatArray:
        """The 0/1 losses of a classifier."""
        return (self.pred.argmax(axis=1) != self.label).astype(float)

    def __len__(self) -> int:
        return len(self.label)


def load_real_pool(name: str) -> RealPool:
    """A pool by its name, from the cache or by training its model first."""
    make = REAL_POOLS[choice("The name of a real pool", name, [*REAL_POOLS])]
    path = data_folder(None) / "pools" / f"{name}.npz"
    if not path.exists():
        _write(path, make(np.random.default_rng(0)))
    with np.load(path) as arrays:
        return RealPool(name, arrays["pred"], arrays["label"], arrays["features"])


def load_surrogate(name: str) -> FloatArray:
    """Probabilities [N, K, C] of K forests for the items of a pool, from the cache or trained.

    They are trained on the same items as the model of the pool, and know no label of the pool.
    """
    split = SURROGATES[choice("The name of a pool with a surrogate", name, [*SURROGATES])]
    path = data_folder(None) / "pools" / f"{name}.surrogate.npz"
    if not path.exists():
        X, y, X_pool, _ = split(np.random.default_rng(0))
        forest = _sklearn("ensemble.RandomForestClassifier")
        members = [
            forest(_TREES, min_samples_leaf=2, random_state=k).fit(X, y).predict_proba(X_pool)
            for k in range(_MEMBERS)
        ]
        _save(path, members=np.stack(members, axis=1).astype(np.float32))
    with np.load(path) as arrays:
        return np.asarray(arrays["members"])


def _write(path: Path, made: Made) -> None:
    pred, label, features = made
    _save(path, pred=pred, label=label, features=features.astype(np.float32))


def _save(path: Path, **arrays: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)

    def save(unfinished: Path) -> None:
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    replace_file(path, save)


def _images(name: str, n_train: int = 3000) -> Callable[[np.random.Generator], Made]:
    """The test set, predicted by a network of 100 units trained on a part of the images."""

    def make(rng: np.random.Generator) -> Made:
        X, y, X_test, y_test = _split_images(name, n_train)(rng)
        network = _sklearn("neural_network.MLPClassifier")
        steps = 180_000 // n_train  # passes over the images
        model = network((100,), max_iter=max(steps, 20), random_state=0).fit(X, y)
        return model.predict_proba(X_test), y_test, _components(X, X_test)

    return make


def _split_images(name: str, n_train: int) -> Callable[[np.random.Generator], Split]:
    def split(rng: np.random.Generator) -> Split:
        X, y, X_test, y_test = _flat_images(name)
        at = rng.permutation(len(X))[:n_train]
        return X[at], y[at], X_test, y_test

    return split


def _digits(rng: np.random.Generator) -> Made:
    """The 1,497 digits inside scikit-learn that naive Bayes was not trained on."""
    X, y, X_rest, y_rest = _split_digits(rng)
    model = _sklearn("naive_bayes.GaussianNB")(var_smoothing=0.01).fit(X, y)
    return model.predict_proba(X_rest), y_rest, _components(X, X_rest)


def _split_digits(rng: np.random.Generator) -> Split:
    data = load_data("digits")
    X = data.X.reshape(len(data.X), -1)
    at = rng.permutation(len(X))
    train, rest = at[:300], at[300:]
    return X[train], data.y[train], X[rest], data.y[rest]


def _forest_on_photographs(rng: np.random.Generator) -> Made:
    """CIFAR-10's test set, predicted by a forest on 20 components, trained on 10,000 images."""
    X, y, X_test, y_test = _flat_images("cifar-10")
    at = rng.permutation(len(X))[:10_000]
    pca = _sklearn("decomposition.PCA")(N_FEATURES, random_state=0)
    train = pca.fit_transform(X[at])
    forest = _sklearn("ensemble.RandomForestClassifier")
    model = forest(200, random_state=0).fit(train, y[at])
    test = pca.transform(X_test)
    return model.predict_proba(test), y_test, test


def _flat_images(name: str) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    data = load_data(name)
    assert data.X_test is not None
    assert data.y_test is not None
    X, X_test = (images.reshape(len(images), -1) / 255.0 for images in (data.X, data.X_test))
    return X, data.y, X_test, data.y_test


def _texts(
    name: str, model: str, n_train: int, **settings: object
) -> Callable[[np.random.Generator], Made]:
    """The texts that were not trained on, at most 20,000, predicted from TF-IDF."""

    def make(rng: np.random.Generator) -> Made:
        X, y, X_rest, y_rest = _split_texts(name, n_train)(rng)
        fitted = _sklearn(model)(**settings).fit(X, y)
        svd = _sklearn("decomposition.TruncatedSVD")
        reduce = svd(N_FEATURES, random_state=0).fit(X_rest)
        return fitted.predict_proba(X_rest), y_rest, reduce.transform(X_rest)

    return make


def _split_texts(name: str, n_train: int) -> Callable[[np.random.Generator], Split]:
    def split(rng: np.random.Generator) -> Split:
        data = load_data(name)
        at = rng.permutation(len(data.X))
        train, rest = at[:n_train], at[n_train : n_train + 20_000]
        tfidf = _sklearn("feature_extraction.text.TfidfVectorizer")(min_df=2, max_features=20_000)
        X = tfidf.fit_transform(data.X[train])
        return X, data.y[train], tfidf.transform(data.X[rest]), data.y[rest]

    return split


def _adult(model: str, **settings: object) -> Callable[[np.random.Generator], Made]:
    """Adult's test set, predicted by a model trained on 3,000 people."""

    def make(rng: np.random.Generator) -> Made:
        X, y, X_test, y_test = _adult_columns()
        at = rng.permutation(len(X))[:3000]
        fitted = _sklearn(model)(random_state=0, **settings).fit(X[at], y[at])
        return fitted.predict_proba(X_test), y_test, _components(X, X_test)

    return make


def _adult_columns() -> Split:
    data = load_data("adult")
    assert data.X_test is not None
    assert data.y_test is not None
    scaler = _sklearn("preprocessing.StandardScaler")()
    X, X_test = scaler.fit_transform(data.X), scaler.transform(data.X_test)
    return X, data.y, X_test, data.y_test


def _split_adult(rng: np.random.Generator) -> Split:
    X, y, X_test, y_test = _adult_columns()
    at = rng.permutation(len(X))[:3000]
    return X[at], y[at], X_test, y_test


def _fraud(rng: np.random.Generator) -> Made:
    """100,000 payments, predicted by a logistic regression trained on 30,000 others."""
    data = load_data("credit-card-fraud")
    at = rng.permutation(len(data.X))
    train, rest = at[:30_000], at[30_000:130_000]
    scaler = _sklearn("preprocessing.StandardScaler")().fit(data.X[train])
    logistic = _sklearn("linear_model.LogisticRegression")
    model = logistic(max_iter=500).fit(scaler.transform(data.X[train]), data.y[train])
    X = scaler.transform(data.X[rest])
    return model.predict_proba(X), data.y[rest], X[:, :N_FEATURES]


def _judge(rng: np.random.Generator) -> Made:
    """Pairs of outputs that Claude judges; the labels are the verdicts of GPT-4.

    A verdict is one bit, so that all predictions have the same probability.
    """
    data = load_data("alpaca-eval")
    second = np.where(data.X[:, 0] > 0, 0.75, 0.25)
    lengths = np.log1p(data.X[:, 1:])
    features = np.column_stack([lengths, lengths[:, 2] - lengths[:, 1], data.X[:, 0]])
    return np.column_stack([1 - second, second]), data.y, features


def _amount(rng: np.random.Generator) -> Made:
    """The logarithm of 20,000 amounts paid, predicted by ridge regression trained on 1,000.

    Predictions are cut to the range of the 1,000 labels: else a few make most of the spread.
    """
    data = load_data("credit-card-fraud")
    columns = [k for k, name in enumerate(data.features) if name.startswith("V")]
    y = np.log1p(data.X[:, data.features.index("Amount")])
    at = rng.permutation(len(y))
    train, rest = at[:1000], at[1000:21_000]
    X = data.X[:, columns]
    model = _sklearn("linear_model.Ridge")().fit(X[train], y[train])
    pred = np.clip(model.predict(X[rest]), y[train].min(), y[train].max())
    return pred, y[rest], X[rest, :N_FEATURES]


def _sklearn(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    made: Callable[..., Any] = getattr(optional(f"sklearn.{module}", extra="sklearn"), name)
    return made


def _components(fitted_to: FloatArray, X: FloatArray) -> FloatArray:
    pca = _sklearn("decomposition.PCA")(N_FEATURES, random_state=0)
    reduced: FloatArray = pca.fit(fitted_to).transform(X)
    return reduced


REAL_POOLS: dict[str, Callable[[np.random.Generator], Made]] = {
    "fashion-mnist": _images("fashion-mnist"),
    "mnist": _images("mnist"),
    "fashion-mnist-strong": _images("fashion-mnist", 20_000),
    "mnist-strong": _images("mnist", 20_000),
    "cifar-10": _forest_on_photographs,
    "adult": _adult("neural_network.MLPClassifier", hidden_layer_sizes=(50,), max_iter=40),
    "adult-tree": _adult("tree.DecisionTreeClassifier"),
    "credit-card": _fraud,
    "imdb": _texts("imdb", "linear_model.LogisticRegression", 3000),
    "spam": _texts("spam-assassin", "naive_bayes.MultinomialNB", 1000, alpha=0.1),
    "bbc-news": _texts("bbc-news", "linear_model.LogisticRegression", 300),
    "digits": _digits,
    "judge": _judge,
    "amount": _amount,
}
"""The pools by name. The last is a regression, the others are classifications."""

SURROGATES: dict[str, Callable[[np.random.Generator], Split]] = {
    "mnist-strong": _split_images("mnist", 20_000),
    "adult": _split_adult,
    "spam": _split_texts("spam-assassin", 1000),
    "digits": _split_digits,
}
"""The items that the surrogate of a pool is trained on, by the name of the pool."""
