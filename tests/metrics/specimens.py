"""A metric of every name, labels and predictions for it, and what may be known of a pool."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.metrics.known import PoolPredictions
from levelled.metrics.named import NAMES, parse

HAM_SPAM = ("ham", "spam")
LABELS, PRED = ["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "ham"]
PROBA = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
SPECIMENS = [
    name.replace("CAP", "10").replace("CLASS", "spam").replace("LOW:HIGH", "1:5")
    for name in NAMES[:-1]
]

Bad = list[tuple[str, Callable[[], object]]]
"""Words of an error, and what should raise it."""


def known(**columns: Any) -> PoolPredictions:  # noqa: ANN401
    return PoolPredictions(len(next(iter(columns.values()))), HAM_SPAM, True, **columns)


def control(name: str, known: PoolPredictions) -> FloatArray:
    found = parse(name).control(known)
    assert found is not None
    return found


def refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=words) as caught:
        wrong()
    assert "\n" not in str(caught.value)
