from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled import Draws
from levelled.errors import DrawsError, InputError


@pytest.mark.parametrize(
    ("index", "probability", "pool_size", "words"),
    [
        ([0, 1], [0.5, 0.0], 4, "above 0.*at most 1"),
        ([0, 1], [0.5, 1.1], 4, "above 0.*at most 1"),
        ([0, 1], [0.5, np.nan], 4, "above 0.*at most 1"),
        ([0, 1], [0.5, -0.1], 4, "above 0.*at most 1"),
        ([0, 0], [0.5, 0.5], 4, "drawn twice"),
        ([0, 4], [0.5, 0.5], 4, "outside the pool"),
        ([0, -1], [0.5, 0.5], 4, "outside the pool"),
        ([0, 1], [0.5], 4, "2 probabilities, not 1"),
        ([0.5, 1.5], [0.5, 0.5], 4, "whole numbers"),
        ([[0, 1]], [0.5, 0.5], 4, "one axis"),
        ([0, 1], [0.5, 0.5], 1, "outside the pool"),
        ([], [], 0, "at least 1"),
        ([0], [0.5], 2.5, "whole number"),
    ],
)
def test_draws_that_cannot_have_happened_are_refused(
    index: list[int], probability: list[float], pool_size: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Draws(np.array(index), np.array(probability), pool_size)


def test_more_draws_than_can_be_drawn_are_refused() -> None:
    with pytest.raises(DrawsError, match="with 2 excluded"):
        Draws(np.arange(3), np.full(3, 0.2), 4, excluded=2)


def test_design_columns_go_item_by_item() -> None:
    with pytest.raises(DrawsError, match="one value a draw"):
        Draws(np.arange(3), np.full(3, 0.2), 4, design={"max_weight": np.ones(2)})


def test_draws_keep_their_own_copy_and_cannot_be_changed() -> None:
    index = np.array([2, 0])
    draws = Draws(index, np.array([0.5, 0.25]), 4)
    index[0] = 3
    assert draws.index.tolist() == [2, 0]
    with pytest.raises(ValueError, match="read-only"):
        draws.probability[0] = 1


def test_a_prefix_is_draws_again() -> None:
    draws = Draws(np.array([2, 0, 1]), np.array([0.5, 0.25, 0.3]), 4, 1, {"d": np.arange(3.0)})
    prefix = draws[:2]
    assert prefix.index.tolist() == [2, 0]
    assert (prefix.pool_size, prefix.excluded) == (4, 1)
    assert prefix.design is not None
    assert prefix.design["d"].tolist() == [0, 1]


@pytest.mark.parametrize("part", [slice(1, 3), slice(None, None, 2), slice(None, None, -1), 0])
def test_anything_but_a_prefix_is_refused(part: object) -> None:
    with pytest.raises(DrawsError, match="prefix"):
        Draws(np.array([2, 0, 1]), np.array([0.5, 0.25, 0.3]), 4)[part]


@given(st.lists(st.floats(5e-324, 1), max_size=20), st.integers(20, 10**15), st.booleans())
def test_parquet_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, q: list[float], pool_size: int, designed: bool
) -> None:
    path = tmp_path_factory.mktemp("draws") / "draws.parquet"
    index = pool_size - 1 - np.arange(len(q))
    design = {"max_weight": 1 / np.array(q).clip(1e-300)} if designed else None
    draws = Draws(index, np.array(q), pool_size, 0, design)
    draws.to_parquet(path)
    back = Draws.from_parquet(path)
    assert (back.pool_size, back.excluded) == (pool_size, 0)
    np.testing.assert_array_equal(back.index, draws.index)
    np.testing.assert_array_equal(back.probability, draws.probability)
    if design is None:
        assert back.design is None
    else:
        assert back.design is not None
        np.testing.assert_array_equal(back.design["max_weight"], design["max_weight"])


@pytest.mark.parametrize("ids", [("b", "é"), (7, -2), ()])
def test_ids_are_kept_in_prefixes_and_files(tmp_path: Path, ids: tuple[str | int, ...]) -> None:
    n = len(ids)
    draws = Draws(np.arange(n), np.full(n, 0.5), 4, ids=list(ids))
    draws.to_parquet(tmp_path / "draws.parquet")
    back = Draws.from_parquet(tmp_path / "draws.parquet")
    assert back.ids == draws.ids == ids
    assert draws[:1].ids == ids[:1]


def test_a_file_with_a_column_of_ids_from_elsewhere_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "draws.parquet"
    Draws(np.array([2, 0]), np.array([0.5, 0.25]), pool_size=4).to_parquet(path)
    table = pq.read_table(path)
    pq.write_table(table.add_column(2, "id", pa.array([1.5, None])), path)
    assert Draws.from_parquet(path).ids is None


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a"], "2 draws need 2 ids"),
        (["a", "a"], "'a' was drawn twice"),
        (["a", 1], "texts.*whole numbers"),
        ([1.0, 2.0], "texts.*whole numbers"),
    ],
)
def test_ids_that_cannot_be_are_refused(ids: list[str | int], words: str) -> None:
    with pytest.raises(DrawsError, match=words):
        Draws(np.array([2, 0]), np.array([0.5, 0.25]), pool_size=4, ids=ids)


def test_a_file_that_holds_no_draws_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    (tmp_path / "text.parquet").write_text("hello")
    for path, words in [
        (other, "holds no draws"),
        (tmp_path / "text.parquet", "cannot be read"),
        (tmp_path / "missing.parquet", "cannot be read"),
    ]:
        with pytest.raises(DrawsError, match=words):
            Draws.from_parquet(path)
