"""Theorems 1, 3, 4 and 6 and the variance estimate, exactly."""

from itertools import product

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure, lure_weights, pure_weights
from levelled.estimators.moments import degrees_of_freedom, moments, variance
from levelled.proposals import optimal_for_gradient
from levelled_studies.exact import (
    Propose,
    conditional_variances,
    lure_variance,
    naive_moments,
    pure_variance,
)
from paths import LOSSES, POSITIVE, Weights, chase_large_losses, expectation, optimal, uniform

POPULATION = np.array([0.2, 1.0, 4.0])


def spread(weights: Weights, losses: FloatArray, budget: int, propose: Propose) -> float:
    """The enumerated variance of an estimator around the pool risk."""

    def squared_error(draws: Draws) -> float:
        return float(np.mean(weights(draws) * losses[draws.index]) - losses.mean()) ** 2

    return float(expectation(squared_error, len(losses), budget, propose))


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("propose", [uniform, chase_large_losses(LOSSES)])
def test_enumerated_variances_equal_the_formulas_of_theorems_1_and_3(
    propose: Propose, budget: int
) -> None:
    pure_spread = spread(pure_weights, LOSSES, budget, propose)
    lure_spread = spread(lure_weights, LOSSES, budget, propose)
    assert pure_spread == pytest.approx(pure_variance(LOSSES, budget, propose), abs=1e-10)
    assert lure_spread == pytest.approx(lure_variance(LOSSES, budget, propose), abs=1e-10)


@pytest.mark.parametrize("budget", [3, 4, 5])
@pytest.mark.parametrize("estimator", ["lure", "pure"])
def test_the_variance_estimate_is_exactly_unbiased(estimator: str, budget: int) -> None:
    losses = np.append(POSITIVE, -1.5)
    propose = chase_large_losses(losses)

    def estimated(draws: Draws) -> float:
        result = moments(losses[draws.index], draws.probability, 7, estimator=estimator)
        assert result.exact
        return float(result.variance)

    true = (pure_variance if estimator == "pure" else lure_variance)(losses, budget, propose)
    assert expectation(estimated, 7, budget, propose) == pytest.approx(true, abs=1e-10)


def test_the_variance_estimate_is_exactly_unbiased_with_a_refitted_predictor() -> None:
    losses, budget = np.append(POSITIVE, -1.5), 4
    propose = chase_large_losses(losses)

    def estimated_and_true(draws: Draws) -> FloatArray:
        seen = losses[draws.index]
        control, left = np.empty(budget), np.empty(budget)
        for m in range(budget):
            fitted = 0.8 * losses + seen[:m].sum() / 10
            control[m], left[m] = fitted[draws.index[m]], np.delete(fitted, draws.index[:m]).sum()
        got = moments(seen, draws.probability, 7, control=control, control_left=left)
        return np.array([got.variance, (got.value - losses.mean()) ** 2])

    estimated, true = expectation(estimated_and_true, 7, budget, propose)
    assert estimated == pytest.approx(true, abs=1e-10)


@pytest.mark.parametrize("budget", [2, 5])
def test_where_it_is_not_exact_the_variance_of_uniform_draws_is_low_and_says_so(
    budget: int,
) -> None:
    def estimated(draws: Draws) -> float:
        result = moments(POSITIVE[draws.index], draws.probability, 6)
        assert not result.exact
        return float(result.variance)

    expected = expectation(estimated, 6, budget, uniform)
    assert 0.5 < expected / lure_variance(POSITIVE, budget, uniform) < 1


def test_the_whole_pool_leaves_no_variance() -> None:
    result = moments(np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.9, 1.0]), 3)
    assert result.value == pytest.approx(7 / 3)
    assert result.variance == 0
    assert result.exact


def weight_normalised(losses: FloatArray, budget: int, propose: Propose) -> FloatArray:
    """F_m of appendix B.6."""
    N, m = len(losses), np.arange(1, budget + 1)
    return conditional_variances(losses, budget, propose) / ((N - m + 1) / N) ** 2


