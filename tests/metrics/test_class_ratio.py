import numpy as np
import pytest

from levelled import metrics
from levelled.metrics.named import parse
from levelled.metrics.ratio import ratio_estimate
from metrics.samples import NAMES, WEIGHTED, everything, mail
from metrics.specimens import LABELS, PRED, PROBA, known, refused_in_one_line


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("interval", ["wilson", "betting"])
def test_ratios_are_those_of_the_metrics_they_name(name: str, interval: str) -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    counts = {c: int(np.sum(pool.pred == c)) for c in NAMES.tolist()}
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


def test_the_class_is_found_however_it_is_written() -> None:
    assert parse("recall:true").values([True, "True"], [False, True]).losses.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["precision:spam", "recall:spam", "f1:spam"])
def test_a_ratio_takes_the_interest_of_an_error_and_expects_nothing(name: str) -> None:
    for pool in (known(proba=PROBA), known(loss_hat=np.array([0.25, 4.0]))):
        np.testing.assert_array_equal(parse(name).score(pool), parse("error").score(pool))
        assert parse(name).control(pool) is None


def test_counts_that_cannot_be_are_refused() -> None:
    refused_in_one_line("do not fit", lambda: parse("f1:spam").pairs(LABELS, PRED, 20, {"ham": 20}))
