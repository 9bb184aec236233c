"""Lemma 1 and Theorems 1 and 3, exactly: expectations are summed over every path."""

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure, lure_weights, naive_weights, pure_weights
from levelled_studies.exact import Propose, every_path
from paths import LOSSES, POSITIVE, Weights, chase_large_losses, expectation, ignoring, uniform

PROPOSALS = [uniform, chase_large_losses(LOSSES)]
BUDGETS = [1, 2, 3, 4, 5]


def mean_loss(weights: FloatArray, draws: Draws, losses: FloatArray = LOSSES) -> float:
    return float(np.mean(weights * losses[draws.index]))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("weights", [pure_weights, lure_weights])
@pytest.mark.parametrize("propose", PROPOSALS)
def test_pure_and_lure_are_unbiased_whatever_the_proposal_learns(
    weights: Weights, propose: Propose, budget: int
) -> None:
    expected = expectation(lambda draws: mean_loss(weights(draws), draws), 5, budget, propose)
    assert expected == pytest.approx(LOSSES.mean(), abs=1e-10)


@pytest.mark.parametrize("budget", [1, 2, 3, 4])
def test_the_naive_estimator_misses_in_the_same_harness(budget: int) -> None:
    expected = expectation(
        lambda draws: mean_loss(naive_weights(draws), draws),
        5,
        budget,
        chase_large_losses(LOSSES),
    )
    assert abs(expected - LOSSES.mean()) > 0.1


def test_each_term_is_unbiased_given_the_draws_before_it() -> None:
    expected = expectation(
        lambda draws: lure.terms(LOSSES[draws.index], draws.probability, 5),
        5,
        4,
        chase_large_losses(LOSSES),
    )
    np.testing.assert_allclose(expected, LOSSES.mean(), atol=1e-10)


def test_the_difference_form_is_unbiased_for_a_predictor_refitted_after_every_label() -> None:
    def terms(draws: Draws) -> FloatArray:
        losses = LOSSES[draws.index]
        control, left = np.empty(4), np.empty(4)
        for m in range(4):
            fitted = (LOSSES + losses[:m].sum()) ** 2 / 10  # any function of the past and the item
            control[m] = fitted[draws.index[m]]
            left[m] = np.delete(fitted, draws.index[:m]).sum()
        return lure.terms(losses, draws.probability, 5, control=control, control_left=left)

    expected = expectation(terms, 5, 4, chase_large_losses(LOSSES))
    np.testing.assert_allclose(expected, LOSSES.mean(), atol=1e-10)


@pytest.mark.parametrize("budget", BUDGETS)
def test_lure_weights_have_mean_one_at_every_step(budget: int) -> None:
    expected = expectation(lure_weights, 5, budget, chase_large_losses(LOSSES))
    np.testing.assert_allclose(expected, 1, atol=1e-10)


def test_lure_weights_sum_to_the_budget_only_in_expectation() -> None:
    sums = [lure_weights(draws).sum() for draws, _ in every_path(5, 3, chase_large_losses(LOSSES))]
    assert max(sums) - min(sums) > 0.5


def test_plain_importance_weighting_is_biased_and_stays_so() -> None:
    def weighted(draws: Draws) -> float:
        return mean_loss(1 / (6 * draws.probability), draws, POSITIVE)

    missing = [
        POSITIVE.mean() - expectation(weighted, 6, budget, chase_large_losses(POSITIVE))
        for budget in (2, 3, 4, 5, 6)
    ]
    assert missing[0] > 0.05
    assert (np.diff(missing) > 0.05).all()  # more labels make it worse


@pytest.mark.parametrize("weights", [pure_weights, lure_weights])
def test_ignored_items_give_exactly_the_bias_of_section_3_3(weights: Weights) -> None:
    propose = ignoring(chase_large_losses(LOSSES), lambda step: {3})
    expected = expectation(lambda draws: mean_loss(weights(draws), draws), 5, 3, propose)
    assert expected == pytest.approx(LOSSES.mean() - LOSSES[3] / 5, abs=1e-10)


def test_an_ignored_set_that_varies_biases_each_term_by_what_it_ignored_there() -> None:
    propose = ignoring(uniform, lambda step: {3} if step == 1 else {0, 3} if step == 2 else set())

    def ignored_losses(draws: Draws) -> FloatArray:
        second = LOSSES[3] + (LOSSES[0] if draws.index[0] != 0 else 0)
        return np.array([LOSSES[3], second, 0.0])

    terms = expectation(
        lambda draws: lure.terms(LOSSES[draws.index], draws.probability, 5), 5, 3, propose
    )
    bias = expectation(ignored_losses, 5, 3, propose) / 5
    np.testing.assert_allclose(terms, LOSSES.mean() - bias, atol=1e-10)
