"""Picking rows, whatever holds them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from levelled.errors import InputError
from levelled.models import copy_rows, n_rows, read_only, take

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.arange(12).reshape(4, 3)
KINDS: dict[str, Any] = {
    "array": X,
    "sparse, by rows": sparse.csr_array(X),
    "sparse, without rows": sparse.coo_array(X),
    "pandas, with an index of its own": pd.DataFrame(X, index=[3, 2, 1, 0]),
    "polars": pl.DataFrame(X),
}


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_rows_are_taken_by_position_in_the_order_asked(rows: Any) -> None:  # noqa: ANN401
    taken = take(rows, np.array([2, 0]))
    plain = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken)
    assert np.array_equal(plain, X[[2, 0]])
    assert n_rows(rows) == 4
    assert n_rows(taken) == 2


def test_texts_stay_a_list() -> None:
    assert take(["a", "b", "c"], np.array([2, 2])) == ["c", "c"]
    assert n_rows(["a", "b", "c"]) == 3


@pytest.mark.parametrize("X", [None, 5, "texts", b"texts", {"a": [1]}, np.array(3)])
def test_what_has_no_rows_is_refused(X: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=r"^test.*one row"):
        n_rows(X, "test")


def test_masked_values_are_no_rows_of_numbers() -> None:
    assert n_rows(np.ma.array(X)) == 4
    with pytest.raises(InputError, match="masked values"):
        n_rows(np.ma.array(X, mask=X > 10))


def test_a_container_that_gives_no_rows_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"Table.*to_pandas"):
        take(pa.table({"a": [1, 2]}), np.array([1]))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_done_to_rows_that_are_copied_or_protected_reaches_them(kind: str) -> None:
    X, same = KINDS[kind], copy_rows(KINDS[kind])
    for one in (copy_rows(X), read_only(X)):
        inside = one.data if hasattr(one, "tocsr") else one
        if isinstance(one, np.ndarray) and not one.flags.writeable:
            with pytest.raises(ValueError, match="read-only"):
                one[:] = 9
        elif kind.startswith("pandas"):
            one.iloc[:] = 9
        elif kind == "polars":
            one[0, 0] = 9
        else:
            inside[:] = 9
    plain, before = (
        np.asarray(one.todense() if hasattr(one, "tocsr") else one) for one in (X, same)
    )
    np.testing.assert_array_equal(plain, before)


def test_the_order_of_memory_is_kept_and_a_view_costs_none() -> None:
    columns_first = np.asfortranarray(X)
    assert copy_rows(columns_first).flags.f_contiguous
    assert np.shares_memory(read_only(X), X)
    assert X.flags.writeable
