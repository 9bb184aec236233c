import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import levelled as lv
from levelled import losses, metrics
from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from levelled.metrics.named import NAMES, Known, Metric, as_classes, class_text, parse
from levelled.metrics.ratio import ratio_estimate
from metrics.samples import NAMES as CLASSES
from metrics.samples import WEIGHTED, everything, mail

HAM_SPAM = ("ham", "spam")
LABELS, PRED = ["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "ham"]
PROBA = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
SPECIMENS = [
    name.replace("CAP", "10").replace("CLASS", "spam").replace("LOW:HIGH", "1:5")
    for name in NAMES[:-1]
]

MODULE = """
import numpy as np

def doubled(labels, pred):
    return 2.0 * (labels != pred)

doubled.bounds = (0, 2)

def gain(labels, pred):
    return (labels == pred).astype(float)

gain.higher_is_better = True

def total(labels, pred):
    return 1.0

def texts(labels, pred):
    return ["a"] * len(labels)

def gaps(labels, pred):
    return np.full(len(labels), np.nan)

def breaks(labels, pred):
    raise RuntimeError("no\\nluck")

def too_much(labels, pred):
    return np.full(len(labels), 3.0)

too_much.bounds = (0, 1)

def backwards(labels, pred):
    return labels

backwards.bounds = (1, 0)
constant = 3
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of somebody's own losses."""
    (tmp_path / "own_losses.py").write_text(MODULE)
    (tmp_path / "own_broken.py").write_text("raise RuntimeError('broken\\nmodule')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_losses", raising=False)


def known(**columns: Any) -> Known:  # noqa: ANN401
    return Known(len(next(iter(columns.values()))), HAM_SPAM, True, **columns)


def control(name: str, known: Known) -> FloatArray:
    found = parse(name).control(known)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SPECIMENS)
def test_every_name_that_is_listed_is_understood(name: str) -> None:
    metric = parse(f" {name} ")
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
    metric = parse(name)
    assert (metric.needs, metric.bounds, metric.higher_is_better) == (needs, bounds, better)


def test_averages_are_those_of_the_metrics_they_name() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred, proba = (of[draws.index] for of in (pool.label, pool.pred, pool.proba))
    classes = CLASSES.tolist()
    expected = {
        "error": metrics.error(label, pred, draws),
        "accuracy": metrics.accuracy(label, pred, draws),
        "log_loss": metrics.log_loss(label, proba, draws, classes=classes),
        "log_loss:1": metrics.log_loss(label, proba, draws, classes=classes, cap=1),
        "brier": metrics.brier(label, proba, draws, classes=classes),
        "share:spam": metrics.share(label, draws, of="spam"),
    }
    for name, est in expected.items():
        metric = parse(name, classes=classes)
        found = metric.values(label, pred, proba, classes).losses
        estimate = metric.reported(lv.estimate(found, draws, bounds=metric.bounds))
        assert estimate.as_dict() == est.as_dict(), name


def test_averages_of_numbers_are_those_of_the_metrics_they_name() -> None:
    y, answer = [1.0, 2.0, 4.0, 2.5], [1.5, 2.0, 1.0, 0.5]
    assert parse("mse").values(y, answer).losses.tolist() == losses.squared(y, answer).tolist()
    assert parse("mae").values(y, answer).losses.tolist() == losses.absolute(y, answer).tolist()
    assert parse("mean").values(y).losses.tolist() == y
    assert parse("mean").values(["1", "2.5"]).losses.tolist() == [1, 2.5]
    assert parse("mean:1:5").values(y).losses.tolist() == y


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("interval", ["wilson", "betting"])
def test_ratios_are_those_of_the_metrics_they_name(name: str, interval: str) -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    counts = {c: int(np.sum(pool.pred == c)) for c in CLASSES.tolist()}
    metric = parse(f"{name}:spam")
    pairs = metric.pairs(label, pred, 300, counts)
    found = ratio_estimate(pairs, draws, level=0.95, interval=interval)
    named = getattr(metrics, name)
    expected = named(label, pred, draws, positive="spam", pool_pred=pool.pred, interval=interval)
    assert metric.reported(found).as_dict() == expected.as_dict()
    assert pairs.most <= (metric.d_max or 0)
    known_mean = counts["spam"] / 300 if name == "precision" else None
    assert metric.denominator_mean(counts, 300) == pairs.denominator_mean == known_mean


