"""The columns of a pool, whose scale is the same in one run and in many."""

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.surrogates import (
    Covariates,
    Driver,
    LossRun,
    Reduction,
    Scaling,
    ScoreColumns,
    prior_predictor,
)

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
    assert (pool.scaling.n_groups, pool.n_extra, pool.groups) == (0, 0, None)


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
    with pytest.raises(InputError, match="4 items"):
        Covariates.of(EXPECTED, features=np.ones((3, 1)))


def test_a_pool_of_two_items_is_enough() -> None:
    pool = Covariates.of([0.0, 1.0], [1.0, 0.0], [[1.0], [2.0]], [0, 1])
    predicted = prior_predictor(pool).predict(pool)
    assert np.all((predicted > 0) & (predicted < 1))


@pytest.mark.parametrize("pool_size", [30, 50_000])
def test_the_mean_prediction_before_any_label_is_the_prior_mean(pool_size: int, seed: int) -> None:
    expected = np.random.default_rng(seed).beta(0.3, 4, pool_size)
    pool = Covariates.of(expected)
    mean = pool.scaling.family.mean(pool.combine(pool.start[:4])).mean()
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


N = 400


def columns(seed: int, *, with_second: bool) -> ScoreColumns:
    rng = np.random.default_rng(seed)
    return ScoreColumns(
        rng.beta(0.5, 4, N),
        rng.beta(0.5, 4, N) if with_second else None,
        rng.normal(50, [1.0, 1e-3], size=(N, 2)),
        rng.integers(3, size=N),
    )


def part(of: ScoreColumns, start: int, end: int) -> ScoreColumns:
    rows = slice(start, end)
    return ScoreColumns(
        of.expected[rows],
        None if of.surrogate is None else of.surrogate[rows],
        None if of.features is None else of.features[rows],
        None if of.groups is None else of.groups[rows],
    )


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("size", [1, 37, 400])
def test_runs_have_the_scale_of_the_whole(seed: int, size: int, bounded: bool) -> None:
    every = columns(seed, with_second=bounded)
    runs = [part(every, start, start + size) for start in range(0, N, size)]
    scaling = Scaling.of(lambda: runs, N, bounded, from_verdicts=False)
    pool = Covariates.of(
        every.expected, every.surrogate, every.features, every.groups, bounded=bounded
    )
    assert scaling.intercept == pytest.approx(pool.scaling.intercept, rel=1e-9)
    assert (scaling.scale, scaling.prior_mean) == pytest.approx(
        (pool.scaling.scale, pool.scaling.prior_mean)
    )
    table = np.vstack([Covariates.scaled(run, scaling).table(np.arange(len(run))) for run in runs])
    np.testing.assert_allclose(table, pool.table(np.arange(N)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", [1, 37, 400])
def test_a_driver_in_runs_proposes_what_the_whole_one_does(seed: int, size: int) -> None:
    every = columns(seed, with_second=True)
    scaling = Scaling.of(lambda: [every], N, bounded=True, from_verdicts=False)
    covariates = Covariates.scaled(every, scaling)
    driver = Driver(N, lambda: [LossRun(covariates)])
    runs = [
        LossRun(Covariates.scaled(part(every, start, start + size), scaling))
        for start in range(0, N, size)
    ]
    large = Driver(N, lambda: runs, covariates.at)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(N, 30, replace=False)
    targets = (rng.random(30) < 0.3).astype(float)
    for n in (0, 30):
        ours, theirs = (one.fit(drawn[:n], targets[:n], np.ones(n)) for one in (large, driver))
        assert ours.to_json() == theirs.to_json()
        floor = large.floor(targets[:n])
        for one in (floor, None):
            proposals = [each.proposal(ours, drawn[:n], one) for each in (large, driver)]
            np.testing.assert_allclose(proposals[0].weights, proposals[1].weights, rtol=1e-6)
    assert large.shares(ours, drawn, floor) == ()


@pytest.mark.parametrize("size", [1, 37, 400])
@pytest.mark.parametrize("most", [2, 20])
def test_features_are_reduced_in_runs_as_at_once(seed: int, size: int, most: int) -> None:
    X = np.random.default_rng(seed).normal(size=(N, 5))
    X[::9, 0] = np.nan
    whole = Reduction.of([X], N, most).apply(X)
    runs = [X[start : start + size] for start in range(0, N, size)]
    reduction = Reduction.of(runs, N, most)
    np.testing.assert_allclose(np.vstack([reduction.apply(run) for run in runs]), whole, atol=1e-9)
