from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

import levelled as lv
from levelled import metrics
from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from metrics.samples import FOUR, NAMES, WEIGHTED, enough, everything, mail, trajectory

LABELS, PRED = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]


def test_the_whole_pool_gives_the_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(400, rng), everything(400, rng)
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    expected = sk.precision_recall_fscore_support(pool.label, pool.pred, labels=NAMES)
    for metric, by_class in zip(("precision", "recall", "f1"), expected, strict=False):
        found = metrics.per_class(metric, label, pred, draws)  # type: ignore[arg-type]
        assert [est.value for est in found.values()] == pytest.approx(by_class, abs=1e-12)
        assert all(est.low == est.high for est in found.values())
    for name in NAMES.tolist():
        twice = metrics.f_beta(label, pred, draws, positive=name, beta=2.0)
        others = metrics.specificity(label, pred, draws, positive=name)
        assert twice.value == pytest.approx(
            sk.fbeta_score(pool.label == name, pool.pred == name, beta=2)
        )
        assert others.value == pytest.approx(sk.recall_score(pool.label != name, pool.pred != name))


def test_weighted_draws_give_the_ratio_of_weighted_sums() -> None:
    v = lv.lure_weights(WEIGHTED)
    y, p = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    found = {
        "precision": metrics.precision(LABELS, PRED, WEIGHTED, positive="spam"),
        "recall": metrics.recall(LABELS, PRED, WEIGHTED, positive="spam"),
        "f1": metrics.f1(LABELS, PRED, WEIGHTED, positive="spam"),
    }
    hit = np.sum(v * y * p)
    assert found["precision"].value == pytest.approx(hit / np.sum(v * p))
    assert found["recall"].value == pytest.approx(hit / np.sum(v * y))
    assert found["f1"].value == pytest.approx(2 * hit / np.sum(v * (y + p)))


def test_numbers_and_booleans_are_classes_too() -> None:
    y, p = np.array([1, 0, 1, 0]), np.array([True, True, False, False])
    text = metrics.f1(LABELS, PRED, WEIGHTED, positive="spam")
    assert metrics.f1(y, p, WEIGHTED, positive=1) == text
    assert metrics.f1(y.astype(float), p, WEIGHTED, positive=True) == text


def test_before_a_positive_is_seen_recall_is_undefined() -> None:
    none = ["ham"] * 4
    found = metrics.recall(none, none, FOUR, positive="spam")
    assert (found.value, found.low, found.high) == (None, 0, 1)
    assert found.interval == "undefined"
    assert "no label 'spam' seen yet: undefined so far, between 0 and 1" in found.warnings
    assert "undefined so far" in str(found)
    assert found.as_dict()["value"] is None


def test_a_metric_that_can_never_be_defined_says_so() -> None:
    draws = everything(4, np.random.default_rng(0))
    found = metrics.recall(["ham"] * 4, ["ham"] * 4, draws, positive="spam")
    assert found.value is None
    assert found.warnings == ("no label 'spam' in the whole pool: undefined",)
    none = ["ham"] * 4
    found = metrics.precision(
        none, none, FOUR, positive="spam", classes=["ham", "spam"], pool_pred=["ham"] * 20
    )
    assert found.warnings == ("no prediction 'spam' in the whole pool: undefined",)


@pytest.mark.parametrize("metric", ["precision", "recall", "specificity", "f1"])
def test_a_class_that_nobody_predicted_or_labelled_is_taken_for_misspelt(metric: str) -> None:
    pool_pred = np.array(["ham", "spam"] * 10)
    pred = pool_pred[FOUR.index]
    function = getattr(metrics, metric)
    with pytest.raises(InputError, match=r"'Spam' is none of .* 'ham', 'spam'. Is 'spam' meant"):
        function(pred, pred, FOUR, positive="Spam", pool_pred=pool_pred)


def test_perfect_so_far_is_not_certain() -> None:
    found = metrics.precision(LABELS, LABELS, FOUR, positive="spam")
    assert found.value == 1
    assert found.low < 0.5
    assert found.high == 1


def test_precision_is_exact_once_every_predicted_positive_is_labelled() -> None:
    pool_pred = np.full(20, "ham").astype("<U4")
    pool_pred[[4, 1]] = "spam"
    label, pred = ["spam", "ham", "spam", "ham"], pool_pred[WEIGHTED.index]
    found = metrics.precision(label, pred, WEIGHTED, positive="spam", pool_pred=pool_pred)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)
    assert (found.interval, found.stderr) == ("point", 0)
    recall = metrics.recall(label, pred, WEIGHTED, positive="spam", pool_pred=pool_pred)
    assert recall.low >= 1 / (2 + 16)
    assert recall.high <= 1 / 2  # what is not labelled was not predicted


