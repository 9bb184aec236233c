from collections.abc import Callable

import numpy as np
import pytest

from levelled.metrics.known import PoolPredictions
from levelled.metrics.named import parse
from metrics.specimens import (
    HAM_SPAM,
    LABELS,
    PRED,
    PROBA,
    SPECIMENS,
    Bad,
    control,
    known,
    refused_in_one_line,
)


def test_a_score_decides_and_a_predicted_loss_comes_next() -> None:
    score, hat = np.array([3.0, 0.0]), np.array([0.25, 4.0])
    everything = known(score=score, loss_hat=hat, proba=PROBA[:2], surrogate=PROBA[:2])
    for name in SPECIMENS:
        assert parse(name).score(everything).tolist() == [3, 0]
    predicted = known(loss_hat=hat, proba=PROBA[:2])
    interest = {"error": [0.5, 1], "f1:spam": [0.5, 1], "brier": [0.25, 2], "mse": [0.25, 4]}
    for name, values in interest.items():
        assert parse(name).score(predicted).tolist() == values
    controls = {
        "error": [0.25, 1],
        "log_loss": [0.25, 4],
        "log_loss:3": [0.25, 3],
        "mean": [0.25, 4],
    }
    for name, values in controls.items():
        assert control(name, predicted).tolist() == values
    assert parse("f1:spam").control(predicted) is None


@pytest.mark.usefixtures("own")
def test_where_nothing_is_known_all_items_are_alike() -> None:
    for name in [*SPECIMENS, "own_losses:gain"]:
        metric, blank = parse(name), PoolPredictions(3, predicted=True)
        assert metric.score(blank).tolist() == [1, 1, 1]
        assert metric.control(blank) is None
    numbers = PoolPredictions(2, predicted=True, number=np.array([1, 2]))
    assert parse("mse").score(numbers).tolist() == [1, 1]
    assert parse("mse").control(numbers) is None


def test_one_label_is_turned_into_what_counts() -> None:
    assert parse("error").label(1) == "1"
    assert parse("error").label("spam", HAM_SPAM) == "spam"
    assert parse("mse").label("2.5") == 2.5
    assert parse("mean:1:5").label(5) == 5


def test_what_a_metric_needs_is_enough() -> None:
    for name in SPECIMENS:
        metric = parse(name)
        metric.require(known(proba=PROBA, answer=PROBA.argmax(axis=1), number=np.zeros(4)))
    parse("share:spam").require(PoolPredictions(4))
    parse("log_loss:10").require(known(proba=np.array([[1.0, 0.0]])))


BAD: Bad = [
    ("not a ratio", lambda: parse("error").pairs(LABELS, PRED, 20, {})),
    ("needs probabilities", lambda: parse("brier").require(PoolPredictions(2, predicted=True))),
    ("needs predictions: add a column pred", lambda: parse("error").require(PoolPredictions(2))),
    ("needs numbers as predictions", lambda: parse("mse").require(known(answer=np.array([0])))),
    ("no class 'x'", lambda: parse("f1:x").require(known(answer=np.array([0])))),
    (
        "1 of 2 items .* log_loss:10",
        lambda: parse("log_loss").require(known(proba=np.array([[1.0, 0.0], [0.5, 0.5]]))),
    ),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_what_a_metric_cannot_do_is_refused_in_one_line(
    words: str, wrong: Callable[[], object]
) -> None:
    refused_in_one_line(words, wrong)
