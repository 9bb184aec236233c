"""The metrics that a pool has the predictions for."""

import pyarrow as pa
import pytest

from levelled.metrics.fitting import fitting_metrics
from levelled.sources import open_pool

POOLS = {
    "probabilities": (
        {"id": [1, 2], "proba_a": [0.2, 0.7], "proba_b": [0.8, 0.3]},
        {"error", "accuracy", "log_loss", "brier", "f1:a", "share:b"},
        {"mse", "mean"},
    ),
    "certain": (
        {"id": [1, 2], "proba_a": [0.0, 1.0], "proba_b": [1.0, 0.0]},
        {"error", "brier"},
        {"log_loss"},
    ),
    "classes": (
        {"id": [1, 2], "pred": ["a", "b"]},
        {"error", "accuracy", "share:a", "f1:b"},
        {"log_loss", "mse", "mean"},
    ),
    "numbers": ({"id": [1, 2], "pred": [0.5, 1.5]}, {"mse", "mae", "mean"}, {"error", "brier"}),
    "nothing": ({"id": [1, 2], "text": ["a", "b"]}, {"mean"}, {"error", "mse"}),
}


@pytest.mark.parametrize("name", POOLS)
def test_only_metrics_that_can_be_estimated_are_named(name: str) -> None:
    columns, there, missing = POOLS[name]
    names = {*fitting_metrics(open_pool(pa.table(columns)).predictions())}
    assert there <= names
    assert not missing & names


def test_a_hundred_classes_are_not_listed_one_by_one() -> None:
    columns = {"id": [1], **{f"proba_{n}": [0.01] for n in range(100)}}
    names = fitting_metrics(open_pool(pa.table(columns)).predictions())
    assert not any(":" in name for name in names)
