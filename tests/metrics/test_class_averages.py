import numpy as np
import pytest
from sklearn import metrics as sk

from levelled import metrics
from levelled.errors import InputError
from metrics.samples import FOUR, NAMES, everything, mail


def test_the_whole_pool_gives_the_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(400, rng), everything(400, rng)
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    scores = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    for metric, score in scores.items():
        for average, function in (("macro", metrics.macro), ("micro", metrics.micro)):
            found = function(metric, label, pred, draws)  # type: ignore[arg-type]
            expected = score(pool.label, pool.pred, average=average)
            assert found.value == pytest.approx(expected, abs=1e-12)
            assert found.low == pytest.approx(found.high, abs=1e-12)
            some = function(metric, label, pred, draws, over=["ham", "spam"])  # type: ignore[arg-type]
            expected = score(pool.label, pool.pred, average=average, labels=["ham", "spam"])
            assert some.value == pytest.approx(expected, abs=1e-12)
    found = metrics.balanced_accuracy(label, pred, draws)
    assert found.value == pytest.approx(sk.balanced_accuracy_score(pool.label, pool.pred))


def test_micro_f1_over_all_classes_is_the_accuracy() -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(400, rng), everything(400, rng)[:50]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    assert metrics.micro("f1", label, pred, draws) == metrics.accuracy(label, pred, draws)
    assert metrics.micro("f1", label, pred, draws, interval="betting") == metrics.accuracy(
        label, pred, draws, interval="betting"
    )


@pytest.mark.parametrize("over", [None, ["ham", "spam"]])
def test_a_micro_average_takes_the_same_names_of_intervals_over_any_classes(
    over: list[str] | None,
) -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(400, rng), everything(400, rng)[:50]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    wilson, cp_safe, auto = (
        metrics.micro("f1", label, pred, draws, over=over, interval=interval)
        for interval in ("wilson", "cp_safe", "auto")
    )
    assert wilson == cp_safe == auto


def test_macro_of_one_class_is_that_class() -> None:
    rng = np.random.default_rng(2)
    pool, draws = mail(400, rng), everything(400, rng)[:50]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    one = metrics.macro("f1", label, pred, draws, over=["ham"])
    alone = metrics.f1(label, pred, draws, positive="ham")
    assert one.value == alone.value
    assert one.stderr == pytest.approx(alone.stderr)
    assert (one.low, one.high) == pytest.approx((alone.low, alone.high), abs=0.02)


def test_a_class_that_has_not_been_seen_leaves_the_mean_undefined() -> None:
    labels, pred = ["ham", "ham", "news", "ham"], ["ham", "news", "news", "ham"]
    found = metrics.macro("recall", labels, pred, FOUR, classes=NAMES.tolist())
    assert found.value is None
    assert 0 <= found.low < found.high <= 1
    assert "no label 'spam' seen yet" in found.warnings[0]
    assert metrics.macro("recall", labels, pred, FOUR).value == pytest.approx((2 / 3 + 1) / 2)


def test_balanced_accuracy_tells_which_predicted_class_it_leaves_out() -> None:
    labels, pred = ["ham", "ham", "news", "ham"], ["ham", "spam", "news", "ham"]
    found = metrics.balanced_accuracy(labels, pred, FOUR)
    assert found.value == pytest.approx((2 / 3 + 1) / 2)
    assert "not among the labels yet, so left out: 'spam'" in found.warnings[-1]
    declared = metrics.balanced_accuracy(labels, pred, FOUR, classes=NAMES.tolist())
    assert declared.value is None


def test_what_is_possible_holds_the_truth_of_a_micro_average() -> None:
    rng = np.random.default_rng(3)
    pool = mail(40, rng)
    draws = everything(40, rng)
    truth = sk.f1_score(pool.label, pool.pred, average="micro", labels=["news", "spam"])
    for m in (5, 20, 35):
        for pool_pred in (None, pool.pred):
            part = draws[:m]
            found = metrics.micro(
                "f1",
                pool.label[part.index],
                pool.pred[part.index],
                part,
                over=["news", "spam"],
                classes=NAMES.tolist(),
                pool_pred=pool_pred,
                interval="none",
            )
            assert found.low <= truth <= found.high


def test_bad_input_is_refused_in_words() -> None:
    labels = ["ham", "ham", "news", "ham"]
    with pytest.raises(InputError, match="metric must be one of"):
        metrics.macro("accuracy", labels, labels, FOUR)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="over must name"):
        metrics.macro("f1", labels, labels, FOUR, over=["ham", "ham"])
    with pytest.raises(InputError, match="over must name"):
        metrics.micro("f1", labels, labels, FOUR, over=[])
    with pytest.raises(InputError, match="interval must be one of"):
        metrics.macro("f1", labels, labels, FOUR, interval="betting")
    with pytest.raises(InputError, match="at least one label"):
        metrics.macro("f1", [], [], FOUR[:0], over=["ham"])
