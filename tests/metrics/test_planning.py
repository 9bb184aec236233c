from itertools import pairwise

import numpy as np
import pytest

import levelled as lv
from levelled import losses, metrics
from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.metrics.named import parse_metric
from levelled.metrics.planning import Pilot, Plan, PlanRequest, plan_from_spread, plan_pool
from levelled.predictions import Categorical, PoolPredictions
from levelled.proposals import uniform

N = 600


def predicted(seed: int) -> FloatArray:
    chance = 0.5 * np.random.default_rng(seed).beta(0.4, 3.6, N)
    return np.stack([1 - chance, chance], axis=1)


def labels_only(n_labels: int, share: float) -> Plan:
    """The plan for a pool of predictions without probabilities, from uniform labels."""
    pred = Categorical(("a", "b"), np.arange(1000) % 2)
    predictions = PoolPredictions(1000, ("a", "b"), pred=pred)
    wrong = (np.arange(n_labels) < share * n_labels).astype(float)
    pilot = Pilot(np.arange(n_labels), wrong, np.ones(n_labels))
    return plan_pool(PlanRequest(parse_metric("error"), 0.1), predictions, uniform(1000), pilot)


def test_a_plan_is_a_likely_number_within_a_range() -> None:
    plan = metrics.plan(predicted(0), 0.05)
    assert 1 < plan.low < plan.likely < plan.high < N
    assert plan.expected_low < plan.expected < plan.expected_high
    assert plan.expected_low < predicted(0)[:, 1].mean() < plan.expected_high
    assert f"About {plan.likely} labels ({plan.low} to {plan.high})" in str(plan)
    assert "the predictions alone" in str(plan)


def test_a_narrower_interval_takes_more_labels() -> None:
    proba = predicted(0)
    plans = [metrics.plan(proba, width) for width in (0.1, 0.05, 0.02)]
    assert all(a.likely < b.likely and a.high < b.high for a, b in pairwise(plans))
    assert metrics.plan(proba, 0.05, level=0.99).likely > plans[1].likely
    assert metrics.plan(proba, 0.05, looks=1).likely < plans[1].likely


def test_a_width_out_of_reach_takes_the_whole_pool() -> None:
    plan = metrics.plan(predicted(0), 1e-6)
    assert plan.likely == plan.high == plan.uniform == N
    assert f"all {N} labels" in str(plan)


def test_a_floor_of_one_is_uniform() -> None:
    plan = metrics.plan(predicted(0), 0.05, floor=1)
    assert plan.likely == pytest.approx(plan.uniform, rel=0.02)


def test_accuracy_is_planned_like_the_error() -> None:
    error, accuracy = (metrics.plan(predicted(0), 0.03, name) for name in ("error", "accuracy"))
    assert (error.likely, error.uniform) == (accuracy.likely, accuracy.uniform)
    assert accuracy.expected == pytest.approx(1 - error.expected)
    assert accuracy.expected_low < accuracy.expected < accuracy.expected_high


def test_a_believed_value_moves_the_plan_and_narrows_it() -> None:
    proba = predicted(0)
    alone = metrics.plan(proba, 0.05)
    rare, common = (metrics.plan(proba, 0.05, expected=value) for value in (0.02, 0.2))
    assert rare.expected == pytest.approx(0.02, rel=0.2)
    assert common.expected == pytest.approx(0.2, rel=0.2)
    assert rare.likely < common.likely
    assert common.high / common.low < alone.high / alone.low
    right = metrics.plan(proba, 0.05, "accuracy", expected=0.8)
    assert right.likely == pytest.approx(common.likely, rel=0.02)


def test_predictions_of_which_a_model_is_sure_are_doubted() -> None:
    plan = metrics.plan(np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1)), 0.05)
    assert 0 < plan.expected_low < 0.01
    assert plan.expected_high > 0.2


@pytest.mark.parametrize("metric", ["precision:1", "recall:1", "f1:1", "share:1"])
def test_metrics_of_a_class_are_planned(metric: str) -> None:
    rng = np.random.default_rng(0)
    chance = rng.beta(0.3, 0.6, 600)
    plan = metrics.plan(np.stack([1 - chance, chance], axis=1), 0.1, metric)
    assert 20 < plan.low < plan.likely < plan.high <= 600
    named = metrics.plan(
        np.stack([1 - chance, chance], axis=1),
        0.1,
        metric.replace("1", "spam").replace("fspam", "f1"),
        classes=["ham", "spam"],
    )
    assert named.likely == plan.likely


