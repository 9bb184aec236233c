import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import levelled as lv
from levelled import Draws
from levelled._check import FloatArray
from levelled.errors import InputError, LevelledError, ProposalError
from levelled.samplers import finish, merge, race_batches, race_part
from levelled.samplers.blocks import uniform
from levelled.samplers.keyed import exact_sum, first_words


def pool(n: int, *, seed: int = 0, sigma: float = 1.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"id": rng.permutation(10 * n)[:n], "weight": rng.lognormal(0, sigma, size=n)})


def same(one: Draws, other: Draws) -> bool:
    """Bit for bit."""
    return (
        one.ids == other.ids
        and one.probability.tolist() == other.probability.tolist()
        and (one.pool_size, one.excluded) == (other.pool_size, other.excluded)
    )


def by_definition(table: pa.Table, k: int, seed: int) -> tuple[list[object], list[float]]:
    """The ids and probabilities of a race, from the formulas, item by item."""
    items = []
    for one, weight in zip(table["id"].to_pylist(), table["weight"].to_pylist(), strict=True):
        bits = int(hashlib.md5(f"{seed}:{one}".encode()).hexdigest()[:13], 16)
        items.append((-math.log((bits + 0.5) / 2**52) / weight, one, weight))
    items.sort()
    left, ids, probability = sum(Fraction(weight) for *_, weight in items), [], []
    for _, one, weight in items[:k]:
        ids.append(one)
        probability.append(float(weight / left))
        left -= Fraction(weight)
    return ids, probability


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("k", [0, 1, 50, 300])
def test_draws_are_those_of_the_formulas(k: int, texts: bool) -> None:
    table = pool(300, sigma=3)
    if texts:
        table = table.set_column(0, "id", [[f"é{one}" for one in table["id"].to_pylist()]])
    draws = finish(race_part(table, k, seed=11, key="id"))
    ids, probability = by_definition(table, k, 11)
    assert draws.ids == tuple(ids)
    np.testing.assert_allclose(draws.probability, probability, rtol=1e-14)
    assert draws.pool_size == 300


@given(data=st.data(), log=st.booleans(), texts=st.booleans())
def test_draws_do_not_depend_on_batches_or_on_the_order_of_rows_and_parts(
    data: st.DataObject, log: bool, texts: bool
) -> None:
    weight = st.sampled_from([0.0, 1e-250, 0.1, 0.3, 1.0, 1e6, 1e200])
    weights = np.array(data.draw(st.lists(weight, min_size=1, max_size=20)))
    if not weights.any():
        return
    k = data.draw(st.integers(0, int(np.count_nonzero(weights))))
    if log:
        with np.errstate(divide="ignore"):
            weights = 3 * np.log(weights)
    ids = np.arange(len(weights)) - 3
    table = pa.table({"id": [f"r{one}" for one in ids] if texts else ids, "weight": weights})

    def part(rows: list[int]) -> pa.Table:
        batch = table.take(pa.array(rows, pa.int64()))
        return race_part(batch, k, seed=5, key="id", log=log, allow_zero=True)

    whole = finish(part([*range(len(weights))]))
    rows = data.draw(st.permutations(range(len(weights))))
    edges = sorted(data.draw(st.sets(st.integers(0, len(rows)))))
    parts = [part(rows[a:b]) for a, b in zip([0, *edges], [*edges, len(rows)], strict=True)]
    n = data.draw(st.integers(1, len(parts)))
    assert same(finish(merge([merge(parts[:n]), *parts[n:]])), whole)
    assert same(finish(merge(pa.concat_tables(parts[::-1]))), whole)


@pytest.mark.parametrize("rows", [1_000, 10_000, 100_000])
@pytest.mark.parametrize("workers", [1, 4])
def test_batches_and_workers_change_no_bit(rows: int, workers: int) -> None:
    table = pool(100_000, sigma=2)
    whole = finish(race_part(table, 500, seed=3, key="id"))
    batches = table.to_batches(rows)
    with ThreadPoolExecutor(workers) as pool_of_workers:
        parts = pool_of_workers.map(partial(race_part, k=500, seed=3, key="id"), batches)
        assert same(finish(merge(parts)), whole)
    streamed = race_batches(batches, 500, seed=3, key="id")
    assert same(streamed, whole)
    assert streamed.ids == tuple(table["id"].take(streamed.index).to_pylist())


@pytest.mark.parametrize("k", [0, 1, 100, 2_000])
def test_few_and_many_draws_of_small_batches(k: int) -> None:
    table = pool(2_000)
    whole = finish(race_part(table, k, seed=3, key="id"))
    for source in (table.to_batches(17), table.to_reader(300), table):
        assert same(race_batches(source, k, seed=3, key="id"), whole)


