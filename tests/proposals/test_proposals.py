"""Every proposal but the Boltzmann one, beside what its formula says."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from contracts.proposals import PositiveScoresContract, ProposalContract, SignedScoresContract
from levelled._check import FloatArray
from levelled.errors import InputError, ProposalError
from levelled.proposals import (
    boltzmann,
    epsilon_greedy,
    mixture,
    optimal,
    optimal_for_gradient,
    power,
    proportional,
    rank,
    uniform,
)


def floored(
    scores: ArrayLike, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    p = proportional(scores, left=left, allow_zero=True)
    return mixture(p, share=0.1, left=left, allow_zero=allow_zero)


class TestMixture(PositiveScoresContract):
    propose = staticmethod(floored)


@pytest.mark.parametrize("n", [1, 3, 10, 999_983])
def test_uniform_probabilities_are_equal_and_sum_to_one(n: int) -> None:
    p = uniform(n)
    assert len(p) == n
    assert p.min() == p.max()
    assert abs(p.sum() - 1) <= 1e-12


@pytest.mark.parametrize("n", [0, -1, 2.5, "many"])
def test_uniform_needs_a_whole_number_of_items(n: int) -> None:
    with pytest.raises(InputError, match="n must be"):
        uniform(n)


def test_a_mixture_is_a_floor_plus_the_rest() -> None:
    np.testing.assert_allclose(
        mixture([0.5, 0.3, 0.2, 0.0], share=0.2), [0.45, 0.29, 0.21, 0.05], rtol=1e-14
    )


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_no_item_falls_below_the_floor(share: float) -> None:
    p = mixture(boltzmann([0.0, 500.0, 3000.0], 1, allow_zero=True), share)
    assert p.min() == pytest.approx(share / 3, rel=1e-12)


def test_without_a_floor_zeros_are_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        mixture([1.0, 0.0], share=0)
    np.testing.assert_array_equal(mixture([1.0, 0.0], share=0, allow_zero=True), [1, 0])


@pytest.mark.parametrize("wrong", [[0.5, 0.6], [1.5, -0.5], [], [0.5, np.nan], [1e308, 1e308]])
def test_what_is_no_distribution_is_refused(wrong: list[float]) -> None:
    with pytest.raises(InputError):
        mixture(wrong, share=0.1)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_the_share_is_between_zero_and_one(share: float) -> None:
    with pytest.raises(InputError, match=r"share.*0 and 1"):
        mixture([0.5, 0.5], share)


class TestProportional(PositiveScoresContract):
    propose = staticmethod(proportional)


class TestPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=2.0))


class TestFlatPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=0.0))


class TestSteepPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=1e6))


def test_probabilities_are_shares_of_the_score() -> None:
    np.testing.assert_array_equal(proportional([1, 2, 5]), [0.125, 0.25, 0.625])


def test_scores_whose_sum_overflows_still_have_shares() -> None:
    np.testing.assert_allclose(proportional([1e308, 1e308, 2e307]), [5 / 11, 5 / 11, 1 / 11])


def test_one_score_of_zero_among_others_is_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 3"):
        proportional([1.0, 0.0, 3.0])
    np.testing.assert_array_equal(proportional([1.0, 0.0, 3.0], allow_zero=True), [0.25, 0, 0.75])


def test_negative_scores_are_sent_elsewhere() -> None:
    with pytest.raises(InputError, match="boltzmann or rank"):
        proportional([1.0, -1.0])


def test_power_one_is_proportional() -> None:
    np.testing.assert_array_equal(power([1, 2, 5], 1), proportional([1, 2, 5]))


def test_power_is_a_boltzmann_proposal_on_the_log_of_the_score() -> None:
    scores = np.array([0.1, 2.0, 5.0])
    np.testing.assert_allclose(power(scores, 3), boltzmann(np.log(scores), 3), rtol=1e-13)


@pytest.mark.parametrize("exponent", [-1.0, np.nan, np.inf])
def test_the_exponent_of_a_power_is_a_number_of_at_least_zero(exponent: float) -> None:
    with pytest.raises(InputError, match="exponent"):
        power([1.0, 2.0], exponent)


class TestEpsilonGreedy(SignedScoresContract):
    propose = staticmethod(partial(epsilon_greedy, epsilon=0.1))


class TestGreedy(SignedScoresContract):
    propose = staticmethod(partial(epsilon_greedy, epsilon=0.0))


def test_the_paper_s_example() -> None:
    # Appendix C.1: 1 - epsilon + epsilon / n for the best, epsilon / n for the others.
    p = epsilon_greedy([0.3, 0.9, 0.1, 0.2, 0.0], epsilon=0.1)
    np.testing.assert_allclose(p, [0.02, 0.92, 0.02, 0.02, 0.02], rtol=1e-14)


def test_the_paper_s_epsilon_greedy_formula_sums_to_one_over_the_points_left_only() -> None:
    """With |D_pool| = N = 101 the masses of C.1 sum to 1 - epsilon (m - 1)/N: .96 at m = 41."""
    N, epsilon = 101, 0.1
    sums = []
    for n_left in range(N, 1, -1):
        with_pool_size = np.full(n_left, epsilon / N)
        with_pool_size[0] += 1 - epsilon
        sums.append(with_pool_size.sum())
        assert epsilon_greedy(np.arange(n_left)[::-1], epsilon).sum() == pytest.approx(1)
    np.testing.assert_allclose(sums, 1 - epsilon * np.arange(N - 1) / N, rtol=1e-12)
    assert [round(sums[m - 1], 2) for m in (1, 41, 100)] == [1.0, 0.96, 0.9]


def test_items_tied_at_the_top_share_the_greedy_part() -> None:
    p = epsilon_greedy([2.0, 2.0, 1.0, 0.0], epsilon=0.4)
    np.testing.assert_allclose(p, [0.4, 0.4, 0.1, 0.1], rtol=1e-14)


def test_epsilon_one_is_uniform() -> None:
    np.testing.assert_allclose(epsilon_greedy([2.0, 1.0], epsilon=1), 0.5, rtol=1e-15)


def test_epsilon_zero_is_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        epsilon_greedy([2.0, 1.0], epsilon=0)
    np.testing.assert_array_equal(epsilon_greedy([2.0, 1.0], 0, allow_zero=True), [1, 0])


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_epsilon_is_a_probability(epsilon: float) -> None:
    with pytest.raises(InputError, match=r"epsilon.*0 and 1"):
        epsilon_greedy([2.0, 1.0], epsilon)


class TestRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=1.0))


class TestFlatRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=0.0))


class TestSteepRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=5000.0))


def test_probabilities_fall_with_the_rank() -> None:
    np.testing.assert_allclose(rank([5.0, 9.0, 7.0], 2) * 49, [4, 36, 9], rtol=1e-14)


def test_tied_items_share_their_mean_rank() -> None:
    # Ranks 1, 2.5, 2.5 and 4.
    np.testing.assert_allclose(
        rank([3.0, 9.0, 3.0, 1.0], 1), np.array([0.4, 1, 0.4, 0.25]) / 2.05, rtol=1e-14
    )


def test_ranks_agree_with_scipy(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 40, 200).astype(float)
    weights = 1 / rankdata(-scores)
    np.testing.assert_allclose(rank(scores, 1), weights / weights.sum(), rtol=1e-12)


def test_only_the_order_of_the_scores_matters() -> None:
    scores = np.array([0.2, -3.0, 1.5, 0.2])
    np.testing.assert_array_equal(rank(np.exp(scores), 1.5), rank(scores, 1.5))


def test_the_exponent_of_a_rank_is_at_least_zero() -> None:
    with pytest.raises(InputError, match="exponent"):
        rank([1.0, 2.0], -1)


class TestOptimal(PositiveScoresContract):
    propose = staticmethod(optimal)


class TestOptimalForGradient(ProposalContract):
    propose = staticmethod(optimal_for_gradient)


def terms_on_the_way(losses: FloatArray, order: list[int], *, best: bool) -> list[float]:
    """a_m = L_m / (N q_m) + (losses drawn before) / N along one order of drawing."""
    left, terms = list(range(len(losses))), []
    for item in order:
        q = optimal(losses[left]) if best else uniform(len(left))
        before = losses.sum() - losses[left].sum()
        terms.append((losses[item] / q[left.index(item)] + before) / len(losses))
        left.remove(item)
    return terms


def test_every_step_of_the_optimal_proposal_gives_the_pool_risk() -> None:
    # Theorem 7: R_PURE and R_LURE are averages of these a_m.
    losses = np.array([3.0, 0.25, 0.5, 8.0, 2.0])
    order = [4, 0, 1, 3, 2]
    exact = terms_on_the_way(losses, order, best=True)
    np.testing.assert_allclose(exact, losses.mean(), rtol=1e-12)
    assert np.std(terms_on_the_way(losses, order, best=False)) > 0.1


def test_an_item_without_loss_must_be_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        optimal([1.0, 0.0])
    np.testing.assert_array_equal(optimal([1.0, 0.0], allow_zero=True), [1, 0])


def test_the_sign_of_a_gradient_does_not_matter() -> None:
    np.testing.assert_array_equal(
        optimal_for_gradient([-1.0, 2.0, -5.0]), optimal_for_gradient([1.0, 2.0, 5.0])
    )
