from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.sources import columns as module
from levelled.sources.columns import check_unique, rows_of

TEXT = st.text(min_size=1, max_size=20)


def chunked(names: list[str] | list[int], size: int, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array(
        [pa.array(names[at : at + size], kind) for at in range(0, len(names), size)], kind
    )


def is_refused(ids: pa.ChunkedArray) -> bool:
    try:
        check_unique(ids)
    except PoolError:
        return True
    return False


@given(
    st.lists(st.one_of(TEXT, st.sampled_from(["a", "a\0", "aaaaaaaa", "aaaaaaaaa"])), min_size=1),
    st.integers(1, 5),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_ids_are_refused_exactly_where_one_occurs_twice(
    names: list[str], size: int, kind: pa.DataType
) -> None:
    assert is_refused(chunked(names, size, kind)) == (len(set(names)) < len(names))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(1, 5))
def test_whole_numbers_are_refused_exactly_where_one_occurs_twice(
    names: list[int], size: int
) -> None:
    assert is_refused(chunked(names, size, pa.int64())) == (len(set(names)) < len(names))


def test_a_copy_is_found_in_another_chunk_beside_longer_ids() -> None:
    ids = pa.chunked_array([["copy", "x" * 100], ["y", "copy"]])
    with pytest.raises(PoolError, match=r"'copy'.*row 0.*row 3"):
        check_unique(ids)


def test_ids_whose_hashes_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(chunk: pa.Array) -> IntArray:
        return np.zeros(len(chunk), dtype=np.int64)

    monkeypatch.setattr(module, "id_keys", same)
    check_unique(pa.chunked_array([["a", "b"], ["c"]]))
    with pytest.raises(PoolError, match=r"'b'.*row 1.*row 3"):
        check_unique(pa.chunked_array([["a", "b"], ["c", "b"]]))


def test_hashes_of_ids_that_look_alike_differ() -> None:
    digits = ["".join(word) for word in product("01", repeat=16)]
    words = [f"{a}aaaaaaa{b}" for a in map(chr, range(33, 290)) for b in map(chr, range(33, 290))]
    for names in (digits, words):
        keys = module.id_keys(pa.array(names))
        assert len(np.unique(keys)) == len(names)


def test_an_id_may_be_as_long_as_a_book() -> None:
    names = ["x" * 50_000, *(f"k{n}" for n in range(100)), "x" * 50_001]
    check_unique(pa.chunked_array([names]))
    with pytest.raises(PoolError, match="again in row 102"):
        check_unique(pa.chunked_array([[*names, "x" * 50_000]]))


@given(st.lists(TEXT, min_size=1, unique=True), st.integers(1, 5), st.data())
def test_rows_are_found_again_by_their_ids(
    names: list[str], size: int, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(names) - 1)))
    ids = chunked(names, size, pa.string())
    assert rows_of(ids.chunks, [names[row] for row in rows]).tolist() == rows


def test_an_id_that_is_not_there_is_named_with_how_many_others() -> None:
    ids = pa.chunked_array([["a", "b"]])
    with pytest.raises(PoolError, match=r"'x'.* 2 others"):
        rows_of(ids.chunks, ["a", "x", "y", "z"])
    assert rows_of(ids.chunks, []).tolist() == []
