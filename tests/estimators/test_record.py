"""The invariant of every estimate: low <= value <= high, or no value."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import levelled as lv
from levelled import metrics
from levelled.errors import InputError
from levelled.estimators import Estimate

HONEST = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")


@st.composite
def losses_and_draws(draw: st.DrawFn) -> tuple[list[float], lv.Draws]:
    """Losses of items that were drawn with any probabilities at all, also ones nobody has."""
    pool_size = draw(st.integers(2, 60))
    n = draw(st.integers(1, pool_size))
    chance = st.floats(1e-4, 1)
    probability = draw(st.lists(chance, min_size=n, max_size=n))
    if n == pool_size:
        probability[-1] = 1.0
    kind = draw(st.sampled_from([st.sampled_from([0.0, 1.0]), st.floats(0, 1)]))
    losses = draw(st.lists(kind, min_size=n, max_size=n))
    return losses, lv.Draws(np.arange(n), np.array(probability), pool_size)


def holds(est: Estimate) -> bool:
    return est.low <= est.high and (est.value is None or est.low <= est.value <= est.high)


@given(
    losses_and_draws(),
    st.sampled_from(["lure", "pure", "naive"]),
    st.sampled_from(["auto", "betting", "cp_safe", "none"]),
)
def test_any_estimate_of_any_draws_lies_in_its_interval(
    sample: tuple[list[float], lv.Draws], estimator: str, interval: str
) -> None:
    losses, draws = sample
    est = lv.estimate(losses, draws, estimator, interval=interval, bounds=(0, 1))
    assert holds(est)
    assert est.low >= 0
    assert est.high <= 1
    assert holds(replace(est, low=est.low / 2, high=(est.low + est.high) / 2))


@given(losses_and_draws(), st.sampled_from(["auto", "betting", "none"]))
def test_any_ratio_of_any_draws_lies_in_its_interval(
    sample: tuple[list[float], lv.Draws], interval: str
) -> None:
    losses, draws = sample
    assert holds(metrics.ratio(losses, np.ones(len(losses)), draws, interval=interval))
    names = np.where(np.array(losses) > 0.5, "spam", "ham")
    for pred in (names, names[::-1]):
        assert holds(metrics.recall(names, pred, draws, positive="spam", interval=interval))


@pytest.mark.parametrize(("value", "moved"), [(0.05, 0.08), (0.3, 0.17), (-inf, 0.08)])
def test_a_value_beyond_a_limit_is_moved_to_the_nearest(value: float, moved: float) -> None:
    assert replace(HONEST, value=value).value == moved


@pytest.mark.parametrize(
    ("change", "n_warnings"),
    [
        ({"value": 0.22}, 0),
        ({"value": 0.24}, 1),
        ({"value": 0.24, "stderr": None}, 0),
        ({"low": 0.12, "high": 0.12, "value": 0.12 + 1e-14, "stderr": 1e-18}, 0),
    ],
)
def test_only_a_value_beyond_three_standard_errors_brings_a_warning(
    change: dict[str, Any], n_warnings: int
) -> None:
    assert len(replace(HONEST, **change).warnings) == n_warnings


def test_limits_that_cross_are_refused() -> None:
    with pytest.raises(InputError, match=r"0\.2.*above.*0\.17"):
        replace(HONEST, low=0.2)