def improving(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    """Uniform at first, nearer to the optimal proposal with every label."""
    share = len(drawn) / 5
    return (1 - share) / len(left) + share * POSITIVE[left] / POSITIVE[left].sum()


def worsening(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    """Optimal at first, then ever more against the losses."""
    weight = POSITIVE[left] ** (1 - 1.2 * len(drawn))
    return weight / weight.sum()


@pytest.mark.parametrize("budget", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("propose", [uniform, improving])
def test_lure_varies_less_than_pure_where_the_assumption_of_theorem_4_holds(
    propose: Propose, budget: int
) -> None:
    F = weight_normalised(POSITIVE, budget, propose)
    half = budget // 2
    assert (F[:half] >= F[::-1][:half] - 1e-12).all()
    assert F[0] > 0  # the strict clause of the theorem
    lure_spread = spread(lure_weights, POSITIVE, budget, propose)
    assert lure_spread < spread(pure_weights, POSITIVE, budget, propose)


def test_lure_varies_more_than_pure_under_a_proposal_that_gets_worse() -> None:
    F = weight_normalised(POSITIVE, 3, worsening)
    assert F[0] < F[2]  # the assumption does not hold
    lure_spread = spread(lure_weights, POSITIVE, 3, worsening)
    assert lure_spread > spread(pure_weights, POSITIVE, 3, worsening)


def test_theorem_4_is_not_strict_for_one_draw_or_an_optimal_first_one() -> None:
    one = spread(lure_weights, POSITIVE, 1, improving)
    assert one == pytest.approx(spread(pure_weights, POSITIVE, 1, improving), abs=1e-14)
    best = optimal(POSITIVE)
    assert spread(lure_weights, POSITIVE, 3, best) == pytest.approx(0, abs=1e-14)
    assert spread(pure_weights, POSITIVE, 3, best) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("losses", [LOSSES, POSITIVE, np.array([0.0, 0.0, 1.0, 0.0])])
def test_uniform_draws_do_not_make_all_f_m_equal_as_the_paper_says(losses: FloatArray) -> None:
    """F_m = (n - 1)/n S^2 with n = N - m + 1 points left: it falls, so Theorem 4 still applies."""
    N = len(losses)
    n = N - np.arange(N)
    F = (n / N) ** -2.0 * conditional_variances(losses, N, uniform)
    np.testing.assert_allclose(F, (n - 1) / n * losses.var(ddof=1), atol=1e-12)
    assert (np.diff(F) < 0).all()


def first_by(first: FloatArray, gradients: FloatArray) -> Propose:
    """A first draw by these probabilities; every later one is in proportion to |gradient|."""

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        if not drawn:
            return first
        return optimal_for_gradient(gradients[left])

    return propose


def test_from_two_draws_on_another_proposal_beats_that_in_proportion_to_the_gradient() -> None:
    """The remark after Theorem 7 is right for one draw.

    Once the only positive gradient of (1, -1, -1) is drawn, all that are left have one sign and
    the next draw is exact. So it pays to draw that item first more often than |gradient| says.
    """
    gradients = np.array([1.0, -1.0, -1.0])
    paper = optimal(np.abs(gradients))
    for variance_of, share, values in (
        (pure_variance, 0.4, (8 / 27, 317 / 1080)),
        (lure_variance, 2 / 3, (2 / 9, 49 / 288)),
    ):
        better = first_by(np.array([share, (1 - share) / 2, (1 - share) / 2]), gradients)
        assert variance_of(gradients, 1, paper) < variance_of(gradients, 1, better)
        found = [variance_of(gradients, 2, each) for each in (paper, better)]
        assert found == pytest.approx(values, abs=1e-12)


def test_lemma_2_holds_for_all_small_numbers() -> None:
    for N in range(2, 14):
        for M, a, b in product(range(1, N), range(1, N), range(1, N)):
            if a + b <= M:
                assert ((N - a) / N) ** 2 >= ((N - M) / (N - b)) ** 2 - 1e-15


def informed(losses: FloatArray) -> Propose:
    """Adaptive, and with a score that knows something of the losses to come."""
    chase = chase_large_losses(losses)

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return 0.5 * chase(drawn, left) + 0.5 * losses[left] / losses[left].sum()

    return propose


def pools() -> list[FloatArray]:
    """Every pool of four drawn from a population of three equally likely losses."""
    return [np.array(pool) for pool in product(POPULATION, repeat=4)]


@pytest.mark.parametrize("estimator", ["pure", "lure"])
def test_over_pools_the_variance_of_the_loss_over_n_is_added(estimator: str) -> None:
    weights = {"pure": pure_weights, "lure": lure_weights}[estimator]
    formula = {"pure": pure_variance, "lure": lure_variance}[estimator]
    errors, within = [], []
    for pool in pools():
        propose = informed(pool)

        def squared_error(draws: Draws, pool: FloatArray = pool) -> float:
            value = np.mean(weights(draws) * pool[draws.index])
            return float(value - POPULATION.mean()) ** 2

        errors.append(expectation(squared_error, 4, 2, propose))
        within.append(formula(pool, 2, propose))
    assert np.mean(errors) == pytest.approx(POPULATION.var() / 4 + np.mean(within), abs=1e-10)


def test_the_four_terms_of_theorem_6_add_up_over_pools() -> None:
    budget, naive = 3, []
    first_two_moments = np.zeros(2)
    for pool in pools():
        propose = informed(pool)

        def powers(draws: Draws, pool: FloatArray = pool) -> FloatArray:
            value = pool[draws.index].mean()
            return np.array([value, value**2])

        first_two_moments += expectation(powers, 4, budget, propose) / len(pools())
        naive.append(naive_moments(pool, budget, propose))
    mean, square = first_two_moments
    assert np.mean([result.mean for result in naive]) == pytest.approx(mean, abs=1e-10)
    assert abs(mean - POPULATION.mean()) > 0.01  # it is biased
    between_pools = np.var([result.mean for result in naive])  # term 1
    terms = between_pools + np.mean([result.variance for result in naive])
    assert terms == pytest.approx(square - mean**2, abs=1e-10)


def test_the_terms_of_theorem_6_for_uniform_draws_are_the_textbook_ones() -> None:
    result, N, M = naive_moments(LOSSES, 3, uniform), 5, 3
    textbook = LOSSES.var(ddof=1) / M * (1 - M / N)
    assert result.mean == pytest.approx(LOSSES.mean())
    assert result.variance == pytest.approx(textbook)
    assert result.covariance < 0


def test_variance_and_degrees_of_freedom_take_leading_axes() -> None:
    a = np.random.default_rng(0).random((2, 3, 6))
    u = lure.levels(9, 6) / 6
    for together, alone in (
        (variance(a, u), variance),
        (degrees_of_freedom(a, u), degrees_of_freedom),
    ):
        assert together.shape == (2, 3)
        assert together[1, 2] == pytest.approx(float(alone(a[1, 2], u)))


def test_equal_terms_have_as_many_degrees_of_freedom_as_draws_less_one() -> None:
    assert degrees_of_freedom(np.ones(5), np.full(5, 0.2)) == 4
    assert lure.terms(np.zeros(5), np.full(5, 0.2), 9).tolist() == [0] * 5