def first_two(weights: FloatArray, seeds: range) -> list[tuple[int, ...]]:
    """The first two of six items, for each seed, by the keys alone."""
    texts = [f"{seed}:{item}" for seed in seeds for item in range(6)]
    u = uniform(first_words(b"", pa.array(texts))).reshape(-1, 6)
    return [*map(tuple, np.argsort(-np.log(u) / weights, axis=1)[:, :2].tolist())]


def test_ordered_pairs_come_with_the_probabilities_of_draws_without_replacement() -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0, 0.5, 6.0])
    n = 200_000
    pairs = first_two(weights, range(n))
    batch = {"id": np.arange(6), "weight": weights}
    for seed in range(0, n, 2_000):  # what is counted is what the race draws
        assert finish(race_part(batch, 2, seed=seed, key="id")).ids == pairs[seed]
    total, every = weights.sum(), [*permutations(range(6), 2)]
    expected = [weights[a] / total * weights[b] / (total - weights[a]) * n for a, b in every]
    counts = dict.fromkeys(every, 0)
    for pair in pairs:
        counts[pair[0], pair[1]] += 1
    observed = [counts[pair] for pair in every]
    assert chisquare(observed, expected).pvalue > 1e-6
    assert chisquare(observed, np.full(30, n / 30)).pvalue < 1e-100  # the test can fail


def test_races_of_neighbouring_seeds_are_independent() -> None:
    texts = pa.array(np.arange(40_000)).cast(pa.string())
    one, other = (uniform(first_words(prefix, texts)) for prefix in (b"7:", b"8:"))
    # For independent uniforms the correlation is normal with deviation 1/200: 1 alarm in 10**6.
    assert abs(np.corrcoef(one, other)[0, 1]) < 4.9 / 200


def test_lure_on_keyed_draws_is_unbiased(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.3, 2, size=10_000)
    losses = (rng.random(10_000) < rate).astype(float)
    batch = {"id": np.arange(10_000), "weight": 0.1 + rate}
    errors = []
    for race in range(20):
        draws = finish(race_part(batch, 2_000, seed=100 * seed + race, key="id"))
        estimate = lv.estimate(losses[np.array(draws.ids)], draws)
        errors.append((estimate.value - losses.mean()) / estimate.stderr)
    assert abs(errors[0]) < 4
    assert abs(np.sum(errors)) / math.sqrt(20) < 5  # fails at most 1 run in 10**6


def test_what_is_left_of_a_total_is_exact_however_little_it_is() -> None:
    batch = {"id": np.arange(4), "weight": [1e200, 3e-20, 1e-20, 1.0]}
    draws = finish(race_part(batch, 4, seed=1, key="id"))
    q = dict(zip(draws.ids or (), draws.probability.tolist(), strict=True))
    assert draws.ids is not None
    assert draws.ids[:2] == (0, 3)
    assert q[draws.ids[2]] == pytest.approx({1: 0.75, 2: 0.25}[int(draws.ids[2])], rel=1e-15)
    assert q[draws.ids[3]] == 1.0


def test_log_weights_draw_as_their_exponentials_do() -> None:
    table = pool(2_000, sigma=3)
    logs = {"id": table["id"], "weight": np.log(table["weight"].to_numpy()) - 3_000}
    plain = finish(race_part(table, 400, seed=2, key="id"))
    draws = finish(race_part(logs, 400, seed=2, key="id", log=True))
    assert draws.ids == plain.ids
    np.testing.assert_allclose(draws.probability, plain.probability, rtol=1e-12)


def test_equal_keys_go_by_id_whatever_the_order_of_rows() -> None:
    ids = np.arange(20)
    wait = -np.log(uniform(first_words(b"7:", pa.array(ids).cast(pa.string()))))
    for order in (ids, ids[::-1]):
        batch = {"id": order, "weight": wait[order]}  # every key is 1
        parts = [race_part(pa.table(batch)[a : a + 10], 5, seed=7, key="id") for a in (0, 10)]
        assert finish(merge(parts)).ids == (0, 1, 2, 3, 4)


def test_rows_that_have_numbers_keep_them() -> None:
    table = pool(1_000)
    parts = [
        race_part(table[start : start + 250], 9, seed=7, key="id", first_row=start)
        for start in (500, 0, 750, 250)
    ]
    draws = finish(merge(parts))
    assert draws.ids == tuple(table["id"].take(draws.index).to_pylist())
    unnumbered = finish(merge([*parts[1:], race_part(table[500:750], 9, seed=7, key="id")]))
    assert same(draws, unnumbered)
    assert unnumbered.index.tolist() == [*range(9)]


def test_equal_weights_without_a_column() -> None:
    draws = finish(race_part({"id": ["a", "b", "c"]}, 3, seed=7, key="id", weight=None))
    np.testing.assert_allclose(draws.probability, [1 / 3, 1 / 2, 1])


