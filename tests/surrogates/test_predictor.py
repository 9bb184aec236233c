"""The predictor of the loss and its ridge regressions, for losses with and without a bound."""

import json

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.surrogates import Covariates, LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.covariates import LogFamily, LogitFamily
from levelled.surrogates.predictor import Ridge


def pool_of(seed: int, n: int = 400, *, bounded: bool = True) -> tuple[Covariates, FloatArray]:
    """A pool whose losses depend on a feature that its scores do not show."""
    rng = np.random.default_rng(seed)
    expected, X = rng.beta(0.5, 4, n), rng.normal(size=(n, 2))
    losses = (rng.random(n) < np.clip(expected + 0.6 * (X[:, 0] > 1), 0, 1)).astype(float)
    if not bounded:
        losses = losses * rng.gamma(2.0, 3.0, n)
    return Covariates.of(expected, None, X, np.arange(n) % 3, bounded=bounded), losses


def fitted(pool: Covariates, losses: FloatArray, rows: IntArray) -> LossPredictor:
    return fit_predictor(pool, rows, losses[rows], np.ones(len(rows)))


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("n", [10, 150])
def test_predictions_are_losses_that_can_be(seed: int, n: int, bounded: bool) -> None:
    pool, losses = pool_of(seed, bounded=bounded)
    predictor = fitted(pool, losses, np.arange(n))
    predicted = predictor.predict(pool)
    assert np.all(predicted > 0)
    assert np.all(np.isfinite(predicted))
    assert not bounded or np.all(predicted < 1)
    assert np.all(predictor.spread(pool, predicted) > 0)
    assert 0.001 <= predictor.background <= 1


@pytest.mark.parametrize("bounded", [True, False])
def test_it_survives_the_log_bit_for_bit(seed: int, bounded: bool) -> None:
    pool, losses = pool_of(seed, bounded=bounded)
    for predictor in (prior_predictor(pool), fitted(pool, losses, np.arange(60))):
        again = LossPredictor.from_json(json.loads(json.dumps(predictor.to_json())))
        np.testing.assert_array_equal(again.predict(pool), predictor.predict(pool))
        assert again.to_json() == predictor.to_json()


@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_labels_of_one_kind_only_are_no_problem(loss: float) -> None:
    pool, _ = pool_of(0)
    predicted = fitted(pool, np.full(len(pool), loss), np.arange(30)).predict(pool)
    assert np.all((predicted > 0) & (predicted < 1))
    assert (predicted.mean() > 0.5) == (loss == 1.0)


def test_it_learns_from_a_feature_what_the_scores_do_not_show() -> None:
    pool, losses = pool_of(1, 4000)
    rows = np.arange(600)
    predicted = fitted(pool, losses, rows).predict(pool)[600:]
    before = prior_predictor(pool).predict(pool)[600:]
    rest = losses[600:]
    assert np.corrcoef(predicted, rest)[0, 1] > np.corrcoef(before, rest)[0, 1] + 0.1


def test_a_start_from_an_earlier_fit_changes_nothing(seed: int) -> None:
    pool, losses = pool_of(seed)
    rows = np.arange(80)
    fresh, earlier = fitted(pool, losses, rows), fitted(pool, losses, rows[:40])
    warm = fit_predictor(pool, rows, losses[rows], np.ones(80), earlier)
    np.testing.assert_allclose(warm.predict(pool), fresh.predict(pool), rtol=1e-4)


def test_weights_matter_up_to_a_factor_only(seed: int) -> None:
    pool, losses = pool_of(seed)
    rows, w = np.arange(50), np.linspace(0.2, 2, 50)
    one, other = (fit_predictor(pool, rows, losses[rows], c * w) for c in (1.0, 7.0))
    np.testing.assert_allclose(one.predict(pool), other.predict(pool), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6])
def test_the_unit_of_losses_without_a_bound_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    pool = Covariates.of(np.full(500, 0.1), features=X, bounded=False)
    losses = np.exp(0.8 * X[:, 0]) * rng.chisquare(1, 500)
    rows, weights = np.arange(200), rng.uniform(0.5, 2, 200)
    one, other = (fit_predictor(pool, rows, unit * losses[rows], weights) for unit in (1.0, scale))
    np.testing.assert_allclose(other.predict(pool), scale * one.predict(pool), rtol=1e-4)
    assert other.dispersion == pytest.approx(scale * one.dispersion, rel=1e-4)


