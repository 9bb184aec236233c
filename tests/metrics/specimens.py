"""A metric of every name, labels and predictions for it, and predictions of a pool."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.metrics.named import NAMES, parse_metric
from levelled.predictions import Categorical, PoolPredictions

HAM_SPAM = ("ham", "spam")
LABELS, PRED = ["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "ham"]
PROBA = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
SPECIMENS = [
    name.replace("CAP", "10")
    .replace("CLASS", "spam")
    .replace("LOW:HIGH", "1:5")
    .replace("BETA", "2")
    for name in NAMES[:-1]
]

Bad = list[tuple[str, Callable[[], object]]]
"""Words of an error, and what should raise it."""


def predictions(**columns: Any) -> PoolPredictions:  # noqa: ANN401
    """The predictions of a pool of ham and spam; `pred` are the numbers of the classes."""
    if "pred" in columns:
        columns["pred"] = Categorical(HAM_SPAM, columns["pred"])
    return PoolPredictions(len(next(iter(columns.values()))), HAM_SPAM, **columns)


def texts(n: int) -> PoolPredictions:
    """Predictions of classes of which nothing else is known."""
    return PoolPredictions(n, pred=Categorical(("x",), np.zeros(n, dtype=np.int32)))


def control(name: str, predictions: PoolPredictions) -> FloatArray:
    expected = parse_metric(name).control(predictions)
    assert expected is not None
    return expected


def refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=words) as caught:
        wrong()
    assert "\n" not in str(caught.value)
