import pickle
import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from levelled import Draws
from levelled._check import FloatArray
from levelled.errors import InputError, WeightError
from levelled.samplers import merge, part, race, race_batches
from levelled.samplers.race import Parts, whole_blocks
from samplers.test_race_parts import same


def in_batches(weights: FloatArray, size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(weights), size):
        yield pa.record_batch({"weight": weights[start : start + size]})


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["levelled.samplers.race"], "_PIECE", 10_000)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("size", [1_000, 4_096, 10_001, 50_000])
@pytest.mark.parametrize("k", [5, 3_000, 50_000])
def test_batches_of_any_size_give_the_draws_of_one_race(
    size: int, k: int, log: bool, seed: int, small_pieces: None
) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=3, size=50_000)
    weights = np.log(weights) if log else weights
    draws = race_batches(in_batches(weights, size), k, seed=seed, log=log, design=True)
    assert same(draws, race(weights, k, seed=seed, log=log, design=True))


def test_a_few_rows_that_hold_nearly_all_the_weight_change_nothing(small_pieces: None) -> None:
    weights = np.ones(60_000)
    weights[::5_000] = 1e12
    assert same(race_batches(in_batches(weights, 7_000), 900, seed=3), race(weights, 900, seed=3))


def test_tables_readers_and_single_batches_are_read() -> None:
    table = pa.table({"id": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]})
    expected = race([1.0, 2.0, 3.0], 2, seed=7)
    for source in (table, table.to_reader(), table.to_batches()[0], [table]):
        assert same(race_batches(source, 2, seed=7, weight="score"), expected)


@pytest.mark.parametrize("kind", [pa.float32(), pa.int64(), pa.uint8(), pa.decimal128(5, 2)])
def test_weights_may_be_numbers_of_any_type(kind: pa.DataType) -> None:
    column = pa.array([1, 2, 3]).cast(pa.int8()).cast(kind)
    draws = race_batches([pa.record_batch({"weight": column})], 2, seed=7)
    assert same(draws, race([1.0, 2.0, 3.0], 2, seed=7))


def test_rows_of_weight_zero_are_counted() -> None:
    draws = race_batches(in_batches(np.array([0.0, 1.0, 2.0]), 2), 2, seed=1, allow_zero=True)
    assert draws.excluded == 1


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, None], "Row 5.*'weight'.*NaN"),
        ([1.0, np.nan], "Row 5.*'weight'.*NaN"),
        ([1.0, -2.0], "Row 5 has -2.0.*'weight'"),
        ([1.0, np.inf], "Row 5.* inf .*'weight'"),
        ([1.0, 0.0], "Row 5.*zero.*'weight'"),
        (["a", "b"], "Batch 1.*'weight'.*string"),
        ([True, False], "Batch 1.*'weight'.*bool"),
    ],
)
def test_a_wrong_weight_is_named_by_its_row(column: list[object], message: str) -> None:
    batches = [pa.record_batch({"weight": part}) for part in ([1.0] * 4, pa.array(column))]
    with pytest.raises(InputError, match=message):
        race_batches(batches, 1, seed=1)


@pytest.mark.parametrize("log", [False, True])
def test_without_a_column_all_rows_weigh_the_same(log: bool) -> None:
    batches = [pa.record_batch({"id": [1, 2, 3]}), pa.record_batch({"id": [4]})]
    draws = race_batches(batches, 2, seed=7, weight=None, log=log)
    assert draws.probability.tolist() == [1 / 4, 1 / 3]
    assert draws.index.tolist() == race([1.0] * 4, 2, seed=7).index.tolist()
    by_key = race_batches(batches, 2, seed=7, key="id", weight=None, log=log)
    assert by_key.probability.tolist() == pytest.approx([1 / 4, 1 / 3], rel=1e-12)


def test_what_holds_no_weights_is_refused() -> None:
    batch = pa.record_batch({"score": [1.0]})
    with pytest.raises(InputError, match=r"Batch 0.*'weight'.*'score'"):
        race_batches([batch], 1, seed=1)
    with pytest.raises(InputError, match=r"Arrow.*'dict'"):
        race_batches([{"weight": 1.0}], 1, seed=1)
    with pytest.raises(InputError, match="pool is empty"):
        race_batches([], 1, seed=1)
    with pytest.raises(InputError, match=r"by key.*design"):
        race_batches([batch], 1, seed=1, key="score", design=True)
    with pytest.raises(InputError, match=r"3 draws .* only 1 of 1"):
        race_batches([batch], 3, seed=1, weight="score")


def test_pieces_are_whole_blocks_and_a_rest() -> None:
    sizes = [len(piece) for piece in whole_blocks(np.ones(n) for n in (100, 4_000, 600_000, 1))]
    assert sizes == [602_112, 1_989]
    assert [len(piece) for piece in whole_blocks([])] == [0]


def test_arrivals_after_k_others_are_left_out_without_a_change(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=2, size=(6, 8_192))
    parts = Parts()
    for unit, some in enumerate(weights):
        one = part(some, 500, seed=seed, unit=unit, log_until=parts.log_until)
        parts.add(one)
    whole = merge(part(some, 500, seed=seed, unit=u) for u, some in enumerate(weights))
    assert parts.merged().leaders.tolist() == whole.leaders.tolist()
    assert len(one.leaders) < 400  # the later parts are spared some of their work


def test_an_error_of_a_weight_can_be_sent_to_another_process() -> None:
    with pytest.raises(WeightError) as caught:
        part([1.0, -1.0], 1, seed=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.row, again.value) == (str(caught.value), 1, -1.0)


def test_draws_from_batches_are_draws() -> None:
    assert isinstance(race_batches(in_batches(np.ones(10), 3), 2, seed=1), Draws)
