import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk
from sklearn.metrics import confusion_matrix

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
        found = metrics.per_class(metric, label, pred, draws)
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
    assert any("label 'spam'" in warning for warning in found.warnings)
    assert "undefined so far" in str(found)
    assert found.as_dict()["value"] is None


def test_a_metric_that_can_never_be_defined_says_so() -> None:
    draws = everything(4, np.random.default_rng(0))
    found = metrics.recall(["ham"] * 4, ["ham"] * 4, draws, positive="spam")
    assert found.value is None
    assert ["label 'spam'" in warning for warning in found.warnings] == [True]
    none = ["ham"] * 4
    found = metrics.precision(
        none, none, FOUR, positive="spam", classes=["ham", "spam"], pool_pred=["ham"] * 20
    )
    assert ["prediction 'spam'" in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize("metric", ["precision", "recall", "specificity", "f1"])
def test_a_class_that_nobody_predicted_or_labelled_is_taken_for_misspelt(metric: str) -> None:
    pool_pred = np.array(["ham", "spam"] * 10)
    pred = pool_pred[FOUR.index]
    function = getattr(metrics, metric)
    with pytest.raises(InputError, match=r"'Spam' .*'ham', 'spam'"):
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
        assert "do not rely" in est.warnings[0], name


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"classes": ["ham", "eggs"]}, "labels has 'spam'"),
        ({"classes": ["ham", "ham", "spam"]}, "distinct"),
        ({"classes": ["ham", "spam"], "positive": "Spam"}, r"'Spam'.*classes"),
        ({"positive": 1}, "1 is none"),
        ({"pred": [1, 0, 1, 0]}, r"Text.*number"),
        ({"pred": PRED[:3]}, "pred has 3"),
        ({"labels": [["spam"]] * 4}, "one axis"),
        ({"labels": [1.0, np.nan, 1.0, 0.0], "pred": [1, 1, 0, 0], "positive": 1}, "no gaps"),
        ({"pool_pred": ["spam"] * 19}, "20 items"),
        ({"pool_pred": ["ham"] * 20}, "pred = pool_pred"),
        ({"level": 1.0}, "level"),
        ({"interval": "t"}, "interval must be"),
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
        with pytest.raises(InputError, match="must be Draws"):
            call()


def test_no_labels_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="one label"):
        metrics.f1([], [], FOUR[:0], positive="spam")


def test_a_ratio_of_your_own_must_stay_between_its_bounds() -> None:
    with pytest.raises(LossError, match="2 of 1"):
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


def test_the_whole_pool_gives_the_averages_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(400, rng), everything(400, rng)
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    scores = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    for metric, score in scores.items():
        for average, function in (("macro", metrics.macro), ("micro", metrics.micro)):
            found = function(metric, label, pred, draws)
            expected = score(pool.label, pool.pred, average=average)
            assert found.value == pytest.approx(expected, abs=1e-12)
            assert found.low == pytest.approx(found.high, abs=1e-12)
            some = function(metric, label, pred, draws, over=["ham", "spam"])
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
    assert "label 'spam' seen" in found.warnings[0]
    assert metrics.macro("recall", labels, pred, FOUR).value == pytest.approx((2 / 3 + 1) / 2)


def test_balanced_accuracy_tells_which_predicted_class_it_leaves_out() -> None:
    labels, pred = ["ham", "ham", "news", "ham"], ["ham", "spam", "news", "ham"]
    found = metrics.balanced_accuracy(labels, pred, FOUR)
    assert found.value == pytest.approx((2 / 3 + 1) / 2)
    assert "left out: 'spam'" in found.warnings[-1]
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


def test_bad_input_of_averages_is_refused_in_words() -> None:
    labels = ["ham", "ham", "news", "ham"]
    with pytest.raises(InputError, match="metric must be"):
        metrics.macro("accuracy", labels, labels, FOUR)
    with pytest.raises(InputError, match="over must name"):
        metrics.macro("f1", labels, labels, FOUR, over=["ham", "ham"])
    with pytest.raises(InputError, match="over must name"):
        metrics.micro("f1", labels, labels, FOUR, over=[])
    with pytest.raises(InputError, match="interval must be"):
        metrics.macro("f1", labels, labels, FOUR, interval="betting")
    with pytest.raises(InputError, match="one label"):
        metrics.macro("f1", [], [], FOUR[:0], over=["ham"])


@pytest.mark.parametrize("known", [True, False])
def test_the_whole_pool_gives_the_matrix_of_scikit_learn(known: bool) -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)
    found = metrics.confusion(
        pool.label[draws.index],
        pool.pred[draws.index],
        draws,
        pool_pred=pool.pred if known else None,
    )
    expected = confusion_matrix(pool.label, pool.pred, labels=NAMES, normalize="all")
    np.testing.assert_allclose(np.array(found.values, dtype=float), expected, atol=1e-12)
    cell = found["spam", "ham"]
    assert cell.low == pytest.approx(cell.high)