def test_a_ratio_that_is_undefined_says_what_is_missing() -> None:
    expected = metrics.recall(["ham"] * 4, ["ham"] * 4, WEIGHTED, positive="spam")
    for name, what in (("precision", "prediction"), ("recall", "label"), ("f1", "label or pred")):
        pairs = parse(f"{name}:spam").pairs(["ham"] * 4, ["ham"] * 4, 20, {"ham": 15, "spam": 5})
        found = ratio_estimate(pairs, WEIGHTED, level=0.95, interval="auto")
        assert found.value is None
        assert f"no {what}" in found.warnings[0]
    assert expected.warnings[0].startswith("no label 'spam'")


def test_nothing_predicted_positive_leaves_the_mean_of_a_precision_unknown() -> None:
    assert parse("precision:spam").denominator_mean({"ham": 20}, 20) is None


def test_classes_are_the_same_however_they_are_written() -> None:
    assert parse("error").values([1, "1", 1.0, True], ["1", 1, "1.0", "True"]).losses.tolist() == [
        0,
        0,
        1,
        0,
    ]
    assert parse("share:1").values([1, "1", 0, 1.0]).losses.tolist() == [1, 1, 0, 1]
    assert parse("recall:true").values([True, "True"], [False, True]).losses.tolist() == [0, 1]
    brier = parse("brier").values([1, 0], proba=PROBA[:2], classes=("0", "1")).losses
    assert brier.tolist() == losses.brier([1, 0], PROBA[:2]).tolist()


@given(st.lists(st.one_of(st.integers(), st.booleans(), st.floats(-1e9, 1e9), st.text())))
def test_classes_of_many_items_are_those_of_each(values: list[Any]) -> None:
    expected = np.array([class_text(value) for value in values], dtype=np.str_)
    assert as_classes("labels", values).tolist() == expected.tolist()
    assert [class_text(text) for text in expected.tolist()] == expected.tolist()


def test_own_losses_are_given_arrays_and_give_one_number_a_label() -> None:
    assert parse("own_losses:doubled").values(LABELS, PRED).losses.tolist() == [0, 0, 2, 2]
    assert parse("own_losses:gain").values([1, 2], [1, 3]).losses.tolist() == [1, 0]


def test_the_interest_of_an_error_is_the_root_of_its_chance() -> None:
    metric, wrong = parse("error"), np.sqrt(PROBA.min(axis=1))
    np.testing.assert_allclose(metric.score(known(proba=PROBA)), wrong)
    for other in ("accuracy", "f1:spam", "precision:spam", "own_losses:doubled"):
        np.testing.assert_array_equal(
            parse(other).score(known(proba=PROBA)), metric.score(known(proba=PROBA))
        )
    said = np.array([0, 1, 0, 1])
    chance = 1 - PROBA[np.arange(4), said]
    np.testing.assert_allclose(metric.score(known(proba=PROBA, answer=said)), np.sqrt(chance))
    np.testing.assert_allclose(control("error", known(proba=PROBA, answer=said)), chance)


def test_a_second_model_is_believed_before_the_first() -> None:
    other = PROBA[::-1]
    both = known(proba=PROBA, surrogate=other)
    for name, loss in (("error", "zero_one"), ("log_loss", "log_loss"), ("brier", "brier")):
        rms = lv.scores.root_mean_squared_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        mean = lv.scores.expected_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        np.testing.assert_array_equal(parse(name).score(both), rms)
        np.testing.assert_array_equal(control(name, both), mean)
    said = known(answer=np.array([0, 1, 0, 1]), surrogate=other)
    np.testing.assert_allclose(control("error", said), [0.3, 0.4, 0.1, 0.2])


