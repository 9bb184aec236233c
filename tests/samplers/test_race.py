import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds import chernoff, hoeffding
from levelled import Draws, lure_weights
from levelled._check import FloatArray, IntArray
from levelled.errors import InputError, ProposalError
from levelled.samplers import race
from levelled_studies.exact import every_path
from samplers.layout import LAYOUTS, LONG, REAL, TINY, Layout, laid_out

POOLS = {
    "plain": (np.array([1.0, 2.0, 3.0, 4.0]), 3),
    "skewed": (np.array([1000.0, 0.001, 5.0, 1.0, 2.0]), 3),
    "several blocks": (np.array([5.0, 1.0, 2.0, 8.0, 0.5, 3.0, 3.0, 1.0, 20.0]), 2),
    "one heavy item": (np.append(np.ones(15), 1e9), 2),
    "to the last item": (np.array([1.0, 10.0, 0.1, 3.0]), 4),
}


def frozen(weights: FloatArray) -> Callable[[tuple[int, ...], IntArray], FloatArray]:
    return lambda drawn, left: weights[left] / weights[left].sum()


def follows(weights: FloatArray, k: int, draws: Iterable[Draws]) -> bool:
    """Whether ordered draws follow the weights; a false alarm is rarer than 1 in 10**9.

    Every path is an event, and so is every item at every step.
    """
    seen = Counter(tuple(one.index.tolist()) for one in draws)
    count, chance = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for path, of_path in every_path(len(weights), k, frozen(weights)):
        items = tuple(path.index.tolist())
        for event in (items, *enumerate(items)):
            count[event] += seen[items]
            chance[event] += of_path  # type: ignore[assignment]
    counts, chances = np.array([*count.values()]), np.array([*chance.values()])
    return chernoff(counts, seen.total(), np.clip(chances, 1e-15, 1 - 1e-15), alarm=1e-9)


@LAYOUTS
@pytest.mark.parametrize("pool", POOLS)
def test_ordered_draws_follow_the_weights(pool: str, layout: Layout, seed: int) -> None:
    (weights, k), n = POOLS[pool], 600
    with laid_out(layout):
        draws = [race(weights, k, seed=seed * n + i) for i in range(n)]
    assert follows(weights, k, draws)


def test_the_test_of_the_law_notices_a_wrong_weight(seed: int) -> None:
    (weights, k), n = POOLS["several blocks"], 800
    wrong = np.where(np.arange(len(weights)) == 3, 3 * weights, weights)
    assert not follows(weights, k, [race(wrong, k, seed=seed * n + i) for i in range(n)])


def test_the_first_draw_of_a_race_follows_the_weights(seed: int) -> None:
    weights, n = np.array([1.0, 2.0, 3.0, 4.0]), 1000
    first = [race(weights, k=1, seed=seed * n + i).index[0] for i in range(n)]
    share = np.bincount(first, minlength=4) / n
    bound = hoeffding(n, comparisons=4, alarm=1e-9)  # fails at most 1 run in 10**9
    np.testing.assert_allclose(share, [0.1, 0.2, 0.3, 0.4], rtol=0, atol=bound)


def test_draws_from_a_large_pool_follow_the_weights(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(size=50_000)
    group = np.arange(50_000) % 7
    expected = np.bincount(group, weights) / weights.sum()
    drawn = np.concatenate([race(weights, 1, seed=seed * 500 + i).index for i in range(500)])
    assert chernoff(np.bincount(group[drawn], minlength=7), 500, expected, alarm=1e-9)


@LAYOUTS
@pytest.mark.parametrize("log", [False, True])
def test_a_shorter_race_is_the_beginning_of_a_longer_one(
    layout: Layout, log: bool, seed: int
) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=3, size=40)
    weights_ = np.log(weights) if log else weights
    with laid_out(layout):
        longest = race(weights_, 40, seed=seed, log=log)
        for k in range(40):
            draws = race(weights_, k, seed=seed, log=log)
            np.testing.assert_array_equal(draws.index, longest.index[:k])
            np.testing.assert_allclose(draws.probability, longest.probability[:k], rtol=1e-12)


def test_a_long_race_over_a_large_pool_begins_with_the_short_one(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=2, size=60_000)
    longest = race(weights, 30_000, seed=seed)
    for k in (1, 14, 15, 100, 3000):
        np.testing.assert_array_equal(race(weights, k, seed=seed).index, longest.index[:k])


