"""Intervals whose predictor is refitted as labels come in, and planned looks err as they may."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import ndtri

from bounds import hoeffding
from levelled._check import FloatArray
from levelled.estimators.intervals.limits import (
    PRIOR_DF,
    blended_variance,
    crossing,
    extend_looks,
    first_plan,
    first_replan,
    leaning,
    plan_looks,
    replan_looks,
    score_t,
)
from levelled.estimators.moments import Moments
from levelled.looks import PlannedLook, share_rate


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


def quantiles(looks: Sequence[PlannedLook]) -> FloatArray:
    return np.array([-ndtri(look.alpha / 2) for look in looks])


def information(looks: Sequence[PlannedLook], pool_size: int) -> FloatArray:
    m = np.array([look.n for look in looks], dtype=float)
    return np.asarray(m / (pool_size - m))


def test_five_looks_spend_by_the_fourth_power() -> None:
    looks = plan_looks(500, 10**6, 5, 0.047)
    assert [look.n for look in looks] == [100, 200, 300, 400, 500]
    # From 4e6 simulated paths; the first is known to +-.05, the others to +-.01.
    assert quantiles(looks)[0] == pytest.approx(3.942, abs=0.05)
    assert quantiles(looks)[1:] == pytest.approx([3.25, 2.77, 2.383, 2.037], abs=0.01)


@pytest.mark.parametrize(("budget", "count"), [(200, 2), (500, 5), (950, 7), (500, 100)])
def test_all_looks_together_spend_alpha(budget: int, count: int) -> None:
    looks = plan_looks(budget, 1000, count, 0.047)
    assert crossing(quantiles(looks), information(looks, 1000)) == pytest.approx(0.047, rel=1e-9)


def test_random_walks_leave_the_limits_as_often_as_the_integration_says(seed: int) -> None:
    n, looks = 200_000, plan_looks(500, 1000, 5, 0.047)
    bound = hoeffding(n, comparisons=1, alarm=1e-9)
    assert share_rejected(looks, 1000, seed, n) == pytest.approx(0.047, abs=bound)


@pytest.mark.parametrize("taken", [0, 1, 3])
@pytest.mark.parametrize("budget", [400, 600, 900])
def test_a_changed_budget_spends_what_is_left(taken: int, budget: int) -> None:
    first = plan_looks(500, 1000, 5, 0.047)[:taken]
    looks = replan_looks(first, budget, 1000, 5, 0.047, n_settled=350)
    assert looks[:taken] == first
    assert looks[taken].n > 350
    assert looks[-1].n == budget
    assert crossing(quantiles(looks), information(looks, 1000)) == pytest.approx(0.047, rel=1e-9)


def test_a_budget_that_is_set_before_the_first_look_costs_nothing() -> None:
    planned, changed = (
        quantiles(replan_looks((), 300, 10**6, 5, 0.047, n_settled=seen))[-1] for seen in (0, 90)
    )
    assert changed <= planned * 1.02


def test_raises_take_halves_of_the_reserve() -> None:
    shares, alpha = share_rate(5), 0.05
    looks = plan_looks(100, 10**6, 5, shares.looks * alpha)
    for n in (200, 400, 800):
        looks = extend_looks(looks, [n], shares.reserve * alpha, len(looks) - 5)
    assert [look.alpha for look in looks[5:]] == pytest.approx([0.001, 0.0005, 0.00025])
    rate = crossing(quantiles(looks), information(looks, 10**6))
    assert rate + shares.betting * alpha <= alpha


@pytest.mark.parametrize("n_looks", [0, 1, 2, 5, 100])
@pytest.mark.parametrize("may_extend", [False, True])
def test_the_shares_of_the_error_rate_add_up(n_looks: int, *, may_extend: bool) -> None:
    shares = share_rate(n_looks, may_extend=may_extend)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0


def test_widths_beside_an_interval_that_is_read_once() -> None:
    def last(n_looks: int, *, may_extend: bool = False) -> float:
        share = share_rate(n_looks, may_extend=may_extend).looks
        return float(quantiles(plan_looks(500, 10**6, n_looks, share * 0.05))[-1])

    once = -ndtri(0.025)
    assert last(1) == pytest.approx(once)
    assert last(5) / once <= 1.045
    assert last(5, may_extend=True) / once <= 1.085
    raised = [share_rate(5, may_extend=may).reserve * 0.05 / 2 for may in (False, True)]
    ratios = [-ndtri(alpha / 2) / last(5) for alpha in raised]
    assert ratios[0] <= 1.9
    assert ratios[1] <= 1.6
    at_300 = quantiles(plan_looks(500, 10**6, 5, 0.047))[2]
    assert at_300 / last(5) <= 1.4


def test_campaigns_of_before_have_the_looks_of_obrien_and_fleming() -> None:
    looks = first_plan(500, 10**6, 5, 0.045)
    assert [look.alpha for look in looks] == pytest.approx(
        [3.2e-6, 9.96e-4, 0.0072, 0.0199, 0.0374], rel=0.02
    )
    assert first_replan(looks, 900, 10**6, 5, 0.045) == looks
    without = first_plan(None, 10**12, 5, 0.045)
    assert [look.n for look in without[:3]] == [50, 100, 200]
    assert sum(look.alpha for look in without) < 0.045


def test_few_labels_have_few_looks_and_the_whole_pool_is_the_last() -> None:
    assert [look.n for look in plan_looks(3, 60, 5, 0.045)] == [1, 2, 3]
    assert [look.n for look in plan_looks(60, 60, 5, 0.045)] == [12, 24, 36, 48, 60]