def test_empty_batches_add_nothing() -> None:
    table = pa.table({"id": ["a", "b"], "weight": [1.0, 2.0]})
    parts = [race_part(one, 2, seed=7, key="id") for one in (table[:0], table, table[:0])]
    assert finish(merge(parts)).pool_size == 2
    assert parts[0].schema == parts[1].schema  # an engine may ask for it beforehand


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({"id": [1, 2], "weight": [1.0, None]}, "Item 2.*column 'weight'"),
        ({"id": [1, 2], "weight": [1.0, -0.5]}, ">= 0[.] Item 2 has -0.5 in"),
        (
            {"id": [1, 2], "weight": [math.nan, 1.0]},
            "Item 1.*no number",
        ),
        ({"id": [1, 2], "weight": [math.inf, 1.0]}, ">= 0[.] Item 1.*inf"),
        (
            {"id": [1, 2], "weight": [1e-300, 1.0]},
            "1e-280.*1e.280[.] Item 1.*1e-300",
        ),
        (
            {"id": ["a", "b"], "weight": [0.0, 1.0]},
            "Item 'a'.*zero",
        ),
        (
            {"id": [1, None], "weight": [1.0, 1.0]},
            r"Row 1.*\bid\b.*'id'",
        ),
        ({"id": [1.0, 2.0], "weight": [1.0, 1.0]}, "'id'.*double.*text"),
        ({"id": [True, False], "weight": [1.0, 1.0]}, "'id' is bool"),
        ({"id": [3, 4, 3], "weight": [1.0, 9.0, 1.0]}, "id 3.*twice"),
        ({"id": np.array([2**63], np.uint64), "weight": [1.0]}, "cannot be used"),
        ({"name": [1]}, "column 'id'.*'name'"),
        (
            {"id": [1], "weight": ["x"]},
            "no numbers.*column",
        ),
        (7, r"Arrow.*\bint\b"),
    ],
)
def test_a_batch_that_cannot_be_drawn_from_is_refused_in_one_line(
    batch: object, words: str
) -> None:
    with pytest.raises(LevelledError, match=words) as refusal:
        race_part(batch, 1, seed=7, key="id")
    assert "\n" not in str(refusal.value)


def test_an_id_in_two_batches_is_found_among_their_first_items() -> None:
    parts = [race_part({"id": [1, one]}, 2, seed=7, key="id", weight=None) for one in (2, 3)]
    with pytest.raises(InputError, match=r"id 1.*twice"):
        merge(parts)


def test_parts_of_different_races_are_refused() -> None:
    ones = {"id": [1, 2], "weight": [1.0, 1.0]}
    part = race_part(ones, 2, seed=7, key="id")
    for other in (
        race_part({**ones, "id": [3, 4]}, 2, seed=8, key="id"),
        race_part({**ones, "id": [3, 4]}, 3, seed=7, key="id"),
        race_part({**ones, "id": [3, 4]}, 2, seed=7, key="id", log=True),
    ):
        with pytest.raises(InputError, match=r"k, seed.*log"):
            merge([part, other])
    with pytest.raises(InputError, match=r"numbers.*texts"):
        merge([part, race_part({**ones, "id": ["3", "4"]}, 2, seed=7, key="id")])
    with pytest.raises(InputError, match="no column 'excluded'"):
        merge([pa.table({"a": [1]})])


def test_a_race_that_cannot_be_finished_is_refused() -> None:
    zeros = {"id": [1, 2], "weight": [0.0, 0.0]}
    with pytest.raises(ProposalError, match=r"All 2 .*zero"):
        finish(race_part(zeros, 1, seed=7, key="id", allow_zero=True))
    with pytest.raises(InputError, match=r"3 draws .* only 2 of 2"):
        finish(race_part({"id": [1, 2]}, 3, seed=7, key="id", weight=None))
    with pytest.raises(InputError, match="pool is empty"):
        finish(race_part({"id": []}, 3, seed=7, key="id", weight=None))
    with pytest.raises(InputError, match="pool is empty"):
        race_batches([], 3, seed=7, key="id")
    with pytest.raises(InputError, match=r"below 2\*\*128"):
        race_part({"id": [1]}, 1, seed=2**128, key="id", weight=None)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_sums_of_any_floats_are_exact(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == sum(map(Fraction, values))


def test_sums_of_many_terms_are_exact(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(sigma=9, size=100_000)
    total = exact_sum(values)
    assert float(total) == math.fsum(values)
    assert total == exact_sum(values[::-1]) == exact_sum(values[:777]) + exact_sum(values[777:])


def test_the_largest_mantissas_of_a_whole_run_are_added_without_rounding() -> None:
    largest = math.nextafter(2.0, 0)
    assert exact_sum(np.full(40_000, largest)) == 40_000 * Fraction(largest)
