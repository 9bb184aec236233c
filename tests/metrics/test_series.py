"""Every metric refuses a pandas column whose own index has the drawn rows in another order."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from levelled import metrics
from levelled.errors import InputError
from levelled.samplers import race

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
DRAWS = race(np.ones(40), 20, seed=1)
LABELS = pd.Series(RNG.choice(["ham", "spam"], 40))
PRED = pd.Series(RNG.choice(["ham", "spam"], 40))
NUMBERS, GUESSES = pd.Series(RNG.random(40)), pd.Series(RNG.random(40))
PROBA = pd.DataFrame({"ham": NUMBERS, "spam": 1 - NUMBERS})
CLASSES = ["ham", "spam"]
LOSSES = (LABELS != PRED).astype(float)
OTHER = pd.Series(RNG.random(40) < 0.5).astype(float)
BOTH = {"labels": LABELS, "pred": PRED}
REAL = {"labels": NUMBERS, "pred": GUESSES}
PROBABILITIES = {"labels": LABELS, "proba": PROBA}

Columns = dict[str, Any]
CASES: dict[str, tuple[Columns, Columns]] = {
    "mean": ({"labels": NUMBERS}, {}),
    "share": ({"labels": LABELS}, {"of": "spam"}),
    "error": (BOTH, {}),
    "accuracy": (BOTH | {"control": NUMBERS}, {"control_mean": 0.5}),
    "log_loss": (PROBABILITIES, {"classes": CLASSES}),
    "brier": (PROBABILITIES, {"classes": CLASSES}),
    "mse": (REAL, {}),
    "mae": (REAL, {}),
    "average": (REAL, {"loss": lambda y, p: np.abs(np.subtract(y, p))}),
    "precision": (BOTH, {"positive": "spam"}),
    "recall": (BOTH, {"positive": "spam"}),
    "specificity": (BOTH, {"positive": "spam"}),
    "f1": (BOTH, {"positive": "spam"}),
    "f_beta": (BOTH, {"positive": "spam", "beta": 2.0}),
    "per_class": (BOTH, {"metric": "recall"}),
    "macro": (BOTH, {"metric": "recall"}),
    "micro": (BOTH, {"metric": "recall"}),
    "balanced_accuracy": (BOTH, {}),
    "confusion": (BOTH, {}),
    "ratio": ({"numerator": LOSSES * OTHER, "denominator": OTHER}, {}),
    "auc": ({"labels": LABELS, "scores": NUMBERS}, {"positive": "spam"}),
    "calibration": (PROBABILITIES, {"pool_proba": PROBA.to_numpy(), "classes": CLASSES}),
    "compare": ({"loss_a": LOSSES, "loss_b": OTHER}, {}),
    "compare_metric": (
        {"labels": LABELS, "pred_a": PRED, "pred_b": LABELS},
        {"metric": "recall", "positive": "spam"},
    ),
    "kappa": (BOTH, {"pool_pred": PRED.to_numpy()}),
    "correlation": (REAL, {}),
    "judge": (
        {"labels": LABELS, "verdicts": PRED},
        {"pool_verdicts": PRED.to_numpy(), "positive": "spam"},
    ),
    "by_slice": ({"losses": LOSSES, "slices": PRED}, {"pool_slices": PRED}),
    "estimate": ({"labels": LABELS, "predictions": PRED}, {"metric": "f1:spam"}),
}


def call(name: str, columns: Columns, more: Columns) -> object:
    compute: Callable[..., object] = getattr(metrics, name)
    return compute(**columns, draws=DRAWS, **more)


@pytest.mark.parametrize("name", CASES)
def test_a_column_in_another_order_than_the_draws_is_refused(name: str) -> None:
    columns, more = CASES[name]
    drawn = {key: column.loc[DRAWS.index] for key, column in columns.items()}
    arrays = {key: column.to_numpy() for key, column in drawn.items()}
    renumbered = {key: column.reset_index(drop=True) for key, column in drawn.items()}
    assert str(call(name, drawn, more)) == str(call(name, arrays, more))
    assert str(call(name, renumbered, more)) == str(call(name, arrays, more))
    for key in columns:
        with pytest.raises(InputError, match=r"order.*\.loc\[index\]"):
            call(name, drawn | {key: drawn[key].sort_index()}, more)


def test_losses_of_several_models_are_looked_at_too() -> None:
    losses = {"v1": LOSSES.loc[DRAWS.index], "v2": OTHER.loc[np.sort(DRAWS.index)]}
    with pytest.raises(InputError, match="losses of v2"):
        metrics.compare_all(losses, DRAWS)


def test_no_metric_is_left_out() -> None:
    takes_draws = {
        name
        for name in metrics.__all__
        if inspect.isfunction(value := getattr(metrics, name))
        and "draws" in inspect.signature(value).parameters
    }
    assert takes_draws == {*CASES, "compare_all", "estimate"}


def test_an_index_that_is_not_of_rows_is_nothing_to_judge_by() -> None:
    values = LOSSES.loc[DRAWS.index].to_numpy()
    for index in ([f"r{i}" for i in range(20)], [*"ab", *range(18)], np.arange(100, 120)):
        shown = metrics.mean(pd.Series(values, index=index), DRAWS)
        assert shown == metrics.mean(values, DRAWS)
