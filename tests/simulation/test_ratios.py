"""Simulations of precision, recall and F1 in pools whose labels are known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import InputError
from levelled.simulation import METHODS, applicable_methods, known_losses, simulate
from levelled.simulation.methods import SLOW
from simulation.test_simulate import labelled, rows_of


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_linearised_values_have_mean_zero(name: str) -> None:
    known = known_losses(labelled(), "y", f"{name}:spam")
    assert known.losses.mean() == pytest.approx(0, abs=1e-12)
    A, D = known.values.sum(axis=1)
    assert known.risk == pytest.approx(A / D)


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
