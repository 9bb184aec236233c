"""The scale of a pool is the same in one run and in many."""

import numpy as np
import pytest

from levelled.surrogates import Covariates, Driver, LossRun, Reduction, Scaling, ScoreColumns

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
    assert scaling.intercept == pytest.approx(pool.intercept, rel=1e-9)
    assert (scaling.scale, scaling.prior_mean) == pytest.approx((pool.scale, pool.prior_mean))
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
