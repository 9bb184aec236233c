"""Intervals whose predictor is refitted as labels come in, and planned looks err as they may."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import ndtri

from bounds import hoeffding
from levelled.estimators.intervals.limits import (
    PRIOR_DF,
    blended_variance,
    leaning,
    plan_looks,
    plan_without_budget,
    replan_looks,
    score_t,
)
from levelled.estimators.moments import Moments
from levelled.looks import PlannedLook


def moments(value: float, variance: float = 4e-4, errors: float = 10.0) -> Moments:
    return Moments(
        np.asarray(value),
        np.asarray(variance),
        df=np.asarray(40.0),
        total=np.asarray(errors),
        budget=100,
        pool_size=1000,
        exact=True,
    )


def limits(value: float, jump: float = 0.0) -> tuple[float, float]:
    low, high = leaning(np.asarray(value), np.asarray(0.02), np.asarray(2.0), (0.0, 1.0), jump)
    return float(low), float(high)


def test_it_reaches_further_away_from_the_nearer_bound() -> None:
    low, high = limits(0.1)
    assert high - 0.1 > 0.1 - low > 0


def test_a_risk_above_the_middle_gets_the_mirror_image() -> None:
    low, high = limits(0.1, jump=0.03)
    assert limits(0.9, jump=-0.03) == pytest.approx((1 - high, 1 - low))


def test_rare_heavy_errors_move_both_limits_away_from_the_bound_and_only_so_far() -> None:
    plain, leaning_more, most = limits(0.1), limits(0.1, jump=0.008), limits(0.1, jump=10.0)
    assert plain[0] < leaning_more[0] < most[0]
    assert plain[1] < leaning_more[1] < most[1]
    c, k = 0.04, 0.04**2 / 0.12
    far, near = k + c, k + c / 4
    assert most[1] == pytest.approx(0.1 + (np.hypot(far, 2 * c) + far) / 2)
    assert most[0] == pytest.approx(0.1 - (np.hypot(near, 2 * c) - near) / 2)


@pytest.mark.parametrize(("value", "part"), [(0.01, 0.02), (0.06, 0.03), (0.2, 0.04)])
def test_errors_that_nobody_has_seen_are_allowed_for_up_to_half_of_the_risk_seen(
    value: float, part: float
) -> None:
    """At least c / 2 and at most c, where c = 0.04."""
    far = 0.04**2 / (value + 0.02) + part
    _, high = limits(value, jump=10.0)
    assert high == pytest.approx(value + (np.hypot(far, 0.08) + far) / 2)


def test_an_estimate_that_is_all_jumps_of_one_size_leans_by_nearly_their_score_interval() -> None:
    """k errors of weight J have V = k J^2 and k = t^2 J; the far limit leans by nine tenths."""
    J, t, errors = 0.01, 2.0, 16
    value, sd = errors * J, np.sqrt(errors) * J
    _, high = leaning(np.asarray(value), np.asarray(sd), np.asarray(t), (0.0, 1.0), J)
    lean = 0.9 * t**2 * J
    assert float(high) == pytest.approx(value + (np.hypot(lean, 2 * t * sd) + lean) / 2)


def test_a_jump_that_is_expected_to_be_small_changes_nothing() -> None:
    assert limits(0.1, jump=1e-6) == limits(0.1) == limits(0.1, jump=-1.0)


def test_the_predicted_variance_counts_as_six_degrees_of_freedom() -> None:
    V, df = blended_variance(moments(0.1), np.asarray(1e-4), (0.0, 1.0))
    assert float(df) == 20 + PRIOR_DF
    assert float(V) == pytest.approx((20 * 4e-4 + 6 * 1e-4) / 26)


def test_without_an_error_the_predictor_alone_decides() -> None:
    unseen = moments(0.0, variance=0.0, errors=0.0)
    V, df = blended_variance(unseen, np.asarray(1e-4), (0.0, 1.0))
    assert float(V) == pytest.approx(1e-4)
    assert float(df) == PRIOR_DF
    low, high = score_t(unseen, np.asarray(1e-4), (0.0, 1.0), 0.95)
    assert low < 0 < high


def share_rejected(looks: Sequence[PlannedLook], pool_size: int, seed: int, n: int) -> float:
    """The share of n random walks of information that leave the limits at any of the looks."""
    m = np.array([look.n for look in looks], dtype=float)
    tau = pool_size * m / (pool_size - m)
    steps = np.random.default_rng(seed).normal(size=(n, len(m))) * np.sqrt(np.diff(tau, prepend=0))
    z = np.cumsum(steps, axis=1) / np.sqrt(tau)
    return float(np.mean((np.abs(z) > [-ndtri(look.alpha / 2) for look in looks]).any(axis=1)))


def test_five_looks_have_the_levels_of_obrien_and_fleming() -> None:
    looks = plan_looks(500, 10**6, 5, 0.045)
    assert [look.n for look in looks] == [100, 200, 300, 400, 500]
    assert [look.alpha for look in looks] == pytest.approx(
        [3.2e-6, 9.96e-4, 0.0072, 0.0199, 0.0374], rel=0.02
    )


@pytest.mark.parametrize(("budget", "count"), [(500, 5), (900, 5), (100, 3), (40, 1), (990, 12)])
def test_all_looks_together_spend_alpha(seed: int, budget: int, count: int) -> None:
    n, looks = 200_000, plan_looks(budget, 1000, count, 0.045)
    bound = hoeffding(n, comparisons=5, alarm=1e-6)  # fails at most 1 run in 10**6
    assert share_rejected(looks, 1000, seed, n) == pytest.approx(0.045, abs=bound)


@pytest.mark.parametrize(("taken", "budget"), [(0, 500), (1, 300), (3, 800), (2, 500)])
def test_a_changed_budget_spends_what_is_left(seed: int, taken: int, budget: int) -> None:
    first = plan_looks(500, 1000, 5, 0.045)[:taken]
    looks, n = replan_looks(first, budget, 1000, 5, 0.045), 200_000
    assert looks[:taken] == first
    assert looks[-1].n == budget
    bound = hoeffding(n, comparisons=4, alarm=1e-6)  # fails at most 1 run in 10**6
    assert share_rejected(looks, 1000, seed, n) == pytest.approx(0.045, abs=bound)


def test_nothing_is_left_after_the_last_look_of_a_budget() -> None:
    looks = plan_looks(500, 1000, 5, 0.045)
    assert replan_looks(looks, 900, 1000, 5, 0.045) == looks


def test_looks_without_a_budget_never_spend_more_than_alpha() -> None:
    looks = plan_without_budget(10**12, 0.045)
    assert [look.n for look in looks[:3]] == [50, 100, 200]
    assert sum(look.alpha for look in looks) < 0.045


def test_few_labels_have_few_looks_and_the_whole_pool_is_the_last() -> None:
    assert [look.n for look in plan_looks(3, 60, 5, 0.045)] == [1, 2, 3]
    assert [look.n for look in plan_looks(60, 60, 5, 0.045)] == [12, 24, 36, 48, 60]
