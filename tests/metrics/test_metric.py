from collections.abc import Callable

import numpy as np
import pytest

import levelled as lv
from levelled import losses, metrics
from levelled.errors import LossError
from levelled.metrics.named import parse_metric
from levelled.predictions import PoolPredictions
from metrics.samples import NAMES, everything, mail
from metrics.specimens import (
    HAM_SPAM,
    LABELS,
    PRED,
    PROBA,
    SPECIMENS,
    Bad,
    control,
    predictions,
    refused_in_one_line,
    texts,
)


def test_a_score_decides_and_a_predicted_loss_comes_next() -> None:
    score, hat = np.array([3.0, 0.0]), np.array([0.25, 4.0])
    everything = predictions(score=score, loss_hat=hat, proba=PROBA[:2], surrogate=PROBA[:2])
    for name in SPECIMENS:
        assert parse_metric(name).score(everything).tolist() == [3, 0]
    guessed = predictions(loss_hat=hat, proba=PROBA[:2])
    interest = {"error": [0.5, 1], "f1:spam": [0.5, 1], "brier": [0.25, 2], "mse": [0.25, 4]}
    for name, values in interest.items():
        assert parse_metric(name).score(guessed).tolist() == values
    controls = {
        "error": [0.25, 1],
        "log_loss": [0.25, 4],
        "log_loss:3": [0.25, 3],
        "mean": [0.25, 4],
    }
    for name, values in controls.items():
        assert control(name, guessed).tolist() == values
    assert parse_metric("f1:spam").control(guessed) is None


@pytest.mark.usefixtures("own")
def test_where_nothing_is_known_all_items_are_alike() -> None:
    for name in [*SPECIMENS, "own_losses:gain"]:
        metric, blank = parse_metric(name), texts(3)
        assert metric.score(blank).tolist() == [1, 1, 1]
        assert metric.control(blank) is None
    numbers = PoolPredictions(2, pred=np.array([1, 2]))
    assert parse_metric("mse").score(numbers).tolist() == [1, 1]
    assert parse_metric("mse").control(numbers) is None


def test_one_label_is_turned_into_what_counts() -> None:
    assert parse_metric("error").label(1) == "1"
    assert parse_metric("error").label("spam", HAM_SPAM) == "spam"
    assert parse_metric("mse").label("2.5") == 2.5
    assert parse_metric("mean:1:5").label(5) == 5


def test_what_a_metric_needs_is_enough() -> None:
    for name in SPECIMENS:
        metric = parse_metric(name)
        if metric.needs == "number":
            metric.require(PoolPredictions(4, HAM_SPAM, np.zeros(4), PROBA))
        else:
            metric.require(predictions(proba=PROBA, pred=PROBA.argmax(axis=1)))
    parse_metric("share:spam").require(PoolPredictions(4))
    parse_metric("log_loss:10").require(predictions(proba=np.array([[1.0, 0.0]])))


def test_a_broken_bound_is_a_loss_error() -> None:
    with pytest.raises(LossError):
        parse_metric("mean:0:1").values([0.5, 2.0])


def test_averages_are_those_of_the_metrics_they_name() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred, proba = (of[draws.index] for of in (pool.label, pool.pred, pool.proba))
    classes = NAMES.tolist()
    expected = {
        "error": metrics.error(label, pred, draws),
        "accuracy": metrics.accuracy(label, pred, draws),
        "log_loss": metrics.log_loss(label, proba, draws, classes=classes),
        "log_loss:1": metrics.log_loss(label, proba, draws, classes=classes, cap=1),
        "brier": metrics.brier(label, proba, draws, classes=classes),
        "share:spam": metrics.share(label, draws, of="spam"),
    }
    for name, est in expected.items():
        metric = parse_metric(name, classes=classes)
        found = metric.values(label, pred, proba, classes).losses
        estimate = metric.from_losses(lv.estimate(found, draws, bounds=metric.bounds))
        assert estimate.as_dict() == est.as_dict(), name


def test_averages_of_numbers_are_those_of_the_metrics_they_name() -> None:
    y, answer = [1.0, 2.0, 4.0, 2.5], [1.5, 2.0, 1.0, 0.5]
    assert (
        parse_metric("mse").values(y, answer).losses.tolist() == losses.squared(y, answer).tolist()
    )
    assert (
        parse_metric("mae").values(y, answer).losses.tolist() == losses.absolute(y, answer).tolist()
    )
    assert parse_metric("mean").values(y).losses.tolist() == y
    assert parse_metric("mean").values(["1", "2.5"]).losses.tolist() == [1, 2.5]
    assert parse_metric("mean:1:5").values(y).losses.tolist() == y


def test_classes_are_the_same_however_they_are_written() -> None:
    wrong = parse_metric("error").values([1, "1", 1.0, True], ["1", 1, "1.0", "True"]).losses
    assert wrong.tolist() == [0, 0, 1, 0]
    assert parse_metric("share:1").values([1, "1", 0, 1.0]).losses.tolist() == [1, 1, 0, 1]
    brier = parse_metric("brier").values([1, 0], proba=PROBA[:2], classes=("0", "1")).losses
    assert brier.tolist() == losses.brier([1, 0], PROBA[:2]).tolist()


