from itertools import pairwise

import numpy as np
import pytest

import levelled as lv
from levelled import losses, metrics
from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.estimators import moments
from levelled.estimators.intervals.fixed import cp_safe, log_t_interval, ranked_weights
from levelled.metrics.planning import _variances
from levelled.proposals import mixture, proportional, uniform
from levelled_studies import exact
from levelled_studies.trajectories import frozen

N = 4000


def predicted(seed: int) -> FloatArray:
    chance = 0.5 * np.random.default_rng(seed).beta(0.4, 3.6, N)
    return np.stack([1 - chance, chance], axis=1)


@pytest.mark.parametrize("width", [0.02, 0.05])
@pytest.mark.parametrize("proposal", ["default", "uniform"])
def test_the_planned_number_of_labels_gives_about_the_wanted_width(
    seed: int, width: float, proposal: str
) -> None:
    rng = np.random.default_rng(seed)
    proba = predicted(seed)
    plan, chance = metrics.plan(proba, width), proba[:, 1]
    q = mixture(proportional(np.sqrt(chance)), 0.5) if proposal == "default" else uniform(N)
    budget = plan.labels if proposal == "default" else plan.labels_uniform
    found = []
    for _ in range(5):
        errors = (rng.random(N) < chance).astype(float)
        rows = frozen(q, budget, 40, control=chance, bound=1.0, rng=rng)
        drawn = errors[rows.index]
        weights = ranked_weights(rows.probability, N)
        low, high = cp_safe(moments(drawn, rows.probability, N), drawn, weights, 0.95)
        found.append(high - low)
    assert 0.85 * width < np.median(found) < 1.15 * width


def test_the_plan_of_a_dense_loss_gives_about_the_wanted_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    proba = predicted(seed)
    plan = metrics.plan(proba, 0.05, "brier")
    root = lv.scores.root_mean_squared_loss(proba, loss="brier")
    q = mixture(proportional(root), 0.5)
    label = (rng.random(N) < proba[:, 1]).astype(int)
    rows = frozen(q, plan.labels, 100, control=root, bound=2.0, rng=rng)
    low, high = log_t_interval(
        moments(losses.brier(label, proba)[rows.index], rows.probability, N), 0.95
    )
    assert 0.8 * 0.05 < np.median(high - low) < 1.2 * 0.05


def test_the_variance_is_that_of_uniform_draws_without_replacement() -> None:
    loss = np.random.default_rng(0).exponential(size=1000)
    budgets = np.array([1, 2, 10, 100, 500, 900])
    expected = (1 - budgets / 1000) / budgets * loss.var(ddof=1)
    found = _variances(loss, loss**2, uniform(1000))[budgets - 1]
    np.testing.assert_allclose(found, expected, rtol=6e-3)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_variance_is_close_to_the_enumerated_one_even_for_six_items(budget: int) -> None:
    loss = np.array([0.1, 0.9, 0.3, 0.5, 0.0, 0.7])
    q = mixture(proportional(loss + 0.2), 0.5)

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return q[left] / q[left].sum()

    expected = exact.lure_variance(loss, budget, propose)
    assert _variances(loss, loss**2, q)[budget - 1] == pytest.approx(expected, rel=0.1)


def test_a_narrower_interval_takes_more_labels_and_uniform_ones_more_still() -> None:
    proba = predicted(0)
    plans = [metrics.plan(proba, width) for width in (0.1, 0.05, 0.02, 0.01)]
    assert all(a.labels < b.labels for a, b in pairwise(plans))
    assert all(plan.labels < plan.labels_uniform for plan in plans)
    assert metrics.plan(proba, 0.02, level=0.99).labels > plans[2].labels


def test_a_width_out_of_reach_takes_the_whole_pool() -> None:
    plan = metrics.plan(predicted(0), 1e-6)
    assert plan.labels == plan.labels_uniform == N
    assert f"all {N} labels" in str(plan)


def test_a_plan_says_by_what_proposal() -> None:
    told = str(metrics.plan(predicted(0), 0.05, floor=0.2))
    assert "by the root mean squared loss with a floor of 0.2" in told
    assert metrics.plan(predicted(0), 0.05, floor=1).labels == (
        metrics.plan(predicted(0), 0.05).labels_uniform
    )


def test_accuracy_is_planned_like_the_error() -> None:
    error, accuracy = (metrics.plan(predicted(0), 0.03, name) for name in ("error", "accuracy"))
    assert (error.labels, error.labels_uniform) == (accuracy.labels, accuracy.labels_uniform)
    assert accuracy.expected == pytest.approx(1 - error.expected)
    assert error.expected == pytest.approx(predicted(0)[:, 1].mean())


def test_numbers_are_planned_from_a_distribution_of_the_label() -> None:
    rng = np.random.default_rng(0)
    answer = rng.normal(size=1000)
    label = losses.Normal(answer, rng.gamma(2, 0.5, 1000))
    for metric in ("mse", "mae"):
        plan = metrics.plan(answer, 0.3, metric, label=label)
        assert plan.labels < plan.labels_uniform
        assert metric in str(plan)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"width": 0}, "width must be"),
        ({"metric": "f1"}, "metric must be one of"),
        ({"level": 0}, "level must be"),
        ({"pred": [[1.0, 0.0]] * 5}, "allows for mistakes"),
        ({"pred": [[0.9, 0.1]]}, "two items or more"),
        ({"pred": [[0.9, 0.4]] * 5}, "sum to one"),
        ({"pred": [1.0, 2.0], "metric": "mse"}, "distribution of the label"),
        ({"floor": 2}, "share"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: dict[str, object], words: str) -> None:
    given = {"pred": [[0.9, 0.1], [0.8, 0.2]] * 5, "width": 0.1} | wrong
    with pytest.raises(InputError, match=words):
        metrics.plan(**given)  # type: ignore[arg-type]
