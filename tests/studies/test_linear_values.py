"""The numbers of the linear studies, worked out again one trajectory at a time.

A study's table is compared with plain loops over trajectories, weighted least squares by
`numpy.linalg.lstsq`, and the weights of the library. Tables keep six digits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled_studies import find
from levelled_studies.linear import data, experiment
from levelled_studies.linear.settings import LinearSettings
from levelled_studies.study import StudySettings
from levelled_studies.tables import Curve, curves

FEW = 10
"""Trajectories, the fewest that the settings take."""
WEIGHTS: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "naive": lambda q, N: np.ones(len(q)),
    "PURE": lure.plain_weights,
    "LURE": lure.weights,
}
POOL, UNSEEN = data.pool(), data.unseen()
IDEAL = np.polyfit(POOL.x, POOL.y, 1)[::-1]
DIGITS = 2e-5


def table_of(name: str, task: str, **own: Any) -> pa.Table:  # noqa: ANN401
    """The table of one part of a study, for ten trajectories of seed 3."""
    (study,) = find(name)
    settings: StudySettings = type(study.presets["smoke"])(trajectories=FEW, **own)  # type: ignore[call-arg]
    assert callable(study.run)
    return study.run(settings, task, np.random.default_rng(3))


def drawn(rule: experiment.Rule) -> experiment.Experiment:
    """The same trajectories."""
    return experiment.run(rule, LinearSettings(trajectories=FEW), rng=np.random.default_rng(3))


def squared(line: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    return (y - line[0] - line[1] * x) ** 2


def fitted(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Intercept and slope of the line of least weighted squared error."""
    design = np.stack([np.ones_like(x), x], axis=1) * np.sqrt(weight)[:, None]
    line: FloatArray = np.linalg.lstsq(design, np.sqrt(weight) * y, rcond=None)[0]
    return line


