import math
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled._check import FloatArray
from levelled.samplers import blocks
from levelled.samplers.blocks import Source, cut, leaders, probabilities, running_sum, scaled
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


def words(seed: int, stream: int, place: int, n: int) -> list[float]:
    """Uniform numbers, by reading a whole Philox stream from its beginning."""
    philox = np.random.Philox(key=seed, counter=np.array([0, stream, 3, 0], dtype=np.uint64))
    raw = philox.random_raw(place + n).tolist()[place:]
    return [((word >> 12) + 0.5) / 2**52 for word in raw]


def race_by_definition(weights: FloatArray, seed: int) -> list[int]:
    """Every row in order of arrival, as the module's first lines say it, without any short cut."""
    first: dict[int, float] = {}
    for block in range(-(-len(weights) // blocks.BLOCK)):
        rows = range(block * blocks.BLOCK, min((block + 1) * blocks.BLOCK, len(weights)))
        edges = [*accumulate(weights[rows].tolist())]
        time = 0.0
        for stream, width in enumerate(blocks.ROUNDS, start=1):
            u = words(seed, stream, block * 2 * width, 2 * width)
            for gap, pick in zip(u[:width], u[width:], strict=True):
                time -= np.log(gap) / edges[-1]
                at = next(i for i, edge in enumerate(edges) if edge > pick * edges[-1])
                first.setdefault(rows[at], time)
        for row, u_row in zip(rows, words(seed, 0, rows[0], len(rows)), strict=True):
            first.setdefault(row, time - np.log(u_row) / weights[row])
    return sorted(first, key=lambda row: first[row])


@LAYOUTS
@pytest.mark.parametrize("sigma", [0.1, 2.0, 8.0])
def test_short_cuts_change_nothing(layout: Layout, sigma: float, seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=sigma, size=50)
    with laid_out(layout):
        expected = race_by_definition(weights, seed)
        pool = cut(weights, log=False, allow_zero=False)
        for k in (1, 2, 7, 20, 49, 50, 60):
            row, log_time = leaders(pool, k, Source(seed, 3, 0))
            assert row.tolist() == expected[:k]
            assert (np.diff(log_time) > 0).all()


def test_short_cuts_change_nothing_in_blocks_of_full_size(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(size=10_000)
    expected = race_by_definition(weights, seed)
    pool = cut(weights, log=False, allow_zero=False)
    for k in (1, 100, 1000, 10_000):
        assert leaders(pool, k, Source(seed, 3, 0))[0].tolist() == expected[:k]


@pytest.mark.parametrize("wanted", [[0, 1, 2, 3], [39], [1, 38]])
def test_a_block_has_its_numbers_whichever_blocks_are_asked_for(wanted: list[int]) -> None:
    every = Source(7, 3, 0).for_blocks(1, np.arange(40), 6)
    some = Source(7, 3, 0).for_blocks(1, np.array(wanted), 6)
    later = Source(7, 3, 1).for_blocks(1, np.arange(39), 6)
    for all_, few, shifted in zip(every, some, later, strict=True):
        np.testing.assert_array_equal(few, all_[wanted])
        np.testing.assert_array_equal(shifted, all_[1:])


def test_units_blocks_streams_and_seeds_have_numbers_of_their_own() -> None:
    block = np.arange(2)
    numbers = [
        *(Source(seed, unit, 0).for_blocks(1, block, 8) for seed in (0, 1) for unit in (0, 1)),
        Source(0, 0, 0).for_blocks(2, block, 8),
        (Source(0, 0, 0).for_rows(0, 16), Source(0, 0, 0).for_rows(1, 16)),
    ]
    flat = np.concatenate([np.concatenate([part.ravel() for part in pair]) for pair in numbers])
    assert len(np.unique(flat)) == len(flat)


def test_numbers_lie_strictly_between_zero_and_one() -> None:
    extremes = blocks.uniform(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert extremes.tolist() == [2.0**-53, 1 - 2.0**-53]


def test_the_bound_is_raised_until_enough_rows_have_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "_guess", lambda *_: -100.0)  # far too early
    weights = np.append(1e12, np.ones(99))
    bounds = []
    between = blocks._between

    def watched(log_since: float, log_bound: float, *rest: object) -> object:
        bounds.append(log_bound)
        return between(log_since, log_bound, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(blocks, "_between", watched)
    with laid_out(LONG):
        row, _ = leaders(cut(weights, log=False, allow_zero=False), 5, Source(1, 0, 0))
    assert row[0] == 0
    assert len(bounds) > 2
    assert (np.diff(bounds, 2) > 0).all()