def test_a_cap_bounds_what_is_expected() -> None:
    proba = np.array([[0.999, 0.001]])
    loss = -np.log(proba[0])
    expected = proba[0] @ np.minimum(loss, 2)
    np.testing.assert_allclose(control("log_loss:2", known(proba=proba)), expected)


def test_a_score_decides_and_a_predicted_loss_comes_next() -> None:
    score, hat = np.array([3.0, 0.0]), np.array([0.25, 4.0])
    everything_ = known(score=score, loss_hat=hat, proba=PROBA[:2], surrogate=PROBA[:2])
    for name in SPECIMENS:
        assert parse(name).score(everything_).tolist() == [3, 0]
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
    assert control("own_losses:gain", known(loss_hat=-hat)).tolist() == [-0.25, -4]
    assert parse("own_losses:gain").score(known(loss_hat=-hat)).tolist() == [0.25, 4]


def test_where_nothing_is_known_all_items_are_alike() -> None:
    for name in [*SPECIMENS, "own_losses:gain"]:
        metric, blank = parse(name), Known(3, predicted=True)
        assert metric.score(blank).tolist() == [1, 1, 1]
        assert metric.control(blank) is None
    numbers = Known(2, predicted=True, number=np.array([1, 2]))
    assert parse("mse").score(numbers).tolist() == [1, 1]
    assert parse("mse").control(numbers) is None


def test_the_label_itself_varies_as_its_probabilities_say() -> None:
    share, chance = parse("share:spam"), PROBA[:, 1]
    np.testing.assert_allclose(share.score(known(proba=PROBA)), np.sqrt(chance * (1 - chance)))
    np.testing.assert_allclose(control("share:spam", known(proba=PROBA)), chance)
    hat = known(loss_hat=chance)
    np.testing.assert_allclose(share.score(hat), np.sqrt(chance * (1 - chance)))
    np.testing.assert_allclose(control("share:spam", hat), chance)
    stars = Known(4, ("1", "5"), True, proba=PROBA)
    mean = PROBA @ [1, 5]
    np.testing.assert_allclose(control("mean", stars), mean)
    np.testing.assert_allclose(parse("mean").score(stars), 4 * np.sqrt(chance * (1 - chance)))
    assert parse("mean").control(known(proba=PROBA)) is None


def test_a_judge_predicts_the_mean() -> None:
    judge = Known(3, predicted=True, number=np.array([4, 5, 7]))
    assert control("mean", judge).tolist() == [4, 5, 7]
    assert control("mean:1:5", judge).tolist() == [4, 5, 5]
    assert parse("mean").score(judge).tolist() == [1, 1, 1]


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    proba = np.random.default_rng(0).dirichlet([1, 2], 100)
    whole = parse("log_loss").score(known(proba=proba))
    monkeypatch.setattr("levelled.metrics.named._BLOCK", 7)
    np.testing.assert_array_equal(parse("log_loss").score(known(proba=proba)), whole)


def test_one_label_is_turned_into_what_counts() -> None:
    assert parse("error").label(1) == "1"
    assert parse("error").label("spam", HAM_SPAM) == "spam"
    assert parse("mse").label("2.5") == 2.5
    assert parse("mean:1:5").label(5) == 5
    assert parse("own_losses:gain").label({"any": "thing"}) == {"any": "thing"}