def test_features_that_tell_nothing_of_large_losses_are_not_fitted() -> None:
    rng = np.random.default_rng(1)
    pool = Covariates.of(np.full(500, 0.1), features=rng.normal(size=(500, 20)), bounded=False)
    losses = 1e4 * rng.chisquare(1, 500)
    predictor = fit_predictor(pool, np.arange(60), losses[:60], np.ones(60))
    predicted = predictor.predict(pool)
    assert predicted.std() < 0.2 * predicted.mean()


@pytest.mark.parametrize("expected", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("begun", [True, False])
def test_losses_that_are_all_zero_are_predicted_to_be_next_to_nothing(
    expected: float, begun: bool
) -> None:
    pool = Covariates.of(np.full(50, expected), features=np.eye(50)[:, :3], bounded=False)
    before = prior_predictor(pool) if begun else None
    predictor = fit_predictor(pool, np.arange(20), np.zeros(20), np.ones(20), before)
    predicted = predictor.predict(pool)
    assert np.isfinite(predicted).all()
    assert (predicted < 1e-6).all()


def test_ratings_vary_less_than_a_coin_and_the_predictor_says_so() -> None:
    rng = np.random.default_rng(2)
    expected = rng.uniform(0.2, 0.8, 400)
    pool = Covariates.of(expected)
    ratings = np.clip(expected + rng.normal(0, 0.05, 400), 0, 1)
    predictor = fit_predictor(pool, np.arange(100), ratings[:100], np.ones(100))
    spread = predictor.spread(pool, predictor.predict(pool))
    assert 0.03 < spread.mean() < 0.1
    errors = (rng.random(400) < expected).astype(float)
    assert fit_predictor(pool, np.arange(100), errors[:100], np.ones(100)).dispersion == 1


def problem(seed: int, n: int = 60) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ [-0.5, 1.0, -0.5, 0.0]))).astype(float)
    return X, y, rng.gamma(2.0, 0.5, n)


def test_it_is_scikit_learns_logistic_regression_where_the_two_agree(seed: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y, w = problem(seed)
    prior, penalty = np.zeros(3), np.full(3, 2.0)
    ours = Ridge(LogitFamily(), X[:, 1:], y, w, prior, penalty).fit(prior)
    theirs = linear_model.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(X[:, 1:], y, sample_weight=w)
    np.testing.assert_allclose(ours, theirs.coef_[0], atol=1e-5)


@pytest.mark.parametrize("family", [LogitFamily(), LogFamily()])
def test_the_gradient_at_the_fit_is_zero_from_any_start(
    family: LogitFamily | LogFamily, seed: int
) -> None:
    X, y, w = problem(seed)
    y = y * np.linspace(0.1, 1, len(y))  # losses between 0 and 1 as well
    prior, penalty = np.array([-1.0, 0.5, 0.0, 0.0]), np.array([0.02, 2.0, 2.0, 10.0])
    ridge = Ridge(family, X, y, w, prior, penalty)
    for start in (prior, np.array([3.0, -3.0, 2.0, 1.0])):
        b = ridge.fit(start)
        slope = X.T @ (w * (y - family.mean(X @ b))) - penalty * (b - prior)
        np.testing.assert_allclose(slope, 0, atol=1e-4)


def test_predictions_left_out_are_those_of_a_real_refit_to_first_order(seed: int) -> None:
    X, y, w = problem(seed)
    prior, penalty = np.zeros(4), np.full(4, 2.0)
    ridge = Ridge(LogitFamily(), X, y, w, prior, penalty)
    b = ridge.fit(prior)
    short_cut = ridge.left_out(b)
    refits = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        without = Ridge(LogitFamily(), X[kept], y[kept], w[kept], prior, penalty).fit(b)
        refits.append(X[i] @ without)
    change, real = short_cut - X @ b, np.array(refits) - X @ b
    assert np.abs(change - real).max() < 0.15 * np.abs(real).max()
    assert np.corrcoef(change, real)[0, 1] > 0.99


def test_a_heavy_penalty_keeps_the_prior(seed: int) -> None:
    X, y, w = problem(seed)
    prior = np.array([-1.0, 0.5, 0.0, 2.0])
    b = Ridge(LogitFamily(), X, y, w, prior, np.full(4, 1e9)).fit(np.zeros(4))
    np.testing.assert_allclose(b, prior, atol=1e-6)
