"""The metrics that a pool has the predictions for."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import levelled as lv
from levelled import losses, metrics
from levelled.errors import InputError, LossError
from levelled.metrics.named import Metric, fitting_metrics, parse_metric
from levelled.metrics.ratios import Look, figure_estimate
from levelled.predictions import PoolPredictions
from levelled.sources import open_pool
from metrics.samples import NAMES, WEIGHTED, everything, mail
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

pytestmark = pytest.mark.usefixtures("own")


@pytest.mark.parametrize("name", SPECIMENS)
def test_every_name_that_is_listed_is_understood(name: str) -> None:
    metric = parse_metric(f" {name} ")
    assert isinstance(metric, Metric)
    assert metric.name == name
    assert metric.kind == ("ratio" if metric.d_max else "average")
    assert metric.interval == ("anytime" if metric.bounds is None else "betting")


@pytest.mark.parametrize(
    ("name", "needs", "bounds", "better"),
    [
        ("error", "pred", (0, 1), False),
        ("accuracy", "pred", (0, 1), True),
        ("log_loss", "proba", None, False),
        ("log_loss:7.5", "proba", (0, 7.5), False),
        ("brier", "proba", (0, 2), False),
        ("mse", "number", None, False),
        ("mae", "number", None, False),
        ("mean", "label", None, None),
        ("mean:-1:5", "label", (-1, 5), None),
        ("share:spam", "label", (0, 1), None),
        ("precision:spam", "pred", (0, 1), True),
        ("recall:spam", "pred", (0, 1), True),
        ("f1:a:b", "pred", (0, 1), True),
        ("own_losses:doubled", "pred", (0, 2), False),
        ("own_losses:gain", "pred", None, True),
    ],
)
def test_a_metric_says_what_it_needs_and_what_it_may_be(
    name: str, needs: str, bounds: tuple[float, float] | None, better: bool | None
) -> None:
    metric = parse_metric(name)
    assert (metric.needs, metric.bounds, metric.higher_is_better) == (needs, bounds, better)


@pytest.mark.parametrize("name", [*SPECIMENS, "own_losses:gain"])
def test_a_name_always_means_the_same_metric(name: str) -> None:
    assert parse_metric(name) == parse_metric(name)
    assert hash(parse_metric(name)) == hash(parse_metric(name))
    assert parse_metric(name) != parse_metric("own_losses:doubled")


def test_a_metric_says_its_name() -> None:
    assert repr(parse_metric("f1:spam")) == "ClassRatio('f1:spam')"


def test_metrics_share_a_loss_whatever_their_names() -> None:
    assert parse_metric("accuracy").same_loss_as(parse_metric("error"))
    assert parse_metric("mean:1:5").same_loss_as(parse_metric("mean:1.0:5.0"))
    for one, other in (("f1:a", "f1:b"), ("mse", "mae"), ("log_loss", "log_loss:10")):
        assert not parse_metric(one).same_loss_as(parse_metric(other))


@pytest.mark.parametrize("name", [*SPECIMENS, "own_losses:gain"])
def test_a_metric_says_which_labels_it_takes(name: str) -> None:
    metric = parse_metric(name)
    numbers = name.partition(":")[0] in ("mean", "mse", "mae", "rmse")
    expected = None if name == "own_losses:gain" else "number" if numbers else "class"
    assert metric.label_kind == expected
    signed = name.startswith(("mean", "own"))
    assert metric.signed == signed
    assert metric.possible == (metric.bounds or (-np.inf if signed else 0, np.inf))


def test_own_losses_are_given_arrays_and_give_one_number_a_label() -> None:
    assert parse_metric("own_losses:doubled").values(LABELS, PRED).losses.tolist() == [0, 0, 2, 2]
    assert parse_metric("own_losses:gain").values([1, 2], [1, 3]).losses.tolist() == [1, 0]


def test_a_label_of_any_kind_is_left_as_it_is() -> None:
    assert parse_metric("own_losses:gain").label({"any": "thing"}) == {"any": "thing"}


def test_own_losses_take_the_interest_of_an_error_and_expect_nothing() -> None:
    pool = predictions(proba=PROBA)
    expected = parse_metric("error").score(pool)
    np.testing.assert_array_equal(parse_metric("own_losses:doubled").score(pool), expected)
    assert parse_metric("own_losses:doubled").control(pool) is None


def test_a_predicted_loss_may_have_either_sign() -> None:
    hat = predictions(loss_hat=np.array([-0.25, -4.0]))
    assert control("own_losses:gain", hat).tolist() == [-0.25, -4]
    assert parse_metric("own_losses:gain").score(hat).tolist() == [0.25, 4]


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("interval", ["wilson", "betting"])
def test_ratios_are_those_of_the_metrics_they_name(name: str, interval: str) -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    counts = {c: int(np.sum(pool.pred == c)) for c in NAMES.tolist()}
    metric = parse_metric(f"{name}:spam")
    pairs = metric.pairs(label, pred, 300, counts)
    found = figure_estimate([pairs], Look(draws, 0.95, interval))
    named = getattr(metrics, name)
    expected = named(label, pred, draws, positive="spam", pool_pred=pool.pred, interval=interval)
    assert metric.from_losses(found).as_dict() == expected.as_dict()
    assert pairs.most <= (metric.d_max or 0)
    known_mean = counts["spam"] / 300 if name == "precision" else None
    assert metric.denominator_mean(counts, 300) == pairs.denominator_mean == known_mean


def test_a_ratio_that_is_undefined_says_what_is_missing() -> None:
    expected = metrics.recall(["ham"] * 4, ["ham"] * 4, WEIGHTED, positive="spam")
    for name, what in (("precision", "prediction"), ("recall", "label"), ("f1", "label or pred")):
        pairs = parse_metric(f"{name}:spam").pairs(
            ["ham"] * 4, ["ham"] * 4, 20, {"ham": 15, "spam": 5}
        )
        found = figure_estimate([pairs], Look(WEIGHTED, 0.95, "auto"))
        assert found.value is None
        assert f"no {what}" in found.warnings[0]
    assert expected.warnings[0].startswith("no label 'spam'")


def test_nothing_predicted_positive_leaves_the_mean_of_a_precision_unknown() -> None:
    assert parse_metric("precision:spam").denominator_mean({"ham": 20}, 20) is None


def test_the_class_is_found_however_it_is_written() -> None:
    assert parse_metric("recall:true").values([True, "True"], [False, True]).losses.tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize("name", ["precision:spam", "recall:spam", "f1:spam"])
def test_a_ratio_takes_the_interest_of_an_error_and_expects_nothing(name: str) -> None:
    for pool in (predictions(proba=PROBA), predictions(loss_hat=np.array([0.25, 4.0]))):
        np.testing.assert_array_equal(
            parse_metric(name).score(pool), parse_metric("error").score(pool)
        )
        assert parse_metric(name).control(pool) is None


def test_counts_that_cannot_be_are_refused() -> None:
    refused_in_one_line(
        "do not fit", lambda: parse_metric("f1:spam").pairs(LABELS, PRED, 20, {"ham": 20})
    )


BAD: Bad = [
    ("one number a label, 4 here", lambda: parse_metric("own_losses:total").values(LABELS, PRED)),
    ("must be an array of numbers", lambda: parse_metric("own_losses:texts").values(LABELS, PRED)),
    ("must be finite", lambda: parse_metric("own_losses:gaps").values(LABELS, PRED)),
    (
        "failed on 4 labels: RuntimeError: no",
        lambda: parse_metric("own_losses:breaks").values(LABELS, PRED),
    ),
    (
        "between 0 and 1, and 3 does not",
        lambda: parse_metric("own_losses:too_much").values(LABELS, PRED),
    ),
    ("needs the predictions", lambda: parse_metric("own_losses:gain").values(LABELS)),
    (
        "no metric 'eror'. Did you mean error. Metrics are error, accuracy",
        lambda: parse_metric("eror"),
    ),
    ("no metric ''", lambda: parse_metric("")),
    ("no metric 'None'", lambda: parse_metric(None)),  # type: ignore[arg-type]
    ("no metric 'eror:spam'. Did you mean error", lambda: parse_metric("eror:spam")),
    ("write precision:CLASS", lambda: parse_metric("precision")),
    ("write share:CLASS", lambda: parse_metric("share:")),
    ("error takes nothing after a colon", lambda: parse_metric("error:spam")),
    ("numbers after the colon", lambda: parse_metric("log_loss:high")),
    ("numbers after the colon", lambda: parse_metric("log_loss:")),
    ("numbers after the colon", lambda: parse_metric("log_loss:nan")),
    ("between 0 and 1000", lambda: parse_metric("log_loss:0")),
    ("numbers after the colon", lambda: parse_metric("mean:1")),
    ("numbers after the colon", lambda: parse_metric("mean:-inf:inf")),
    ("lower of the bounds", lambda: parse_metric("mean:5:1")),
    (
        "no class 'spma'; the classes are 'ham', 'spam'",
        lambda: parse_metric("f1:spma", classes=HAM_SPAM),
    ),
    (
        "no.such:thing cannot be imported .ModuleNotFoundError",
        lambda: parse_metric("no.such:thing"),
    ),
    ("cannot be imported .AttributeError", lambda: parse_metric("own_losses:nothing")),
    ("cannot be imported .RuntimeError: broken", lambda: parse_metric("own_broken:loss")),
    ("is a int, not a function", lambda: parse_metric("own_losses:constant")),
    ("lower of the bounds", lambda: parse_metric("own_losses:backwards")),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_a_bad_name_is_refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    refused_in_one_line(words, wrong)


def test_a_loss_of_your_own_may_be_in_a_file_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_losses.py").write_text("def doubled(labels, pred):\n    return 2 * labels\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert parse_metric("my_losses:doubled").values([1.0, 2.0], [0.0, 0.0]).losses.tolist() == [
        2,
        4,
    ]
    with pytest.raises(InputError, match="'not_there'"):
        parse_metric("not_there:doubled")


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


BAD_ITEMS: Bad = [
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


@pytest.mark.parametrize(
    ("words", "wrong"), BAD_ITEMS, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD_ITEMS)]
)
def test_what_a_metric_cannot_do_is_refused_in_one_line(
    words: str, wrong: Callable[[], object]
) -> None:
    refused_in_one_line(words, wrong)


POOLS = {
    "probabilities": (
        {"id": [1, 2], "proba_a": [0.2, 0.7], "proba_b": [0.8, 0.3]},
        {"error", "accuracy", "log_loss", "brier", "f1:a", "share:b"},
        {"mse", "mean"},
    ),
    "certain": (
        {"id": [1, 2], "proba_a": [0.0, 1.0], "proba_b": [1.0, 0.0]},
        {"error", "brier"},
        {"log_loss"},
    ),
    "classes": (
        {"id": [1, 2], "pred": ["a", "b"]},
        {"error", "accuracy", "share:a", "f1:b"},
        {"log_loss", "mse", "mean"},
    ),
    "numbers": ({"id": [1, 2], "pred": [0.5, 1.5]}, {"mse", "mae", "mean"}, {"error", "brier"}),
    "nothing": ({"id": [1, 2], "text": ["a", "b"]}, {"mean"}, {"error", "mse"}),
}


@pytest.mark.parametrize("name", POOLS)
def test_only_metrics_that_can_be_estimated_are_named(name: str) -> None:
    columns, there, missing = POOLS[name]
    names = {*fitting_metrics(open_pool(pa.table(columns)).predictions())}
    assert there <= names
    assert not missing & names


def test_a_hundred_classes_are_not_listed_one_by_one() -> None:
    columns = {"id": [1], **{f"proba_{n}": [0.01] for n in range(100)}}
    names = fitting_metrics(open_pool(pa.table(columns)).predictions())
    assert not any(":" in name for name in names)
