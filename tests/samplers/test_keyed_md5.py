import hashlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from levelled.samplers.keyed import first_words


def one_by_one(prefix: bytes, texts: list[str]) -> list[int]:
    digests = [hashlib.md5(prefix + text.encode()).digest() for text in texts]
    return [int.from_bytes(digest[:8], "big") for digest in digests]


@given(st.binary(max_size=55), st.lists(st.text(max_size=70), max_size=20), st.integers(0, 3))
def test_many_texts_are_hashed_as_one_by_one(prefix: bytes, texts: list[str], skip: int) -> None:
    words = first_words(prefix, pa.array(texts, pa.string())[skip:])
    assert words.tolist() == one_by_one(prefix, texts[skip:])


def test_every_length_around_the_end_of_a_block_is_hashed_right() -> None:
    texts = ["é" * (n // 2) + "x" * (n % 2) for n in range(140)]
    assert first_words(b"7:", pa.array(texts)).tolist() == one_by_one(b"7:", texts)


def test_more_texts_than_are_hashed_at_once() -> None:
    ids = np.arange(-10, 40_000)
    words = first_words(b"12:", pa.array(ids).cast(pa.string()))
    assert words.tolist() == one_by_one(b"12:", [*map(str, ids.tolist())])
