"""Picking rows, whatever holds them."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from levelled.models import n_rows, take

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