def test_a_cell_is_the_weighted_share_of_its_items() -> None:
    labels, pred = ["b", "a", "b", "a"], ["b", "b", "a", "a"]
    found = metrics.confusion(labels, pred, WEIGHTED)
    weights = lv.lure_weights(WEIGHTED)
    assert found["a", "b"].value == pytest.approx(weights[1] / 4)


def test_known_predictions_make_every_column_add_up() -> None:
    rng = np.random.default_rng(1)
    pool = mail(1000, rng)
    draws = trajectory(pool.trajectories(100, 1, rng), 0, 1000)
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    found = metrics.confusion(label, pred, draws, classes=NAMES.tolist(), pool_pred=pool.pred)
    columns = np.array(found.values, dtype=float).sum(axis=0)
    assert columns == pytest.approx([np.mean(pool.pred == name) for name in NAMES])
    for name in NAMES.tolist():
        assert found[name, name].high <= np.mean(pool.pred == name)


def test_a_prediction_that_never_occurs_has_no_items_and_one_not_drawn_yet_some() -> None:
    pool_pred = np.full(20, "ham").astype("<U4")
    pool_pred[15] = "news"
    label = ["ham", "spam", "ham", "ham"]
    found = metrics.confusion(label, ["ham"] * 4, FOUR, classes=NAMES.tolist(), pool_pred=pool_pred)
    never = found["ham", "spam"]
    assert (never.value, never.low, never.high, never.interval) == (0, 0, 0, "point")
    later = found["ham", "news"]
    assert later.value is None
    assert (later.low, later.high) == (0, 1 / 20)
    assert "?" in str(found)


@pytest.mark.parametrize("known", [True, False])
def test_the_cells_are_covered_all_at_once(seed: int, known: bool) -> None:
    rng = np.random.default_rng([seed, 6])
    pool = mail(5000, rng)
    truth = confusion_matrix(pool.label, pool.pred, labels=NAMES, normalize="all")
    rows = pool.trajectories(300, 60, rng)
    covered = []
    for row in range(60):
        draws = trajectory(rows, row, 5000)
        found = metrics.confusion(
            pool.label[draws.index],
            pool.pred[draws.index],
            draws,
            classes=NAMES.tolist(),
            pool_pred=pool.pred if known else None,
            simultaneous=True,
        )
        low, high = (
            np.array([[getattr(cell, side) for cell in line] for line in found.cells])
            for side in ("low", "high")
        )
        covered.append(bool(((low <= truth) & (truth <= high)).all()))
    assert enough(np.array(covered), 0.95)


def test_a_matrix_prints_and_goes_into_json() -> None:
    found = metrics.confusion(["b", "a", "b", "a"], ["b", "b", "a", "a"], FOUR)
    assert str(found).splitlines()[0].split() == ["label", "pred", "a", "pred", "b"]
    rows = json.loads(json.dumps(found.as_dicts()))
    assert len(rows) == 4
    assert rows[1]["label"] == "a"
    assert rows[1]["pred"] == "b"


@pytest.mark.parametrize("known", [True, False])
def test_the_names_of_intervals_do_not_depend_on_what_is_known(known: bool) -> None:
    pool_pred = np.array(["a", "b"] * 10)
    labels, pred = ["b", "a", "b", "a"], pool_pred[FOUR.index]

    def cells(interval: str) -> list[list[lv.Estimate]]:
        found = metrics.confusion(
            labels, pred, FOUR, pool_pred=pool_pred if known else None, interval=interval
        )
        return [list(row) for row in found.cells]

    assert cells("wilson") == cells("cp_safe") == cells("auto")
    for interval in ("betting", "none"):
        assert {cell.interval for row in cells(interval) for cell in row} == {interval}
    with pytest.raises(InputError, match="interval must be"):
        cells("t")


def test_a_printed_matrix_tells_what_is_known_of_a_cell() -> None:
    pool_pred = np.array(["ham"] * 15 + ["spam"] * 5)
    found = metrics.confusion(["ham"] * 4, ["ham"] * 4, FOUR, pool_pred=pool_pred)
    assert "pred spam): no prediction" in str(found)


def test_bad_input_of_a_matrix_is_refused_in_words() -> None:
    labels = ["b", "a", "b", "a"]
    with pytest.raises(InputError, match=r"labels.*'b'.*'a'"):
        metrics.confusion(labels, ["a"] * 4, FOUR, classes=["a"])
    with pytest.raises(InputError, match=r"'c'.*classes"):
        _ = metrics.confusion(labels, labels, FOUR)["a", "c"]
    with pytest.raises(InputError, match="one label"):
        metrics.confusion([], [], FOUR[:0])
