"""Planned looks together err no more often than they may."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import ndtri

from bounds import hoeffding
from levelled.estimators.intervals.looks import (
    PlannedLook,
    plan_looks,
    plan_without_budget,
    replan_looks,
)


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
