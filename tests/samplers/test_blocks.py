import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled.samplers.blocks import cut, probabilities, running_sum, scaled
from samplers.layout import LAYOUTS, LONG, Layout, laid_out


@LAYOUTS
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("n", [1, 3, 4, 63, 64, 65, 129])
def test_picks_fall_in_proportion_to_weight(layout: Layout, log: bool, n: int) -> None:
    weights = np.random.default_rng(n).lognormal(size=n)
    u = (np.arange(20_000) + 0.5) / 20_000  # evenly spread, so that shares are exact to 1/20,000
    with laid_out(layout):
        pool = cut(np.log(weights) if log else weights, log=log, allow_zero=False)
        for block in range(len(pool.total)):
            rows = slice(block * layout.block, min((block + 1) * layout.block, n))
            row = pool.pick(np.full(len(u), block), u)
            share = np.bincount(row, minlength=n)[rows] / len(u)
            expected = weights[rows] / weights[rows].sum()
            np.testing.assert_allclose(share, expected, rtol=0, atol=1.0001 / len(u))


@given(
    weights=st.lists(
        st.sampled_from([0.0, 5e-324, 1e-16, 0.1, 1.0, 3e300]), min_size=1, max_size=9
    ),
    u=st.sampled_from([0.0, 2.0**-53, 0.5, 1 - 2.0**-53, 1.0, 1.5]),
)
def test_a_pick_never_falls_on_weight_zero(weights: list[float], u: float) -> None:
    with laid_out(LONG):
        pool = cut(np.array(weights), log=False, allow_zero=True)
        block = np.flatnonzero(pool.total)
        row = pool.pick(block, np.full(len(block), u))
    assert (np.array(weights)[row] > 0).all()
    assert (row // 4 == block).all()


def test_sums_do_not_depend_on_what_is_added_up_beside_them(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=3, size=3 * 4096 + 100)
    total = cut(weights, log=False, allow_zero=False).total
    for block in range(4):
        alone = weights[block * 4096 : (block + 1) * 4096]
        assert cut(alone.copy(), log=False, allow_zero=False).total.tolist() == [total[block]]
        shifted = np.append(0.0, alone)[1:]  # the same numbers elsewhere in memory
        assert cut(shifted, log=False, allow_zero=False).total.tolist() == [total[block]]


def test_log_weights_are_kept_as_numbers_near_one_and_a_shift() -> None:
    number, shift = scaled(np.array([0.0, -1000.0, 1e9, -np.inf]), log=True)
    assert shift.tolist() == [0.0, -768.0, 1e9, 0.0]
    np.testing.assert_allclose(number, [1.0, np.exp(-232.0), 1.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 20_000])
def test_running_sums_are_accurate_however_many_there_are(n: int) -> None:
    terms = np.full(n, 0.1)
    exact = [math.fsum([0.5, *terms[: m + 1]]) for m in range(0, n, 499)]
    np.testing.assert_allclose(running_sum(terms, start=0.5)[::499], exact, rtol=1e-13)


def test_a_probability_is_a_weight_over_what_is_left() -> None:
    q = probabilities(np.array([1.0, 2.0, 3.0]), np.zeros(3), 4.0, 0.0)
    np.testing.assert_allclose(q, [1 / 10, 2 / 9, 3 / 7], rtol=1e-15)


def test_weights_in_different_units_are_added_in_the_largest() -> None:
    shift = np.array([0.0, 256.0, -512.0, -512.0])
    q = probabilities(np.array([1.0, 1.0, 3.0, 1.0]), shift, 0.0, -np.inf)
    expected = [math.exp(-256) / (1 + math.exp(-256)), 1.0, 0.75, 1.0]
    np.testing.assert_allclose(q, expected, rtol=1e-14)
    assert q[-1] == 1.0


def test_no_draw_has_no_probability() -> None:
    assert probabilities(np.empty(0), np.empty(0), 1.0, 0.0).shape == (0,)