def test_bounded_and_unbounded_losses_are_planned() -> None:
    proba = np.clip(predicted(0), 1e-3, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    for metric in ("brier", "log_loss", "log_loss:5"):
        plan = metrics.plan(proba, 0.1, metric)
        assert plan.low < plan.likely < plan.high


def test_numbers_are_planned_from_a_distribution_of_the_label() -> None:
    rng = np.random.default_rng(0)
    pred = rng.normal(size=1000)
    label = losses.Normal(pred, rng.gamma(2, 0.5, 1000))
    drawn = label.mean[:, None] + label.sd[:, None] * rng.normal(size=(1000, 40))
    for metric in ("mse", "mae"):
        plan = metrics.plan(pred, 0.3, metric, label=label)
        assert plan.low < plan.likely < plan.high
        assert plan.likely < plan.uniform
        own = float(lv.scores.expected_loss(pred, label, loss=_LOSSES[metric]).mean())  # type: ignore[arg-type]
        assert plan.expected == pytest.approx(own, rel=0.03)
        assert metrics.plan(pred, 0.3, metric, label=drawn).likely == pytest.approx(
            plan.likely, rel=0.3
        )


_LOSSES = {"mse": "squared", "mae": "absolute"}


def test_labels_outweigh_the_doubt() -> None:
    few, many = labels_only(20, 0.3), labels_only(400, 0.3)
    assert many.expected == pytest.approx(0.3, abs=0.05)
    assert many.high / many.low < few.high / few.low
    assert many.n_labels == 400
    assert many.remaining == max(many.likely - 400, 0)
    assert "400 labels" in str(many)


def test_the_range_after_many_labels_holds_what_clopper_and_pearson_need() -> None:
    plan = labels_only(400, 0.3)
    n = np.arange(50, 1000)
    low, high = lv.estimators.intervals.limits.clopper_pearson(
        0.3 * n * 999 / (1000 - n), n * 999 / (1000 - n), 0.9626
    )
    needed = int(n[np.argmax(high - low <= 0.1)])
    assert plan.low < needed < plan.high


def test_losses_that_nothing_predicts_are_planned_from_their_spread() -> None:
    rng = np.random.default_rng(0)
    request = PlanRequest(parse_metric("mse"), 0.2)
    draws = lv.samplers.race(np.ones(5000), 100, seed=1)
    loss = rng.gamma(1.0, 1.0, 100)
    plan = plan_from_spread(request, loss, draws)
    exact = 1 / (1 / 5000 + (0.2 / (2 * 2.09)) ** 2)  # of losses with standard deviation one
    assert plan.low < exact < plan.high
    assert plan.likely == pytest.approx(exact, rel=0.5)
    assert plan.n_labels == 100
    with pytest.raises(InputError, match="no spread"):
        plan_from_spread(request, np.zeros(100), draws)
    with pytest.raises(InputError, match="no expected value"):
        plan_from_spread(PlanRequest(parse_metric("mse"), 0.2, expected=1.0), loss, draws)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"width": 0}, "width must be"),
        ({"metric": "f1"}, "f1:CLASS"),
        ({"metric": "f1:2"}, "2"),
        ({"metric": "mean"}, "distribution"),
        ({"level": 0}, "level must be"),
        ({"looks": 0}, "looks must be"),
        ({"pred": [[0.9, 0.1]]}, "two or more"),
        ({"pred": [[0.9, 0.4]] * 5}, "sum to one"),
        ({"pred": [1.0, 2.0], "metric": "mse"}, "distribution"),
        ({"pred": [1.0, 2.0], "metric": "mse", "label": [[1.0], [2.0]]}, "allows for mistakes"),
        ({"metric": "precision:1"}, "predicted '1'"),
        ({"classes": ["a", "b", "c"]}, "2 classes"),
        ({"expected": 1.5}, "expected must be"),
        ({"expected": 0.9}, "may be between"),
        ({"metric": "log_loss", "pred": [[1.0, 0.0]] * 5}, "log_loss:10"),
        ({"floor": 2}, "share"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: dict[str, object], words: str) -> None:
    given = {"pred": [[0.9, 0.1], [0.8, 0.2]] * 5, "width": 0.1} | wrong
    with pytest.raises(InputError, match=words):
        metrics.plan(**given)  # type: ignore[arg-type]
