import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.surrogates import Covariates, Reduction, prior_predictor

EXPECTED = np.array([0.1, 0.2, 0.4, 0.05])


def reduced(X: FloatArray, most: int = 20) -> FloatArray:
    return Reduction.of([X], len(X), most).apply(X)


def test_features_have_mean_zero_and_spread_one_whatever_their_place() -> None:
    far = 1.7e9 + np.arange(4.0)[:, None]  # times in seconds, which float32 cannot tell apart
    X = Covariates.of(EXPECTED, features=far).features
    assert X is not None
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(X.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e9, -0.1])
def test_a_constant_column_is_zero(value: float) -> None:
    X = Covariates.of(EXPECTED, features=np.full((4, 1), value)).features
    assert X is not None
    assert not X.any()


def test_features_in_blocks_are_those_of_all_at_once(seed: int) -> None:
    X = np.random.default_rng(seed).gamma(2.0, size=(70_000, 2))
    pool = Covariates.of(np.full(len(X), 0.1), features=X)
    assert pool.features is not None
    np.testing.assert_allclose(pool.features, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-4)


@pytest.mark.parametrize("groups", [[0, 0, 0, 0], None])
def test_one_class_is_no_column(groups: list[int] | None) -> None:
    pool = Covariates.of(EXPECTED, groups=groups)
    assert (pool.n_groups, pool.n_extra, pool.groups) == (0, 0, None)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gaps_are_refused_until_they_are_filled(bad: float) -> None:
    X = np.array([[1.0], [bad], [3.0], [2.0]])
    with pytest.raises(InputError, match="finite numbers"):
        Covariates.of(EXPECTED, features=X)
    assert reduced(X).ravel().tolist() == [1.0, 2.0, 3.0, 2.0]
    assert Covariates.of(EXPECTED, features=reduced(X)).n_extra == 1


def test_a_column_of_gaps_only_is_constant() -> None:
    assert not reduced(np.full((3, 2), np.nan)).any()


def test_features_of_another_number_of_items_are_refused() -> None:
    with pytest.raises(InputError, match="each of the 4 items"):
        Covariates.of(EXPECTED, features=np.ones((3, 1)))


def test_a_pool_of_two_items_is_enough() -> None:
    pool = Covariates.of([0.0, 1.0], [1.0, 0.0], [[1.0], [2.0]], [0, 1])
    predicted = prior_predictor(pool).predict(pool)
    assert np.all((predicted > 0) & (predicted < 1))


@pytest.mark.parametrize("pool_size", [30, 50_000])
def test_the_mean_prediction_before_any_label_is_the_prior_mean(pool_size: int, seed: int) -> None:
    expected = np.random.default_rng(seed).beta(0.3, 4, pool_size)
    pool = Covariates.of(expected)
    mean = pool.family.mean(pool.combine(pool.start[:4])).mean()
    assert mean == pytest.approx(np.clip(expected.mean(), 0.002, 0.5), rel=1e-4)


def test_the_table_of_rows_gives_what_combine_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = Covariates.of(rng.random(20), rng.random(20), rng.random((20, 3)), np.arange(20) % 4)
    b = rng.normal(size=4 + pool.n_extra)
    rows = np.array([3, 0, 19])
    np.testing.assert_allclose(pool.table(rows) @ b, pool.combine(b)[rows], atol=1e-5)


def test_many_columns_become_their_principal_components(seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = rng.normal(size=(200, 3))
    many = few @ rng.normal(size=(3, 64))  # of rank three
    fewer = reduced(many, most=3)
    assert fewer.shape == (200, 3)
    centred = many - many.mean(axis=0)
    np.testing.assert_allclose((fewer**2).sum(), (centred**2).sum(), rtol=1e-8)
