from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled.surrogates import floor_after, next_round_size, water_filled

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
