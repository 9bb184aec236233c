import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from levelled import metrics
from levelled.errors import InputError
from levelled.metrics.named import Metric, parse_metric
from levelled.metrics.ratio import Look, ratio_estimate
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
    numbers = name.partition(":")[0] in ("mean", "mse", "mae")
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
    found = ratio_estimate(pairs, Look(draws, 0.95, interval))
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
        found = ratio_estimate(pairs, Look(WEIGHTED, 0.95, "auto"))
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
    with pytest.raises(InputError, match="no module 'not_there' in this folder"):
        parse_metric("not_there:doubled")
