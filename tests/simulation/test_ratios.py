"""Simulations of precision, recall and F1 in pools whose labels are known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from campaigns.simulated import label, spam
from levelled.campaigns import create_campaign
from levelled.campaigns.figures.settled import settled_draws
from levelled.errors import InputError
from levelled.metrics.named import ClassRatio, parse_metric
from levelled.samplers import ClassChance, FrozenProposal
from levelled.simulation import METHODS, applicable_methods, known_losses, simulate
from levelled.simulation.known import KnownRatio
from levelled.simulation.methods import SLOW, Trajectory, draw_in_rounds, term_variances
from levelled_studies.exact import every_path
from simulation.test_simulate import labelled, rows_of

Y = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
P = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
H = np.array([0.9, 0.4, 0.7, 0.8, 0.1])
NAMES = ("precision", "recall", "f1")


def ratio_of(name: str) -> KnownRatio:
    metric = parse_metric(f"{name}:spam")
    assert isinstance(metric, ClassRatio)
    return KnownRatio(metric, Y, P)


@pytest.mark.parametrize(
    ("name", "value"), [("precision", 2 / 3), ("recall", 2 / 3), ("f1", 2 / 3)]
)
def test_linearised_values_have_mean_zero(name: str, value: float) -> None:
    ratio = ratio_of(name)
    assert ratio.value == pytest.approx(value)
    assert ratio.linearise(Y).mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("controlled", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_linear_error_is_unbiased_and_its_variance_exact(name: str, controlled: bool) -> None:
    ratio = ratio_of(name)
    losses, rows = ratio.linearise(Y), np.arange(5)
    control = ratio.linearise(H) if controlled else None
    frozen = FrozenProposal(rows, 5, np.array([1.0, 2.0, 1.5, 0.5, 1.0]), control)
    estimator, weights = "ramped" if controlled else "lure", frozen.weights
    mean = square = variance = 0.0
    for draws, chance in every_path(5, 3, lambda _, left: weights[left] / weights[left].sum()):
        fixed = frozen.fixed(draws.index)
        path = Trajectory(fixed, term_variances(frozen, losses, fixed.index))
        error = path.mean(losses, estimator, 3)
        mean, square = mean + chance * error, square + chance * error**2
        variance += chance * path.variance(estimator, 3)
    assert mean == pytest.approx(0, abs=1e-12)
    assert variance == pytest.approx(square, abs=1e-12)


@pytest.mark.parametrize("kind", ["adaptive", "static", "uniform"])
@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_that_of_a_campaign(tmp_path: Path, name: str, kind: str) -> None:
    table, truth = spam(200, seed=4)
    campaign = create_campaign(
        "spam", table, f"{name}:spam", kind=kind, budget=60, storage=tmp_path / "c.db", seed=5
    )
    label(campaign, 60, truth)
    shown = campaign.estimate()[0].estimate
    y = pa.array([truth[one] for one in table["id"].to_pylist()])
    known = known_losses(table.append_column("y", y), "y", f"{name}:spam")
    (*_, look) = campaign.state.settings.looks
    est = known.estimate(settled_draws(campaign.state).draws, "ramped", 1 - look.alpha)
    assert est.estimator == ("ramped" if kind == "adaptive" else "lure")
    assert est.value == pytest.approx(shown.value, abs=1e-12)
    # betting between the looks may cut the interval that a campaign shows
    assert est.low - 1e-12 <= shown.low < shown.high <= est.high + 1e-12


@pytest.fixture(scope="module", params=["f1:spam", "recall:spam"])
def rows(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return simulate(labelled(), "y", request.param, budgets=[40, 80], repetitions=12, seed=1)


def test_all_methods_simulate_a_ratio(rows: list[dict[str, Any]]) -> None:
    assert [(row["method"], row["budget"]) for row in rows] == [
        (name, budget) for name in METHODS if name not in SLOW for budget in (40, 80)
    ]
    for row in rows:
        assert abs(row["bias_z"]) < 6  # normal errors pass this less than once in 10**8
        assert 0.5 < row["coverage"] <= 1
        assert row["width_factor"] > 0.2
        assert row["label_factor"] > 0.2
        assert row["label_factor_mse"] > 0.1


def test_random_labels_are_the_measure(rows: list[dict[str, Any]]) -> None:
    for row in rows_of(rows, "uniform"):
        factors = [row[key] for key in ("label_factor", "label_factor_mse", "width_factor")]
        assert factors == pytest.approx([1, 1, 1], abs=1e-12)
        assert row["label_factor_se"] == pytest.approx(0, abs=1e-12)
        assert row["label_factor_mse_se"] == pytest.approx(0, abs=1e-12)


def test_an_adaptive_campaign_saves_labels(rows: list[dict[str, Any]]) -> None:
    for row in rows_of(rows, "adaptive"):
        assert row["label_factor"] > 1 + 3 * row["label_factor_se"]


def test_precision_has_all_methods_too() -> None:
    table = simulate(labelled(200), "y", "precision:spam", budgets=[40], repetitions=3)
    assert [row["method"] for row in table] == [name for name in METHODS if name not in SLOW]


def test_the_variance_is_that_of_the_estimator_that_is_shown() -> None:
    known = known_losses(labelled(), "y", "recall:spam")
    path = draw_in_rounds(known, 40, np.random.default_rng(0))
    assert path.plain is not None
    assert path.variance("ramped", 40) < path.variance("lure", 40)
    bare = replace(path, variances=path.plain, plain=None)
    assert bare.variance("lure", 40) == path.variance("lure", 40)


def test_a_class_that_is_rarely_seen_has_no_squared_errors() -> None:
    table = labelled(1000)
    order = np.argsort(table["proba_spam"].to_numpy())
    y = np.full(1000, "ham", dtype="<U4")
    y[[*order[:3], *order[-3:]]] = "spam"
    table = table.set_column(table.column_names.index("y"), "y", pa.array(y.tolist()))
    (row,) = simulate(table, "y", "recall:spam", methods="static", budgets=[20], repetitions=20)
    assert row["label_factor_mse"] is row["label_factor_mse_se"] is None
    assert row["label_factor"] > 0
    assert row["coverage"] == 1  # the interval is what is possible while nothing is known


def test_predictions_alone_leave_out_the_methods_that_expect_a_class() -> None:
    table = labelled(200).select(["id", "y", "f_1"])
    pred = np.where(labelled(200)["proba_spam"].to_numpy() > 0.5, "spam", "ham")
    known = known_losses(table.append_column("pred", pa.array(pred)), "y", "f1:spam")
    assert applicable_methods(known) == ["uniform", "static", "adaptive", "with-replacement"]
    assert known.expected_values is None


def test_numbers_as_classes_are_simulated_without_a_predicted_class() -> None:
    """The pool does not say which numbers are classes, so that campaigns estimate by weights."""
    p = labelled(200)["proba_spam"].to_numpy()
    y = (labelled(200)["y"].to_numpy(zero_copy_only=False) == "spam").astype(int)
    table = pa.table({"id": range(200), "pred": (p > 0.5).astype(int), "y": y, "f_1": p})
    (row,) = simulate(table, "y", "f1:1", methods="adaptive", budgets=[40], repetitions=5)
    assert row["label_factor"] > 0.3


def perfect(table: pa.Table) -> pa.Table:
    right = np.where(table["proba_spam"].to_numpy() > 0.5, "spam", "ham")
    return table.set_column(table.column_names.index("y"), "y", pa.array(right))


@pytest.mark.parametrize(
    ("metric", "change", "methods", "message"),
    [
        ("f1:egg", lambda table: table, "all", "egg"),
        ("f1:spam", perfect, "all", "nothing to estimate"),
        ("f1:spam", lambda table: table, ["guaranteed"], "guarantee.*errors"),
        ("recall", lambda table: table, "all", "recall"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    metric: str, change: Callable[[pa.Table], pa.Table], methods: str | list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        simulate(change(labelled(100)), "y", metric, methods=methods, budgets=[20], repetitions=2)


def test_a_class_that_is_nowhere_is_refused() -> None:
    table = pa.table({"id": range(50), "pred": ["a", "b"] * 25, "y": ["a"] * 50})
    with pytest.raises(InputError, match=r"f1:c.*undefined.* 50 "):
        known_losses(table, "y", "f1:c")


def test_a_chance_gives_the_control_of_a_proposal() -> None:
    known = known_losses(labelled(100), "y", "f1:spam")
    assert known.driver is not None
    assert known.ratio is not None
    frozen = known.driver.proposal(known.driver.first_predictor, np.arange(3), 0.5).whole()
    assert isinstance(frozen.positive, ClassChance)
    control = known.with_control(frozen).control
    assert control is not None
    expected = known.ratio.linearise(frozen.positive.chance, frozen.rows)
    assert control.tolist() == expected.tolist()
