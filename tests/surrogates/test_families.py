import numpy as np
import pytest

from levelled.surrogates import Covariates, fit_predictor


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


def test_losses_that_are_all_zero_are_predicted_to_be_next_to_nothing() -> None:
    pool = Covariates.of(np.full(50, 0.1), features=np.eye(50)[:, :3], bounded=False)
    predictor = fit_predictor(pool, np.arange(20), np.zeros(20), np.ones(20))
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