def exact_probabilities(weights: FloatArray, index: IntArray) -> FloatArray:
    left = dict(enumerate(weights.tolist()))
    q = []
    for item in index.tolist():
        q.append(left[item] / math.fsum(left.values()))
        del left[item]
    return np.array(q)


@LAYOUTS
@pytest.mark.parametrize("log", [False, True])
def test_probabilities_are_exact_when_nearly_all_mass_is_drawn(
    layout: Layout, log: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.permutation(np.append(rng.random(200) * 1e9, rng.random(5000)))
    with laid_out(layout):
        draws = race(np.log(weights) if log else weights, 260, seed=seed, log=log)
    left = weights.sum() - weights[draws.index].sum()
    assert left < 1e-6 * weights.sum()
    rtol = 1e-12 if not log else 1e-11  # log(1e9) itself is known to 1e-15 times 21 only
    expected = exact_probabilities(weights, draws.index)
    np.testing.assert_allclose(draws.probability, expected, rtol=rtol)


@LAYOUTS
@pytest.mark.parametrize("log", [False, True])
def test_the_last_item_of_a_pool_is_certain(layout: Layout, log: bool, seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=5, size=30)
    with laid_out(layout):
        draws = race(np.log(weights) if log else weights, 30, seed=seed, log=log)
    assert draws.probability[-1] == 1.0
    assert sorted(draws.index) == [*range(30)]


def test_rounding_does_not_grow_with_the_number_of_draws() -> None:
    draws = race(np.full(50_000, 0.1), 50_000, seed=1)
    exact = 1 / np.arange(50_000, 0, -1)
    np.testing.assert_allclose(draws.probability, exact, rtol=1e-13)
    np.testing.assert_allclose(lure_weights(draws[:40_000]), 1, rtol=1e-9)


def test_log_weights_give_the_draws_of_the_weights(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=4, size=9000)
    plain = race(weights, 500, seed=seed)
    for shift in (0.0, 700.0, -5000.0):
        logs = race(np.log(weights) + shift, 500, seed=seed, log=True)
        np.testing.assert_array_equal(logs.index, plain.index)
        np.testing.assert_allclose(logs.probability, plain.probability, rtol=1e-9)


@LAYOUTS
def test_log_weights_may_be_of_any_range(layout: Layout) -> None:
    with laid_out(layout):
        draws = race([-2000.0, 0.0, -1000.0, -2000.0 + np.log(3), -1e6], 5, seed=3, log=True)
    assert draws.index.tolist()[:2] == [1, 2]
    assert draws.index[4] == 4
    expected = [1.0, 1.0, 0.75 if draws.index[2] == 3 else 0.25, 1.0, 1.0]
    np.testing.assert_allclose(draws.probability, expected, rtol=1e-12)


@LAYOUTS
def test_weights_may_be_of_any_size_that_fits_a_float(layout: Layout) -> None:
    with laid_out(layout):
        draws = race([1e-300, 5e-324, 1e300, 1.0, 1e307], 5, seed=3)
    assert draws.index.tolist() == [4, 2, 3, 0, 1]
    np.testing.assert_allclose(draws.probability, [1.0, 1.0, 1.0, 1.0, 1.0], rtol=1e-6)


@given(
    weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20),
    power=st.integers(-200, 200),
    layout=st.sampled_from([REAL, TINY, LONG]),
)
def test_only_ratios_of_weights_matter(weights: list[float], power: int, layout: Layout) -> None:
    k = (len(weights) + 1) // 2
    with laid_out(layout):
        draws = race(weights, k, seed=5)
        scaled = race(np.ldexp(weights, power), k, seed=5)
    np.testing.assert_array_equal(scaled.index, draws.index)
    np.testing.assert_array_equal(scaled.probability, draws.probability)


@given(
    weights=st.lists(st.floats(0, 1e300), min_size=1, max_size=30).filter(any),
    layout=st.sampled_from([REAL, TINY, LONG]),
    key=st.integers(0, 2**128 - 1),
)
def test_a_whole_race_draws_each_possible_item_once(
    weights: list[float], layout: Layout, key: int
) -> None:
    possible = np.flatnonzero(weights)
    with laid_out(layout):
        draws = race(weights, len(possible), seed=key, allow_zero=True)
    np.testing.assert_array_equal(np.sort(draws.index), possible)
    assert draws.excluded == len(weights) - len(possible)
    assert draws.probability[-1] == 1.0


