from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.sources import open_pool
from levelled.sources.features import with_lengths
from sources.samples import Columns, write

PAIRS: Columns = {
    "id": ["a", "b"],
    "pred": ["first", "second"],
    "question": ["Where is the nearest station?", "How many ships are there now?"],
    "first": ["Here.", "x" * 99],
    "second": ["A much longer answer than that.", "y"],
}


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_lengths_of_text_are_features_that_a_labeller_still_sees(
    tmp_path: Path, ending: str
) -> None:
    path = write(tmp_path / f"pairs.{ending}", PAIRS)
    pool = open_pool(path, features=["length:first", "length:second/first"])
    expected = [np.log([6, 100]), np.log([32, 2]) - np.log([6, 100])]
    features = pool.predictions().features
    assert features is not None
    np.testing.assert_allclose(features, np.transpose(expected))
    assert set(pool.shown([0])[0]) == {"question", "first", "second"}


def test_the_messages_of_a_conversation_count_together() -> None:
    chat = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], None]
    pool = open_pool(pa.table({"id": [1, 2], "chat": chat}), features=["length:chat"])
    features = pool.predictions().features
    assert features is not None
    np.testing.assert_allclose(features, np.log([[8], [1]]))


def test_the_longest_texts_are_features_beside_nothing_but_verdicts() -> None:
    pool = with_lengths(open_pool(pa.table(PAIRS)))
    assert pool.features == ("length:question", "length:first")  # 16 characters on average are few
    assert with_lengths(open_pool(pa.table(PAIRS)), without=["first"]).features == pool.features[:1]
    known = pa.table({**PAIRS, "loss_hat": [0.1, 0.2]})
    assert with_lengths(open_pool(known)).features == ()


def test_a_name_with_a_slash_is_no_length_by_itself() -> None:
    pool = open_pool(pa.table({"id": [1, 2], "pred": ["a", "b"], "in/out": ["x" * 30] * 2}))
    assert with_lengths(pool).features == ()


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(PoolError, match="the length of a column 'third'"):
        open_pool(pa.table(PAIRS), features=["length:third/first"])


def test_lengths_are_those_of_what_labellers_see() -> None:
    long = ["a text of more than twenty characters"] * 2
    table = pa.table({"id": [1, 2], "pred": ["a", "b"], "answer": long, "reason": long})
    assert with_lengths(open_pool(table, hide=["reason"])).features == ("length:answer",)
    assert with_lengths(open_pool(table, show=["reason"])).features == ("length:reason",)
