import json

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.surrogates import Covariates, LossPredictor, fit_predictor, prior_predictor


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