@pytest.mark.parametrize(
    ("weights", "key", "index"),
    [
        (np.ones(9), 2**100, [1, 5, 0, 4, 7, 3, 8, 6, 2]),
        (np.arange(1.0, 10_001.0), 2021, [9918, 8934, 5515, 3974, 8216, 8048, 7623, 6743]),
        (np.append(1e9, np.ones(5000)), 2021, [0, 1639, 579, 3564, 163, 2390, 2478, 2195]),
    ],
)
def test_a_seed_gives_the_same_draws_in_every_release(
    weights: FloatArray, key: int, index: list[int]
) -> None:
    assert race(weights, len(index), seed=key).index.tolist() == index


def test_different_seeds_give_different_draws() -> None:
    assert len({tuple(race(np.ones(1000), 5, seed=s).index) for s in (0, 1, 2**64, 2**127)}) == 4


def test_weights_in_any_container_give_the_same_draws() -> None:
    weights = np.arange(1.0, 10_001.0)
    expected = race(weights, 50, seed=1).index
    strided = np.repeat(weights, 2)[::2]
    for same in (weights.tolist(), weights.astype(np.int32), weights.astype(np.float32), strided):
        np.testing.assert_array_equal(race(same, 50, seed=1).index, expected)


def test_no_draws_is_a_race_too() -> None:
    draws = race([1.0, 2.0], 0, seed=1)
    assert len(draws) == 0
    assert draws.pool_size == 2


def test_items_of_weight_zero_are_refused_unless_they_are_meant() -> None:
    with pytest.raises(ProposalError, match=r"2 of 4.*zero.*allow_zero=True"):
        race([1.0, 0.0, 2.0, 0.0], 1, seed=1)
    with pytest.raises(ProposalError, match=r"1 of 2.*zero"):
        race([0.0, -np.inf], 1, seed=1, log=True)
    draws = race([1.0, 0.0, 2.0, 0.0], 2, seed=1, allow_zero=True)
    assert draws.excluded == 2
    assert sorted(draws.index) == [0, 2]


@pytest.mark.parametrize(
    ("weights", "k", "message"),
    [
        ([1.0, -0.5], 1, r"finite.*weights\[1\] is -0.5"),
        ([1.0, np.nan], 1, r"weights\[1\] is nan"),
        ([1.0, np.inf], 1, r"weights\[1\] is inf"),
        ([1e308, 1e308, 1.0], 1, "float.*log=True"),
        ([0.0, 0.0], 0, "All 2 .*zero"),
        ([], 0, "empty"),
        ([1.0, 0.0], 2, "2 draws.*1 of 2"),
        ([1.0], 2, "only 1 of 1 items"),
        ([1.0], -1, r"\bk\b.*at least 0"),
        ([1.0], 0.5, r"\bk\b.*whole"),
        ([[1.0]], 1, "weights.*axis"),
        (["a"], 1, "weights.*numbers"),
    ],
)
def test_a_race_that_cannot_be_run_is_refused(weights: list[float], k: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        race(weights, k, seed=1, allow_zero=True)


def test_a_bad_weight_is_named_wherever_it_is() -> None:
    weights = np.ones(300_000)
    weights[270_001] = -1
    with pytest.raises(ProposalError, match=r"weights\[270001\] is -1"):
        race(weights, 1, seed=1)
    weights[270_001] = np.inf
    with pytest.raises(ProposalError, match=r"weights\[270001\] is inf"):
        race(weights, 1, seed=1)


def test_weights_whose_sum_overflows_over_many_blocks_are_refused() -> None:
    with pytest.raises(ProposalError, match="float can hold"):
        race(np.full(20_000, 1e304), 1, seed=1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2e9])
def test_log_weights_that_cannot_order_a_race_are_refused(bad: float) -> None:
    with pytest.raises(ProposalError, match=r"Log-weights.*weights\[1\]"):
        race([0.0, bad], 1, seed=1, log=True)


@pytest.mark.parametrize("wrong", [-1, 2**128, 0.5, "one"])
def test_a_seed_is_a_whole_number_below_two_to_the_128(wrong: int) -> None:
    with pytest.raises(InputError, match="seed must be"):
        race([1.0], 1, seed=wrong)


def test_design_columns_come_on_request() -> None:
    draws = race([1.0, 2.0, 3.0], 2, seed=1, design=True)
    assert draws.design is not None
    assert set(draws.design) == {"max_weight", "dispersion"}
    assert race([1.0, 2.0, 3.0], 2, seed=1).design is None