def each_line(
    rule: experiment.Rule, labels: int, objective: str
) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Line, x, y and weights of R_LURE of every trajectory after so many labels."""
    result, found = drawn(rule), []
    for index, q in zip(result.draws.index, result.draws.probability, strict=True):
        x, y, chance = POOL.x[index[:labels]], POOL.y[index[:labels]], q[:labels]
        line = fitted(x, y, WEIGHTS[objective](chance, len(POOL)))
        found.append((line, x, y, lure.weights(chance, len(POOL))))
    return found


def check(curve: Curve, labels: int, values: list[float]) -> None:
    at = curve.at(labels)
    assert curve.mean[at] == pytest.approx(np.mean(values), rel=DIGITS, abs=1e-9)
    assert curve.sd[at] == pytest.approx(np.std(values, ddof=1), rel=DIGITS, abs=1e-9)
    assert curve.median[at] == pytest.approx(np.median(values), rel=DIGITS, abs=1e-9)


@pytest.mark.parametrize("objective", WEIGHTS)
@pytest.mark.parametrize("labels", [10, 40])
def test_overfitting_bias_is_the_population_risk_less_lure_on_the_training_points(
    objective: str, labels: int
) -> None:
    """B_OFB = r - R_LURE(theta*), whatever objective theta* minimises: section 7."""
    over = [
        squared(line, UNSEEN.x, UNSEEN.y).mean() - np.mean(weight * squared(line, x, y))
        for line, x, y, weight in each_line(experiment.geometric(), labels, objective)
    ]
    check(curves(table_of("linear-overfitting", "geometric"))[objective], labels, over)


@pytest.mark.parametrize("objective", WEIGHTS)
def test_the_active_learning_bias_is_the_pool_risk_less_the_estimate(objective: str) -> None:
    result, losses = drawn(experiment.geometric()), squared(IDEAL, POOL.x, POOL.y)
    errors = [
        losses.mean() - np.mean(WEIGHTS[objective](q[:30], len(POOL)) * losses[index[:30]])
        for index, q in zip(result.draws.index, result.draws.probability, strict=True)
    ]
    check(curves(table_of("linear-bias", "geometric"))[objective], 30, errors)
    if objective == "naive":
        check(curves(table_of("linear-overfitting", "geometric"))["ALB"], 30, errors)
    squares = [(error - np.mean(errors)) ** 2 * FEW / (FEW - 1) for error in errors]
    check(curves(table_of("linear-variance", "geometric"))[objective], 30, squares)


@pytest.mark.parametrize(
    ("name", "task", "rule"),
    [
        ("linear-training", "geometric", experiment.geometric()),
        ("linear-epsilon-greedy", "epsilon-greedy", experiment.greedy(0.1)),
        ("linear-epsilon-greedy", "geometric-left", experiment.geometric(over="left")),
    ],
)
def test_lines_are_tested_on_the_population(name: str, task: str, rule: experiment.Rule) -> None:
    where = {} if name == "linear-training" else {"quantity": "test MSE", "proposal": task}
    found = curves(table_of(name, task), **where)
    errors = {
        objective: [squared(line, UNSEEN.x, UNSEEN.y).mean() for line, *_ in lines]
        for objective in WEIGHTS
        for lines in [each_line(rule, 30, objective)]
    }
    for objective, own in errors.items():
        check(found[objective], 30, own)
    gains = np.subtract(errors["naive"], errors["LURE"]).tolist()
    check(found["naive - LURE"], 30, gains)


def test_the_epsilon_of_the_settings_is_the_one_that_draws() -> None:
    """The second draw takes the farthest point with probability 1 - epsilon + epsilon / 100."""
    table = table_of("linear-epsilon-greedy", "epsilon-greedy", epsilon=0.5)
    found = curves(table, proposal="epsilon-greedy", quantity="bias")["LURE"]
    result, losses = drawn(experiment.greedy(0.5)), squared(IDEAL, POOL.x, POOL.y)
    weights = [lure.weights(q[:30], len(POOL)) for q in result.draws.probability]
    errors = [
        losses.mean() - np.mean(weight * losses[index[:30]])
        for weight, index in zip(weights, result.draws.index, strict=True)
    ]
    check(found, 30, errors)


def test_the_illustration_shows_the_first_trajectory_with_its_weights_and_lines() -> None:
    rows = table_of("linear-illustration", "geometric", labels=20).to_pylist()
    result = drawn(experiment.geometric())
    index, q = result.draws.index[0, :20], result.draws.probability[0, :20]
    points = [row for row in rows if row["series"] == "drawn"]
    np.testing.assert_allclose([row["x"] for row in points], POOL.x[index], rtol=DIGITS)
    for objective, weights in WEIGHTS.items():
        expected = weights(q, len(POOL))
        np.testing.assert_allclose([row[objective] for row in points], expected, rtol=DIGITS)
    away = {
        objective: [
            np.sqrt(np.mean(squared(IDEAL - line, UNSEEN.x, 0 * UNSEEN.x)))
            for line, *_ in each_line(experiment.geometric(), 20, objective)
        ]
        for objective in WEIGHTS
    }
    for objective, own in away.items():
        (told,) = {row["distance"] for row in rows if row["series"] == objective} - {None}
        assert told == pytest.approx(own[0], rel=DIGITS)
        (nearer,) = {row["nearer"] for row in rows if row["series"] == objective} - {None}
        assert nearer == np.mean(np.less(own, away["naive"]))


def test_f_is_the_variance_of_losses_with_weights_of_mean_one() -> None:
    """F_m of appendix B.6: w_m / E[w_m] = (N - m + 1) q_uniform / q, over the points left."""
    result, losses = drawn(experiment.geometric()), squared(IDEAL, POOL.x, POOL.y)
    values = []
    for index in result.draws.index:
        left = np.setdiff1d(np.arange(len(POOL)), index[:4])
        distance = ((POOL.x[:, None] - POOL.x[index[:4]]) ** 2).sum(axis=1)
        e = np.exp((distance - distance.mean()) / distance.std())[left]
        weighted = losses[left] * e.sum() / (len(left) * e)
        values.append((e / e.sum()) @ weighted**2 - np.mean(losses[left]) ** 2)
    check(curves(table_of("linear-variance", "geometric"))["F"], 5, values)


def test_pool_and_budget_grow_together_and_errors_are_those_of_the_population() -> None:
    table = table_of("linear-consistency", "2")
    assert set(table["pool"].to_pylist()) == {202}
    assert set(table["labels"].to_pylist()) == {60}
    rng = np.random.default_rng(3)
    pools = data.sample_points((FEW, 202), rng=rng)
    best = np.polyfit(UNSEEN.x, UNSEEN.y, 1)[::-1]
    lowest = squared(best, UNSEEN.x, UNSEEN.y).mean()
    losses = squared(best, pools.x, pools.y)
    draws = experiment.draw(experiment.geometric(), pools.x, losses, 60, FEW, rng=rng)
    found = curves(table)
    for objective, weights in WEIGHTS.items():
        errors, excess = [], []
        for row, (index, q) in enumerate(zip(draws.index, draws.probability, strict=True)):
            weight = weights(q, 202)
            errors.append(lowest - np.mean(weight * losses[row, index]))
            line = fitted(pools.x[row, index], pools.y[row, index], weight)
            excess.append(squared(line, UNSEEN.x, UNSEEN.y).mean() - lowest)
        check(found[f"{objective} error"], 60, errors)
        check(found[f"{objective} squared error"], 60, np.square(errors).tolist())
        check(found[f"{objective} excess"], 60, excess)


def test_mixtures_have_the_errors_of_their_own_draws() -> None:
    rows = table_of("linear-proposals", "0.5", shares=(0.5,)).to_pylist()
    result, losses = drawn(experiment.near_optimal(0.5)), squared(IDEAL, POOL.x, POOL.y)
    for row in rows:
        weights, M = WEIGHTS[row["series"]], row["labels"]
        errors = np.array(
            [
                losses.mean() - np.mean(weights(q[:M], len(POOL)) * losses[index[:M]])
                for index, q in zip(result.draws.index, result.draws.probability, strict=True)
            ]
        )
        assert row["bias"] == pytest.approx(errors.mean(), rel=DIGITS)
        assert row["variance"] == pytest.approx(errors.var(ddof=1), rel=DIGITS)
        assert row["mse"] == pytest.approx(np.mean(errors**2), rel=DIGITS)
        assert row["largest_error"] == pytest.approx(np.abs(errors).max(), rel=DIGITS)


def test_the_first_terms_are_the_variance_over_pools_without_that_within_them() -> None:
    """Term 1 is the variance of the pools' means less what two trajectories a pool add to it."""
    P, K, M = FEW, 2, 10
    table = table_of("linear-decomposition", "geometric", per_pool=K, labels=(M,))
    rng = np.random.default_rng(3)
    pools = data.sample_points((P, 101), rng=rng)
    best = np.polyfit(UNSEEN.x, UNSEEN.y, 1)[::-1]
    losses = np.repeat(squared(best, pools.x, pools.y), K, axis=0)
    x = np.repeat(pools.x, K, axis=0)
    draws = experiment.draw(experiment.geometric(), x, losses, M, P * K, rng=rng)
    for objective, weights in WEIGHTS.items():
        found = [
            np.mean(weights(q, 101) * losses[row, index])
            for row, (index, q) in enumerate(zip(draws.index, draws.probability, strict=True))
        ]
        estimates = np.reshape(found, (P, K))
        within = estimates.var(axis=1, ddof=1).mean()
        own = {row["term"]: row["value"] for row in table.to_pylist() if row["series"] == objective}
        between = estimates.mean(axis=1).var(ddof=1)
        assert own["observed given the pool"] == pytest.approx(within, rel=DIGITS)
        assert own["1"] == pytest.approx(between - within / K, rel=DIGITS, abs=1e-9)
        if objective != "naive":
            shared = squared(best, UNSEEN.x, UNSEEN.y).var() / 101
            assert own["Var[L] / N"] == pytest.approx(shared, rel=DIGITS)
