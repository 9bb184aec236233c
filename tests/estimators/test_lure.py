import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure, lure_weights, naive_weights, pure_weights, running
from levelled.estimators.moments import uniform_probability
from levelled_studies.exact import every_path
from paths import LOSSES, POSITIVE, chase_large_losses, optimal


def uniform_draws(pool_size: int, budget: int) -> Draws:
    return Draws(np.arange(budget), uniform_probability(pool_size, budget), pool_size)


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_two_forms_of_lure_and_of_pure_agree(budget: int) -> None:
    for draws, _ in every_path(5, budget, chase_large_losses(LOSSES)):
        losses = LOSSES[draws.index]
        a, c = lure.terms(losses, draws.probability, 5), lure.levels(5, budget)
        assert np.mean(lure_weights(draws) * losses) == pytest.approx(np.mean(c * a), abs=1e-10)
        assert np.mean(pure_weights(draws) * losses) == pytest.approx(np.mean(a), abs=1e-10)


@given(st.integers(1, 10**12), st.integers(1, 30))
def test_the_levels_sum_to_the_budget(pool_size: int, budget: int) -> None:
    budget = min(budget, pool_size)
    assert lure.levels(pool_size, budget).sum() == pytest.approx(budget, rel=1e-10)


@pytest.mark.parametrize(("pool_size", "budget"), [(1, 1), (7, 3), (7, 7), (10**12, 10)])
def test_uniform_draws_have_weight_one(pool_size: int, budget: int) -> None:
    np.testing.assert_allclose(lure_weights(uniform_draws(pool_size, budget)), 1, atol=1e-10)


def test_pure_weighs_early_uniform_draws_more_as_the_paper_says() -> None:
    N, M = 9, 4
    m = np.arange(1, M + 1)
    expected = 1 + (M - 2 * m + 1) / N
    np.testing.assert_allclose(pure_weights(uniform_draws(N, M)), expected, atol=1e-12)


@pytest.mark.parametrize("budget", [1, 3, 6])
def test_the_optimal_proposal_makes_both_estimators_exact(budget: int) -> None:
    for draws, _ in every_path(6, budget, optimal(POSITIVE)):
        losses = POSITIVE[draws.index]
        for weights in (pure_weights, lure_weights):
            risk = np.mean(weights(draws) * losses)
            assert risk == pytest.approx(POSITIVE.mean(), abs=1e-10)
        terms = lure.terms(losses, draws.probability, 6)
        np.testing.assert_allclose(terms, POSITIVE.mean(), atol=1e-10)


def test_the_whole_pool_has_weights_of_one() -> None:
    for draws, _ in every_path(4, 4, chase_large_losses(LOSSES[:4])):
        np.testing.assert_array_equal(lure_weights(draws), np.ones(4))


def test_two_proposals_estimate_a_signed_mean_exactly() -> None:
    """The construction in the footnote to the remark on Theorem 7."""
    gradients = np.array([3.0, -1.0, 0.5, -8.0, 2.0])
    for sign in (1, -1):
        part = np.maximum(sign * gradients, 0)
        drawable = np.flatnonzero(part)
        for path, _ in every_path(len(drawable), 2, optimal(part[drawable])):
            draws = Draws(drawable[path.index], path.probability, 5)
            value = np.mean(pure_weights(draws) * part[draws.index])
            assert value == pytest.approx(part.mean(), abs=1e-10)


def test_weights_take_leading_axes() -> None:
    q = np.random.default_rng(0).uniform(0.1, 0.9, size=(2, 3, 4))
    for weights in (lure.weights, lure.plain_weights):
        together = weights(q, 9)
        assert together.shape == q.shape
        np.testing.assert_array_equal(together[1, 2], weights(q[1, 2], 9))


@pytest.mark.parametrize("estimator", ["lure", "pure", "naive"])
def test_running_is_the_estimate_of_every_prefix(estimator: str) -> None:
    weights = {"lure": lure_weights, "pure": pure_weights, "naive": naive_weights}[estimator]
    for draws, _ in every_path(4, 4, chase_large_losses(LOSSES[:4])):
        losses = LOSSES[draws.index]
        expected = [np.mean(weights(draws[:m]) * losses[:m]) for m in range(1, 5)]
        np.testing.assert_allclose(running(losses, draws, estimator), expected, atol=1e-12)


probabilities = st.lists(st.floats(1e-6, 1), min_size=1, max_size=8).map(np.array)


@given(probabilities, st.integers(9, 10**12))
def test_weights_are_never_negative(q: FloatArray, pool_size: int) -> None:
    assert (lure.weights(q, pool_size) >= -1e-9).all()
    assert (lure.plain_weights(q, pool_size) >= 0).all()