def test_the_interest_of_an_error_is_the_root_of_its_chance() -> None:
    metric, wrong = parse_metric("error"), np.sqrt(PROBA.min(axis=1))
    np.testing.assert_allclose(metric.score(predictions(proba=PROBA)), wrong)
    np.testing.assert_array_equal(
        parse_metric("accuracy").score(predictions(proba=PROBA)),
        metric.score(predictions(proba=PROBA)),
    )
    said = np.array([0, 1, 0, 1])
    chance = 1 - PROBA[np.arange(4), said]
    np.testing.assert_allclose(metric.score(predictions(proba=PROBA, pred=said)), np.sqrt(chance))
    np.testing.assert_allclose(control("error", predictions(proba=PROBA, pred=said)), chance)


def test_a_second_model_is_believed_before_the_first() -> None:
    other = PROBA[::-1]
    both = predictions(proba=PROBA, surrogate=other)
    for name, loss in (("error", "zero_one"), ("log_loss", "log_loss"), ("brier", "brier")):
        rms = lv.scores.root_mean_squared_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        mean = lv.scores.expected_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        np.testing.assert_array_equal(parse_metric(name).score(both), rms)
        np.testing.assert_array_equal(control(name, both), mean)
    said = predictions(pred=np.array([0, 1, 0, 1]), surrogate=other)
    np.testing.assert_allclose(control("error", said), [0.3, 0.4, 0.1, 0.2])


def test_a_cap_bounds_what_is_expected() -> None:
    proba = np.array([[0.999, 0.001]])
    loss = -np.log(proba[0])
    expected = proba[0] @ np.minimum(loss, 2)
    np.testing.assert_allclose(control("log_loss:2", predictions(proba=proba)), expected)


def test_the_label_itself_varies_as_its_probabilities_say() -> None:
    share, chance = parse_metric("share:spam"), PROBA[:, 1]
    np.testing.assert_allclose(
        share.score(predictions(proba=PROBA)), np.sqrt(chance * (1 - chance))
    )
    np.testing.assert_allclose(control("share:spam", predictions(proba=PROBA)), chance)
    hat = predictions(loss_hat=chance)
    np.testing.assert_allclose(share.score(hat), np.sqrt(chance * (1 - chance)))
    np.testing.assert_allclose(control("share:spam", hat), chance)
    stars = PoolPredictions(4, ("1", "5"), proba=PROBA)
    mean = PROBA @ [1, 5]
    np.testing.assert_allclose(control("mean", stars), mean)
    np.testing.assert_allclose(
        parse_metric("mean").score(stars), 4 * np.sqrt(chance * (1 - chance))
    )
    assert parse_metric("mean").control(predictions(proba=PROBA)) is None


def test_a_judge_predicts_the_mean() -> None:
    judge = PoolPredictions(3, pred=np.array([4, 5, 7]))
    assert control("mean", judge).tolist() == [4, 5, 7]
    assert control("mean:1:5", judge).tolist() == [4, 5, 5]
    assert parse_metric("mean").score(judge).tolist() == [1, 1, 1]


BAD: Bad = [
    ("between 1 and 5, and 6 does not", lambda: parse_metric("mean:1:5").values([6])),
    ("between 1 and 5, and 6 does not", lambda: parse_metric("mean:1:5").label("6")),
    ("needs the predictions", lambda: parse_metric("error").values(LABELS)),
    ("labels has 4, pred has 3", lambda: parse_metric("error").values(LABELS, PRED[:3])),
    ("needs the probabilities", lambda: parse_metric("brier").values(LABELS, PRED)),
    (
        "'ham', which is none of",
        lambda: parse_metric("brier").values(LABELS, None, PROBA, ["a", "b"]),
    ),
    ("must be a number; 'x' is none", lambda: parse_metric("mse").values([1, "x"], [1, 2])),
    ("must be a number; 'nan' is none", lambda: parse_metric("mean").values(["nan"])),
    ("must be a number; None is none", lambda: parse_metric("mean").label(None)),
    ("is none of the classes 'ham', 'spam'", lambda: parse_metric("error").label("Spam", HAM_SPAM)),
    ("text or a number; None is neither", lambda: parse_metric("error").label(None)),
    (
        "text or a number; nan is neither",
        lambda: parse_metric("error").values([float("nan")], ["a"]),
    ),
    ("is neither", lambda: parse_metric("error").values([["a"]], ["a"])),
    ("one axis", lambda: parse_metric("error").values(np.zeros((2, 2)), ["a", "b"])),
    ("not a ratio", lambda: parse_metric("error").pairs(LABELS, PRED, 20, {})),
    ("needs probabilities", lambda: parse_metric("brier").require(texts(2))),
    (
        "needs predictions: add a column pred",
        lambda: parse_metric("error").require(PoolPredictions(2)),
    ),
    (
        "needs numbers; this pool predicts classes",
        lambda: parse_metric("mse").require(predictions(pred=np.array([0]))),
    ),
    ("no class 'x'", lambda: parse_metric("f1:x").require(predictions(pred=np.array([0])))),
    (
        "1 of 2 items .* log_loss:10",
        lambda: parse_metric("log_loss").require(
            predictions(proba=np.array([[1.0, 0.0], [0.5, 0.5]]))
        ),
    ),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_what_a_metric_cannot_do_is_refused_in_one_line(
    words: str, wrong: Callable[[], object]
) -> None:
    refused_in_one_line(words, wrong)
