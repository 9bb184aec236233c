"""Equations and remarks of the paper between its theorems, each exactly."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure, lure_weights
from levelled_studies.exact import Propose, every_path
from paths import LOSSES, chase_large_losses, expectation, uniform

SIZES = [(2, 1), (5, 3), (7, 6), (101, 30)]
CHASE = chase_large_losses(LOSSES)


def terms(draws: Draws) -> FloatArray:
    return lure.terms(LOSSES[draws.index], draws.probability, len(LOSSES))


def test_any_constant_combination_of_the_terms_is_unbiased() -> None:
    """Section 3.2: the c_m may depend on m, M and N, and on nothing that was drawn."""
    constants = np.array([0.3, 2.0, -1.0, 5.0])
    expected = expectation(
        lambda draws: float(constants @ terms(draws) / constants.sum()), 5, 4, CHASE
    )
    assert expected == pytest.approx(LOSSES.mean(), abs=1e-10)


def test_terms_of_different_steps_are_uncorrelated_given_the_pool() -> None:
    """Appendix B.2: E[(a_m - R)(a_k - R)] = 0 for m != k, although the draws depend."""
    centred = expectation(
        lambda draws: np.outer(terms(draws) - LOSSES.mean(), terms(draws) - LOSSES.mean()),
        5,
        4,
        CHASE,
    )
    np.testing.assert_allclose(centred - np.diag(np.diag(centred)), 0, atol=1e-10)
    assert (np.diag(centred) > 0.01).all()


@pytest.mark.parametrize(("N", "M"), SIZES)
def test_the_levels_solve_the_equations_of_the_appendix(N: int, M: int) -> None:
    """Appendix B.4: E[v_m] = 1 for all m, the recursion, its end, and the sum."""
    c = [Fraction(N * (N - M), (N - m) * (N - m + 1)) for m in range(1, M + 1)]
    np.testing.assert_allclose(lure.levels(N, M), [float(each) for each in c], rtol=1e-12)
    for m in range(1, M + 1):
        assert (N - m + 1) * c[m - 1] / N + sum(c[m:]) / N == 1
    for m in range(1, M):
        assert c[m - 1] == Fraction(N - m - 1, N - m + 1) * c[m]
    assert c[-1] == Fraction(N, N - M + 1)
    assert sum(c) == M


@pytest.mark.parametrize(("N", "M"), SIZES)
def test_the_weights_follow_from_the_levels(N: int, M: int) -> None:
    """Appendix B.4: v_m = c_m w_m + sum_(t > m) c_t / N = 1 + c_m (w_m - (N - m + 1) / N)."""
    q = np.random.default_rng(0).uniform(0.1, 1, size=M) / N
    c, w, m = lure.levels(N, M), 1 / (N * q), np.arange(1, M + 1)
    later = (c.sum() - np.cumsum(c)) / N
    np.testing.assert_allclose(lure.weights(q, N), c * w + later, rtol=1e-9)
    np.testing.assert_allclose(lure.weights(q, N), 1 + c * (w - (N - m + 1) / N), rtol=1e-9)


def test_weights_grow_more_even_with_the_budget() -> None:
    """Section 3.2: each comes nearer to one as M grows for a given N, and is one at M = N."""
    q = np.array([0.4, 0.01, 0.3, 0.05, 1.0])
    away = [np.abs(lure.weights(q[:M], 5) - 1) for M in range(1, 6)]
    for fewer, more in pairwise(away):
        assert (more[: len(fewer)] <= fewer + 1e-12).all()
    np.testing.assert_allclose(away[-1], 0, atol=1e-12)


def test_the_mean_of_a_weighted_loss_is_what_is_left_of_the_risk() -> None:
    """Appendix B.6: for losses of at least 0, E[w_m L_m | the draws before it] falls with m."""
    losses = np.abs(LOSSES)
    for draws, _ in every_path(5, 4, CHASE):
        left = [losses.sum() - losses[draws.index[:m]].sum() for m in range(5)]
        assert (np.diff(left) <= 0).all()
    means = expectation(lambda draws: losses[draws.index] / (5 * draws.probability), 5, 4, CHASE)
    kept = expectation(
        lambda draws: losses.mean() - (np.cumsum(losses[draws.index]) - losses[draws.index]) / 5,
        5,
        4,
        CHASE,
    )
    np.testing.assert_allclose(means, kept, atol=1e-10)


@pytest.mark.parametrize(("N", "M"), [(3, 2), (7, 4), (9, 9), (50, 17)])
def test_the_first_pair_of_theorem_4_is_the_polynomial_of_its_proof(N: int, M: int) -> None:
    """Appendix B.6: with F_1 = F_M = 1 the first pair leaves a number that is above 0."""
    first = Fraction(N - M + 1, N) ** 2 - Fraction(N - M, N - 1) ** 2
    assert first == Fraction((M - 1) * (2 * N * N - 2 * M * N + M - 1), N * N * (N - 1) ** 2)
    assert first > 0


@pytest.mark.parametrize("M", [10, 50, 500])
@pytest.mark.parametrize("alpha", [Fraction(11, 10), Fraction(2), Fraction(10)])
def test_the_squares_of_the_levels_stay_below_the_bound_of_theorem_5(
    M: int, alpha: Fraction
) -> None:
    """Appendix B.7: sum c_m^2 < M (N / (N - M + 1))^2 with N = alpha M, so the variance falls."""
    N = int(alpha * M)
    assert (lure.levels(N, M) ** 2).sum() <= M * (N / (N - M + 1)) ** 2


@pytest.mark.parametrize(("N", "M"), SIZES)
def test_the_sum_in_the_proof_of_theorem_7_telescopes(N: int, M: int) -> None:
    """Appendix B.9: sum_(k <= m) 1 / ((N - k)(N - k + 1)) = m / (N (N - m))."""
    for m in range(1, M + 1):
        total = sum(Fraction(1, (N - k) * (N - k + 1)) for k in range(1, m + 1))
        assert total == Fraction(m, N * (N - m))


def covariance_of_two_draws(losses: FloatArray, propose: Propose) -> float:
    paths = list(every_path(len(losses), 2, propose))
    chance = np.array([each for _, each in paths])
    first, second = np.array([losses[draws.index] for draws, _ in paths]).T
    return float(chance @ (first * second) - (chance @ first) * (chance @ second))


def test_adapting_to_high_losses_can_make_the_covariance_of_theorem_6_positive() -> None:
    """Section 4: one high loss helps to find others; uniform draws without replacement repel."""
    losses = np.array([5.0, 4.0, 6.0, 0.0, 1.0, 0.5])

    def same_cluster(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        weight = np.ones(len(left))
        if drawn:
            weight = np.where((left < 3) == (drawn[-1] < 3), 1.0, 0.05)
        return weight / weight.sum()

    assert covariance_of_two_draws(losses, same_cluster) > 1
    apart = covariance_of_two_draws(losses, uniform)
    assert apart == pytest.approx(-losses.var() / (len(losses) - 1))


def test_the_repulsion_of_uniform_draws_fades_in_a_larger_pool() -> None:
    """Section 4: for fixed M it is -Var / (N - 1)."""
    pools = [np.tile([0.0, 1.0], N // 2) for N in (4, 8, 16)]
    found = [covariance_of_two_draws(losses, uniform) for losses in pools]
    assert found == pytest.approx([-0.25 / 3, -0.25 / 7, -0.25 / 15])


def test_a_floor_bounds_the_importance_weights() -> None:
    """Appendix B.3: where q >= beta / N, w_m <= 1 / beta, and so v_m <= N / ((N - m + 1) beta)."""
    N, beta = 20, 0.1
    q = np.array([beta / N, 0.3, beta / N, 0.5])
    weights = lure_weights(Draws(np.arange(4), q, N))
    assert (1 / (N * q) <= 1 / beta + 1e-12).all()
    assert (weights <= N / ((N - np.arange(4)) * beta)).all()