BAD: list[tuple[str, Callable[[], object]]] = [
    ("no metric 'eror'. Did you mean error. Metrics are error, accuracy", lambda: parse("eror")),
    ("no metric ''", lambda: parse("")),
    ("no metric 'None'", lambda: parse(None)),  # type: ignore[arg-type]
    ("no metric 'eror:spam'. Did you mean error", lambda: parse("eror:spam")),
    ("write precision:CLASS", lambda: parse("precision")),
    ("write share:CLASS", lambda: parse("share:")),
    ("error takes nothing after a colon", lambda: parse("error:spam")),
    ("numbers after the colon", lambda: parse("log_loss:high")),
    ("numbers after the colon", lambda: parse("log_loss:")),
    ("numbers after the colon", lambda: parse("log_loss:nan")),
    ("between 0 and 1000", lambda: parse("log_loss:0")),
    ("numbers after the colon", lambda: parse("mean:1")),
    ("numbers after the colon", lambda: parse("mean:-inf:inf")),
    ("lower of the bounds", lambda: parse("mean:5:1")),
    ("no class 'spma'; the classes are 'ham', 'spam'", lambda: parse("f1:spma", classes=HAM_SPAM)),
    ("no.such:thing cannot be imported .ModuleNotFoundError", lambda: parse("no.such:thing")),
    ("cannot be imported .AttributeError", lambda: parse("own_losses:nothing")),
    ("cannot be imported .RuntimeError: broken", lambda: parse("own_broken:loss")),
    ("is a int, not a function", lambda: parse("own_losses:constant")),
    ("lower of the bounds", lambda: parse("own_losses:backwards")),
    ("one number a label, 4 here", lambda: parse("own_losses:total").values(LABELS, PRED)),
    ("must be an array of numbers", lambda: parse("own_losses:texts").values(LABELS, PRED)),
    ("must be finite", lambda: parse("own_losses:gaps").values(LABELS, PRED)),
    (
        "failed on 4 labels: RuntimeError: no",
        lambda: parse("own_losses:breaks").values(LABELS, PRED),
    ),
    ("between 0 and 1, and 3 does not", lambda: parse("own_losses:too_much").values(LABELS, PRED)),
    ("between 1 and 5, and 6 does not", lambda: parse("mean:1:5").values([6])),
    ("between 1 and 5, and 6 does not", lambda: parse("mean:1:5").label("6")),
    ("needs the predictions", lambda: parse("error").values(LABELS)),
    ("labels has 4, pred has 3", lambda: parse("error").values(LABELS, PRED[:3])),
    ("needs the probabilities", lambda: parse("brier").values(LABELS, PRED)),
    ("'ham', which is none of", lambda: parse("brier").values(LABELS, None, PROBA, ["a", "b"])),
    ("must be a number; 'x' is none", lambda: parse("mse").values([1, "x"], [1, 2])),
    ("must be a number; 'nan' is none", lambda: parse("mean").values(["nan"])),
    ("must be a number; None is none", lambda: parse("mean").label(None)),
    ("is none of the classes 'ham', 'spam'", lambda: parse("error").label("Spam", HAM_SPAM)),
    ("text or a number; None is neither", lambda: parse("error").label(None)),
    ("text or a number; nan is neither", lambda: parse("error").values([float("nan")], ["a"])),
    ("is neither", lambda: parse("error").values([["a"]], ["a"])),
    ("one axis", lambda: parse("error").values(np.zeros((2, 2)), ["a", "b"])),
    ("not a ratio", lambda: parse("error").pairs(LABELS, PRED, 20, {})),
    ("do not fit", lambda: parse("f1:spam").pairs(LABELS, PRED, 20, {"ham": 20})),
    ("needs probabilities", lambda: parse("brier").require(Known(2, predicted=True))),
    ("needs predictions: add a column pred", lambda: parse("error").require(Known(2))),
    ("needs numbers as predictions", lambda: parse("mse").require(known(answer=np.array([0])))),
    ("no class 'x'", lambda: parse("f1:x").require(known(answer=np.array([0])))),
    (
        "1 of 2 items .* log_loss:10",
        lambda: parse("log_loss").require(known(proba=np.array([[1.0, 0.0], [0.5, 0.5]]))),
    ),
    ("must have one value for each of the 3", lambda: Known(3, score=np.ones(2))),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_bad_input_is_refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=words) as caught:
        wrong()
    assert "\n" not in str(caught.value)


def test_what_a_metric_needs_is_enough() -> None:
    for name in SPECIMENS:
        metric = parse(name)
        metric.require(known(proba=PROBA, answer=PROBA.argmax(axis=1), number=np.zeros(4)))
    parse("share:spam").require(Known(4))
    parse("log_loss:10").require(known(proba=np.array([[1.0, 0.0]])))


def test_a_broken_bound_is_a_loss_error() -> None:
    with pytest.raises(LossError):
        parse("mean:0:1").values([2])
    assert isinstance(parse("error"), Metric)