@pytest.mark.parametrize("interval", ["auto", "betting", "none"])
@pytest.mark.parametrize("known", [True, False])
def test_every_interval_stays_within_what_is_possible(interval: str, known: bool) -> None:
    rng = np.random.default_rng(3)
    pool = mail(60, rng)
    rows = pool.trajectories(55, 5, rng)
    for row in range(5):
        draws = trajectory(rows, row, 60)
        label, pred = pool.label[draws.index], pool.pred[draws.index]
        for metric in ("precision", "recall", "f1", "specificity"):
            truth = metrics.per_class(
                metric,
                pool.label,
                pool.pred,
                everything(60, rng),
                classes=NAMES.tolist(),
            )
            found = metrics.per_class(
                metric,
                label,
                pred,
                draws,
                classes=NAMES.tolist(),
                pool_pred=pool.pred if known else None,
                interval=interval,
            )
            assert set(found) == set(truth)
            for est in found.values():
                assert 0 <= est.low <= est.high <= 1
                assert est.value is None or est.low <= est.value <= est.high


def test_what_is_possible_is_what_some_labels_of_the_rest_would_give() -> None:
    draws, labels = FOUR[:3], np.array(["spam", "ham", "spam"])
    small = lv.Draws(np.array([4, 1, 0]), draws.probability * 4, pool_size=5)
    pool_pred = np.array(["ham", "spam", "spam", "ham", "spam"])
    pred = pool_pred[small.index]
    for metric in ("precision", "recall", "f1", "specificity"):
        seen = []
        for third in ("spam", "ham"):
            for fourth in ("spam", "ham"):
                everyone = lv.Draws(np.array([4, 1, 0, 2, 3]), 1 / np.array([5.0, 4, 3, 2, 1]), 5)
                full = metrics.per_class(
                    metric,
                    [*labels, third, fourth],
                    pool_pred[everyone.index],
                    everyone,
                )
                seen.append(full["spam"].value)
        found = metrics.per_class(
            metric,
            labels,
            pred,
            small,
            pool_pred=pool_pred,
            interval="none",
        )["spam"]
        defined = [value for value in seen if value is not None]
        assert (found.low, found.high) == pytest.approx((min(defined), max(defined)))


def test_the_betting_interval_covers_after_the_last_label(seed: int) -> None:
    rng = np.random.default_rng([seed, 7])
    pool = mail(1000, rng)
    rows = pool.trajectories(80, 40, rng)
    truth = sk.f1_score(pool.label == "spam", pool.pred == "spam")
    covered = []
    for row in range(40):
        draws = trajectory(rows, row, 1000)
        found = metrics.f1(
            pool.label[draws.index],
            pool.pred[draws.index],
            draws,
            positive="spam",
            classes=NAMES.tolist(),
            interval="betting",
        )
        covered.append(found.low <= truth <= found.high)
    assert enough(np.array(covered), 0.95)


def test_simultaneous_intervals_are_wider_and_say_their_own_level() -> None:
    rng = np.random.default_rng(4)
    pool, draws = mail(500, rng), everything(500, rng)[:100]
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    one = metrics.per_class("recall", label, pred, draws)
    all_ = metrics.per_class("recall", label, pred, draws, simultaneous=True)
    assert all_["spam"].level == pytest.approx(1 - 0.05 / 3)
    assert all_["spam"].low < one["spam"].low


def test_excluded_items_widen_the_interval() -> None:
    q = np.full(8, 0.05)
    all_, some = lv.Draws(np.arange(8), q, 40), lv.Draws(np.arange(8), q, 40, excluded=10)
    labels, pred = ["spam", "ham"] * 4, ["spam"] * 6 + ["ham"] * 2
    full = metrics.precision(labels, pred, all_, positive="spam")
    part = metrics.precision(labels, pred, some, positive="spam")
    assert part.value == full.value
    assert part.low < full.low < full.high < part.high
    assert "never be drawn" in part.warnings[-1]
    betting = metrics.precision(labels, pred, some, positive="spam", interval="betting")
    assert betting.interval == "logical"


def test_one_label_leaves_what_is_logically_possible() -> None:
    found = metrics.precision(["spam"], ["spam"], FOUR[:1], positive="spam")
    assert (found.value, found.low, found.high) == (1, 1 / 20, 1)
    assert "one label" in found.warnings[0]


