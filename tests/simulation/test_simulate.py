"""Simulations of methods on data whose labels are known."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bounds import hoeffding
from levelled.backends import local
from levelled.errors import InputError, LevelledError
from levelled.estimators.moments import estimator_shares
from levelled.samplers import FrozenProposal
from levelled.simulation import (
    METHODS,
    KnownLosses,
    applicable_methods,
    known_losses,
    repeat_methods,
    simulate,
)
from levelled.simulation.campaigns import term_variances
from levelled.simulation.methods import SLOW
from levelled_studies.exact import every_path


def labelled(n: int = 400) -> pa.Table:
    """A pool whose probabilities are right, with two features, one of them of no use."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 2.0, n)
    y = np.where(rng.random(n) < p, "spam", "ham")
    columns = {"id": np.arange(n), "proba_ham": 1 - p, "proba_spam": p, "y": y}
    columns |= {"f_1": p + 0.1 * rng.normal(size=n), "f_2": rng.normal(size=n)}
    return pa.table(columns)


def rows_of(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["method"] == name]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return simulate(labelled(), "y", budgets=[30, 60], repetitions=40, seed=1)


def test_uniform_labels_have_a_label_factor_of_one(rows: list[dict[str, Any]]) -> None:
    for row in rows_of(rows, "uniform"):
        assert row["label_factor"] == pytest.approx(1, abs=1e-12)
        assert row["label_factor_se"] == pytest.approx(0, abs=1e-12)


def test_there_is_a_row_for_each_method_and_budget(rows: list[dict[str, Any]]) -> None:
    assert [(row["method"], row["budget"]) for row in rows] == [
        (name, budget) for name in METHODS if name not in SLOW for budget in (30, 60)
    ]
    for row in rows:
        assert abs(row["bias_z"]) < 6  # normal errors pass this less than once in 10**8
        assert 0.5 < row["coverage"] <= 1
        assert row["label_factor"] > 0.3
        assert row["width_factor"] > 0.3


def test_probabilities_that_are_right_make_labels_worth_more(rows: list[dict[str, Any]]) -> None:
    for name in ("static", "adaptive", "with-replacement", "ppi"):
        row = rows_of(rows, name)[-1]
        assert row["label_factor"] > 1 + 3 * row["label_factor_se"]


def test_results_depend_neither_on_the_workers_nor_on_the_other_methods() -> None:
    known = known_losses(labelled(120), "y")
    some = {name: METHODS[name] for name in ("static", "adaptive")}
    run = partial(repeat_methods, known, budgets=[20], repetitions=4, seed=5)
    together = run(some)
    assert run(some, backend=local(2)) == together
    assert run({"adaptive": METHODS["adaptive"]}) == rows_of(together, "adaptive")


def test_conditional_variances_sum_to_the_variance_of_uniform_labels() -> None:
    losses = np.array([1.0, 0.0, 2.0, 0.5, 0.0])
    even = FrozenProposal(np.arange(5), 5, np.ones(5))
    known = KnownLosses("mse", np.stack([losses, np.ones(5)]), (0, np.inf), even)
    shares = estimator_shares("lure", 5, 3)
    expected = sum(
        chance * float(shares**2 @ term_variances(known.static, losses, draws.index))
        for draws, chance in every_path(5, 3, lambda _, left: np.full(len(left), 1 / len(left)))
    )
    assert expected == pytest.approx(known.uniform_variance(3), abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "brier", "log_loss:5", "share:spam"])
def test_other_metrics_of_probabilities_have_all_methods(metric: str) -> None:
    table = simulate(labelled(150), "y", metric, budgets=[30], repetitions=4)
    assert [row["method"] for row in table] == [name for name in METHODS if name not in SLOW]


def test_numbers_are_learnt_from_features_alone() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300) * (0.2 + (x > 0))
    table = pa.table({"id": np.arange(300), "pred": x, "y": y, "f_1": (x > 0).astype(float)})
    known = known_losses(table, "y", "mse")
    assert applicable_methods(known) == ["uniform", "static", "adaptive", "with-replacement"]
    rows = simulate(table, "y", "mse", methods=["adaptive"], budgets=[60], repetitions=20)
    assert rows[0]["label_factor"] > 1 + 3 * rows[0]["label_factor_se"]


def test_coverage_counts_the_intervals_that_hold() -> None:
    repetitions = 300
    row = simulate(labelled(), "y", methods="static", budgets=[100], repetitions=repetitions)[0]
    assert row["coverage"] >= 0.95 - hoeffding(repetitions, comparisons=1, alarm=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "nothing"}, "no column 'nothing'"),
        ({"label": "gaps"}, "'gaps'.*row 0"),
        ({"label": "f_1"}, "predictions or features"),
        ({"label": "other"}, "of the classes"),
        ({"metric": "mse"}, "needs numbers"),
        ({"methods": "magic"}, "uniform"),
        ({"methods": []}, "Name a method"),
        ({"budgets": [400]}, "nothing.* 400"),
        ({"budgets": [1]}, "at least 5"),
        ({"budgets": []}, "Name a budget"),
        ({"repetitions": 1}, "at least 2"),
        ({"label": "right"}, "nothing to estimate"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    table = labelled()
    right = np.where(table["proba_spam"].to_numpy() > 0.5, "spam", "ham")
    table = table.append_column("gaps", pa.array([None] * 5 + ["ham"] * 395))
    table = table.append_column("other", pa.array(["egg"] * 400))
    table = table.append_column("right", pa.array(right))
    settings: dict[str, Any] = {"label": "y", "budgets": [20], "repetitions": 2} | changes
    with pytest.raises(LevelledError, match=message):
        simulate(table, **settings)


def test_a_pool_that_says_nothing_of_losses_has_no_adaptive_method() -> None:
    table = labelled().select(["id", "y"]).append_column("pred", pa.array(["ham"] * 400))
    assert "adaptive" not in applicable_methods(known_losses(table, "y"))
    with pytest.raises(InputError, match="something to learn"):
        simulate(table, "y", methods="adaptive", budgets=[20], repetitions=2)


def test_a_campaign_with_a_guarantee_is_simulated_if_it_is_named() -> None:
    (row,) = simulate(labelled(200), "y", methods=["guaranteed"], budgets=[40], repetitions=3)
    assert row["method"] == "guaranteed"
    assert row["width_factor"] > 0.3
