"""Proposals with a floor that falls, and those that balance several metrics."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled._check import FloatArray
from levelled.surrogates import (
    AverageAim,
    ClassShare,
    RatioAim,
    floor_after,
    next_round_size,
    water_filled,
)
from levelled.surrogates.driver import balanced_shares, importance_of

SPREADS = st.lists(st.floats(0, 10, allow_subnormal=False), min_size=1, max_size=40)
FLOORS = st.floats(0.05, 1.0)


@given(SPREADS, FLOORS)
def test_it_is_a_proposal_with_the_floor_that_was_asked_for(
    values: list[float], floor: float
) -> None:
    spread = np.array(values)
    q = water_filled(spread, floor)
    n = len(spread)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert q.min() >= floor / n * (1 - 1e-9)
    lifted = q > q.min() * (1 + 1e-9)
    if lifted.any():  # large spreads keep their proportions
        np.testing.assert_allclose(q[lifted] / q.sum(), q[lifted])
        ratio = q[lifted] / spread[lifted]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@given(SPREADS, FLOORS)
def test_the_order_of_spreads_is_kept_and_their_scale_does_not_matter(
    values: list[float], floor: float
) -> None:
    spread = np.array(values)
    q = water_filled(spread, floor)
    order = np.argsort(spread, kind="stable")
    assert np.all(np.diff(q[order]) >= -1e-15)
    np.testing.assert_allclose(water_filled(3 * spread, floor), q, rtol=1e-9)


def test_a_floor_of_one_is_uniform() -> None:
    np.testing.assert_allclose(water_filled(np.array([0.1, 5.0, 0.0]), 1.0), 1 / 3)
    np.testing.assert_allclose(water_filled(np.zeros(4), 0.2), 1 / 4)


def test_floors_fall_with_the_errors_and_never_below_a_fifth() -> None:
    floors = [floor_after(n) for n in range(200)]
    assert floors[0] == 0.75
    assert all(a >= b for a, b in pairwise(floors))
    assert floors[-1] == 0.2


def test_rounds_grow_with_the_draws() -> None:
    assert [next_round_size(n) for n in (0, 10, 40, 60, 500)] == [10, 5, 5, 6, 50]


N, FLOOR = 400, 0.3
RNG = np.random.default_rng(2)
ERROR = RNG.beta(0.5, 4, N)
SPAM = ClassShare(RNG.random(N) < 0.1, np.full(N, 0.2))
RECALL = np.array([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]])
LEFT = np.arange(30, N)
AIMS = (AverageAim(0.0, 1.0, 0.0, True), RatioAim(SPAM, RECALL, True))
IMPORTANCE = RNG.lognormal(0, 1.5, (2, len(LEFT)))  # of two metrics that pull apart
IMPORTANCE /= IMPORTANCE.mean(axis=1, keepdims=True)


def ratios(shares: FloatArray) -> FloatArray:
    """V_k / V*_k of each metric under the proposal of these shares."""
    alone = [s @ (1 / water_filled(np.sqrt(s), FLOOR)) for s in IMPORTANCE]
    return IMPORTANCE @ (1 / water_filled(np.sqrt(shares @ IMPORTANCE), FLOOR)) / alone


def test_every_variance_is_the_same_multiple_of_the_least_it_could_be() -> None:
    one, other = ratios(balanced_shares(IMPORTANCE, FLOOR))
    assert 1 < one == pytest.approx(other, rel=3e-3)


def test_no_other_shares_make_the_largest_multiple_smaller() -> None:
    least = ratios(balanced_shares(IMPORTANCE, FLOOR)).max()
    others = [ratios(np.array([a, 1 - a])).max() for a in np.linspace(0, 1, 101)]
    assert least <= min(others) * 1.001
    assert others[0] > 1.1 * least  # each metric alone is worse for the other
    assert others[-1] > 1.1 * least


def test_the_unit_of_a_loss_does_not_matter() -> None:
    shares = balanced_shares(IMPORTANCE, FLOOR)
    rescaled = balanced_shares(IMPORTANCE * [[1.0], [1e-6]], FLOOR) * [1.0, 1e-6]
    np.testing.assert_allclose(rescaled / rescaled.sum(), shares, rtol=1e-6)


def test_a_metric_that_follows_another_changes_nothing() -> None:
    twice = np.vstack([IMPORTANCE, IMPORTANCE[:1]])
    first, second, third = balanced_shares(twice, FLOOR)
    expected = balanced_shares(IMPORTANCE, FLOOR)
    np.testing.assert_allclose([first + third, second], expected, rtol=0.02)


def test_a_metric_that_cannot_vary_gets_no_share() -> None:
    nobody = ClassShare(np.zeros(N, dtype=bool), np.zeros(N))
    assert not importance_of(RatioAim(nobody, RECALL, True), ERROR, LEFT).any()
    both = np.vstack([IMPORTANCE[:1], np.zeros((1, len(LEFT)))])
    assert balanced_shares(both, FLOOR).tolist() == [1.0, 0.0]
    assert balanced_shares(np.zeros((2, 5)), FLOOR).tolist() == [0.5, 0.5]


def test_influence_values_add_up_to_nothing() -> None:
    mean, variance = AIMS[1].moments(ERROR)
    assert mean.sum() == pytest.approx(0, abs=1e-10)
    chance = SPAM.chance(ERROR, np.arange(N)).chance
    theta = (chance * SPAM.predicted).sum() / chance.sum()
    slope = np.where(SPAM.predicted, 1 - theta, -theta)
    np.testing.assert_allclose(variance, slope**2 * chance * (1 - chance), rtol=1e-12)


def test_without_a_control_the_square_of_a_loss_counts() -> None:
    brier = AverageAim(0.5, 1.0, 0.25, False)
    mean, variance = brier.moments(ERROR)
    np.testing.assert_allclose(mean, 0.5 + ERROR)
    np.testing.assert_allclose(variance, ERROR * (1 - ERROR) + 0.25 * ERROR)
    square = mean[LEFT] ** 2 + variance[LEFT]
    np.testing.assert_allclose(importance_of(brier, ERROR, LEFT), square / square.mean())