def test_a_thin_design_is_told() -> None:
    q = np.array([0.2, 0.3, 0.00001, 0.3, 0.2, 0.25])
    draws = lv.Draws(np.arange(6), q, 100)
    labels, pred = ["a", "b"] * 3, ["a", "a", "b"] * 2
    pool_slices = np.array(["x"] * 100)
    losses = np.array([0.1, 0.5, 0.3, 0.9, 0.2, 0.4])
    found = {
        "precision": metrics.precision(labels, pred, draws, positive="a"),
        "recall": metrics.recall(labels, pred, draws, positive="a"),
        "f1": metrics.f1(labels, pred, draws, positive="a"),
        "macro f1": metrics.macro("f1", labels, pred, draws),
        "balanced accuracy": metrics.balanced_accuracy(labels, pred, draws),
        "micro f1": metrics.micro("f1", labels, pred, draws, over=["a"]),
        "auc": metrics.auc(labels, losses, draws, positive="a"),
        "slice": metrics.by_slice(losses, draws, ["x"] * 6, pool_slices)["x"].estimate,
        "slice of 0/1": metrics.by_slice(losses > 0.3, draws, ["x"] * 6, pool_slices)["x"].estimate,
    }
    for name, est in found.items():
        assert "raise the floor" in est.warnings[0], name
        assert "do not rely on this interval" in est.warnings[0], name


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"classes": ["ham", "eggs"]}, "labels has 'spam', which is none of the classes"),
        ({"classes": ["ham", "ham", "spam"]}, "distinct"),
        ({"classes": ["ham", "spam"], "positive": "Spam"}, "'Spam' is none of the classes"),
        ({"positive": 1}, "1 is none of the classes"),
        ({"pred": [1, 0, 1, 0]}, "Text never equals a number"),
        ({"pred": PRED[:3]}, "pred has 3"),
        ({"labels": [["spam"]] * 4}, "one axis"),
        ({"labels": [1.0, np.nan, 1.0, 0.0], "pred": [1, 1, 0, 0], "positive": 1}, "no gaps"),
        ({"pool_pred": ["spam"] * 19}, "each of the 20 items"),
        ({"pool_pred": ["ham"] * 20}, "pred = pool_pred"),
        ({"level": 1.0}, "level"),
        ({"interval": "t"}, "interval must be one of"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: dict[str, object], words: str) -> None:
    given = {"labels": LABELS, "pred": PRED, "draws": FOUR, "positive": "spam"} | wrong
    with pytest.raises(InputError, match=words):
        metrics.f1(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("draws", [FOUR.index, None, [4, 1, 0, 7]])
def test_draws_without_probabilities_are_refused_everywhere(draws: lv.Draws) -> None:
    losses, pool = [1.0, 0.0, 1.0, 0.0], ["x"] * 20
    calls: list[Callable[[], object]] = [
        lambda: metrics.mean(losses, draws),
        lambda: metrics.share(LABELS, draws, of="spam"),
        lambda: metrics.accuracy(LABELS, PRED, draws),
        lambda: metrics.mse(losses, losses, draws),
        lambda: metrics.average(lambda labels, pred: labels, losses, losses, draws),
        lambda: metrics.f1(LABELS, PRED, draws, positive="spam"),
        lambda: metrics.per_class("recall", LABELS, PRED, draws),
        lambda: metrics.macro("f1", LABELS, PRED, draws),
        lambda: metrics.micro("f1", LABELS, PRED, draws),
        lambda: metrics.balanced_accuracy(LABELS, PRED, draws),
        lambda: metrics.confusion(LABELS, PRED, draws),
        lambda: metrics.auc(LABELS, losses, draws, positive="spam"),
        lambda: metrics.ratio(losses, losses, draws),
        lambda: metrics.by_slice(losses, draws, ["x"] * 4, pool),
        lambda: metrics.calibration(LABELS, losses, draws, [0.5] * 20, positive="spam"),
        lambda: metrics.compare(losses, losses, draws),
        lambda: metrics.compare_all({"a": losses, "b": losses}, draws),
    ]
    for call in calls:
        with pytest.raises(InputError, match="draws must be Draws"):
            call()


def test_no_labels_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="at least one label"):
        metrics.f1([], [], FOUR[:0], positive="spam")


def test_a_ratio_of_your_own_must_stay_between_its_bounds() -> None:
    with pytest.raises(LossError, match="the first is 2 of 1"):
        metrics.ratio([1, 2, 0, 0], [1, 1, 1, 0], FOUR)
    assert metrics.ratio([1, 2, 0, 0], [1, 2, 1, 0], FOUR, most=2.0).value == pytest.approx(0.75)


def truth_of(name: str, label: NDArray[np.bool_], pred: NDArray[np.bool_]) -> FloatArray:
    return np.asarray({"precision": label[pred].mean(), "recall": pred[label].mean()}[name])


def test_the_interval_of_the_record_is_that_of_the_core(seed: int) -> None:
    rng = np.random.default_rng([seed, 9])
    pool = mail(10_000, rng)
    rows = pool.trajectories(200, 30, rng)
    for name in ("precision", "recall"):
        truth = truth_of(name, pool.label == "spam", pool.pred == "spam")
        covered = []
        for row in range(30):
            draws = trajectory(rows, row, 10_000)
            found = metrics.per_class(
                name,
                pool.label[draws.index],
                pool.pred[draws.index],
                draws,
                pool_pred=pool.pred,
            )["spam"]
            covered.append(found.low <= truth <= found.high)
        assert enough(np.array(covered), 0.925)
