"""When a difference over trajectories counts as shown, and what is said of several."""

import math
import re

import numpy as np
import pytest

from bounds import hoeffding
from levelled._check import FloatArray
from levelled_studies.study import Ruling
from levelled_studies.tables import ALARM, Difference, judge

NAN = math.nan


def measured(values: FloatArray, comparisons: int) -> Difference:
    n = len(values)
    return Difference(values.mean(), values.std(ddof=1) / np.sqrt(n), n, comparisons)


@pytest.mark.parametrize("n", [3, 25])
def test_however_many_comparisons_a_claim_makes_few_raise_an_alarm_over_nothing(
    n: int, seed: int
) -> None:
    """Three standard errors, whatever the number of trajectories, fail in the same harness."""
    claims, comparisons = 4000, 4
    noise = np.random.default_rng(seed).normal(size=(claims, comparisons, n))
    looks = [[measured(values, comparisons) for values in claim] for claim in noise]
    alarms = np.mean([any(one.shows(1) or one.shows(-1) for one in claim) for claim in looks])
    bound = hoeffding(claims, comparisons=2, alarm=1e-9)  # fails at most 1 run in 10**9
    assert alarms <= ALARM + bound
    fixed = np.mean([any(abs(one.mean) > 3 * one.stderr for one in claim) for claim in looks])
    assert (fixed > ALARM + bound) == (n == 3)


@pytest.mark.parametrize(
    ("comparisons", "quantile"), [(1, 2.262157), (4, 3.110935), (10, 3.689662)]
)
def test_a_difference_shows_from_the_quantile_of_students_t_on(
    comparisons: int, quantile: float
) -> None:
    found = Difference(1.0, 0.1, 10, comparisons)
    assert found.least == pytest.approx(0.1 * quantile, rel=1e-6)
    assert Difference(1.001 * found.least, 0.1, 10, comparisons).shows(1)
    assert not Difference(0.999 * found.least, 0.1, 10, comparisons).shows(1)
    assert Difference(-1.001 * found.least, 0.1, 10, comparisons).shows(-1)


@pytest.mark.parametrize("mean", [-1e9, 0.0, 0.3, 1e9])
@pytest.mark.parametrize("stderr", [NAN, 0.1])
def test_a_single_trajectory_cannot_tell(mean: float, stderr: float) -> None:
    found = Difference(mean, stderr, n=1)
    assert {found.above(0), found.below(0)} == {"cannot tell"}
    assert {found.above(0.1), found.below(0.1)} == {"cannot tell"}
    assert found.negligible(within=1e12) == "cannot tell"
    assert "single trajectory" in found.reach


@pytest.mark.parametrize(
    ("mean", "stderr", "verdict"),
    [
        (0.01, 0.01, "holds"),
        (-0.01, 0.01, "holds"),
        (0.01, 0.03, "cannot tell"),  # too little is known
        (0.04, 0.01, "cannot tell"),  # a difference, and perhaps a larger one
        (0.2, 0.01, "does not hold"),
        (-0.2, 0.01, "does not hold"),
        (0.0, 0.0, "holds"),
    ],
)
def test_a_difference_is_negligible_only_if_a_larger_one_would_have_shown(
    mean: float, stderr: float, verdict: Ruling
) -> None:
    assert Difference(mean, stderr, n=30).negligible(within=0.05) == verdict


@pytest.mark.parametrize(
    ("mean", "above", "below"),
    [
        (0.08, "holds", "does not hold"),
        (0.02, "does not hold", "holds"),
        (-0.2, "does not hold", "holds"),
        (0.04, "cannot tell", "cannot tell"),
        (0.06, "cannot tell", "cannot tell"),
    ],
)
def test_a_difference_is_above_or_below_a_limit_that_is_out_of_its_reach(
    mean: float, above: Ruling, below: Ruling
) -> None:
    found = Difference(mean, 0.01, n=30)
    assert (found.above(0.05), found.below(0.05)) == (above, below)


def test_what_can_be_told_is_told_with_its_rate_of_false_alarms() -> None:
    one, several = (Difference(1.0, 0.1, 10, comparisons).reach for comparisons in (1, 4))
    assert re.match(r"10 trajectories .* 0\.23 on, with a 5%", one)
    assert re.search(r"0\.31 on, .* 5% .* 4 comparisons", several)


@pytest.mark.parametrize(
    ("held", "refuted", "verdict"),
    [
        ([True, True], [False, False], "holds"),
        ([True, False], [False, False], "holds partly"),
        ([True, False], [False, True], "holds partly"),
        ([False, False], [False, True], "does not hold"),
        ([False, False], [False, False], "cannot tell"),
        ([], [], "cannot tell"),
    ],
)
def test_what_is_neither_shown_nor_refuted_cannot_be_told(
    held: list[bool], refuted: list[bool], verdict: Ruling
) -> None:
    assert judge(held, refuted) == verdict
    assert judge(np.array(held, dtype=bool), np.array(refuted, dtype=bool)) == verdict
