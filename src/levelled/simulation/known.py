"""Data whose labels are all known: the losses, and all that a campaign would know of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.drawing import as_labels, frozen_proposal
from levelled.campaigns.driving import can_adapt, driver_of, learnt_metric, learnt_targets
from levelled.campaigns.records import CampaignSettings
from levelled.errors import InputError
from levelled.metrics.metric import Metric
from levelled.metrics.named import parse_metric
from levelled.samplers import FrozenProposal
from levelled.sources import Pool, open_pool
from levelled.surrogates import Driver

__all__ = ["KnownLosses", "known_losses"]


@dataclass(frozen=True, slots=True, eq=False)
class KnownLosses:
    """The loss of every item of a pool, and all that a campaign knows before its first label.

    `static` are the weights of a static campaign. `driver` and `targets` (what its predictor
    learns of each item) are those of an adaptive one; None where the pool has nothing to learn
    from. `expected` are the losses that the predictions alone expect, if they do.
    """

    metric: str
    losses: FloatArray
    bounds: tuple[float, float]
    static: FrozenProposal
    driver: Driver | None = None
    targets: FloatArray | None = None
    expected: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def risk(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

    @property
    def is_share(self) -> bool:
        """True for losses of 0 and 1."""
        return self.bounds == (0, 1) and bool(np.isin(self.losses, (0, 1)).all())

    def uniform_variance(self, n_labels: int) -> float:
        """The exact variance of the mean of so many random labels, without replacement."""
        N = len(self)
        return float(self.losses.var()) / n_labels * (N - n_labels) / (N - 1)


def known_losses(
    pool: Any,  # noqa: ANN401
    label: str,
    metric: str = "error",
    *,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    id_column: str = "id",
) -> KnownLosses:
    """The losses of a pool with a column of labels.

    `pool`, `metric`, `features` and `classes` are as for `create_campaign`.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1, 2], "pred": ["ham", "ham"], "y": ["ham", "spam"]})
    >>> known_losses(table, "y").losses
    array([0., 1.])
    """
    opened = open_pool(pool, classes=classes, features=features, id_column=id_column)
    chosen = parse_metric(metric)
    if chosen.kind == "ratio":
        raise InputError(
            f"{metric} is a ratio, and simulations are of averages so far: use error, accuracy, "
            f"brier, log_loss:CAP, mse, mae, mean or share:CLASS."
        )
    predictions = opened.predictions()
    chosen.require(predictions)
    settings = CampaignSettings(
        "simulation",
        (chosen,),
        None,
        "",
        len(opened),
        seed=0,
        models=opened.models or ("",),
        classes=predictions.classes,
        numeric=chosen.label_kind == "number",
    )
    labels = _labels(opened, label, chosen)
    losses = _losses(opened, settings, chosen, labels)
    driver = targets = None
    if can_adapt(chosen, predictions):
        learnt = learnt_metric(chosen, predictions)
        targets = learnt_targets(learnt, _losses(opened, settings, learnt, labels))
        driver = driver_of(opened, settings)
    return KnownLosses(
        chosen.name,
        losses,
        chosen.possible,
        frozen_proposal(opened, settings),
        driver,
        targets,
        chosen.control(predictions),
    )


def _labels(pool: Pool, column: str, metric: Metric) -> list[Any]:
    """The label of every item; a column that has another role is refused."""
    used = {"pred", "prediction", "y_pred", "score", "loss_hat", *pool.features}
    if column in used:
        raise InputError(f"The column {column!r} holds predictions or features, not labels.")
    values = pool.values(column)
    missing = [row for row, value in enumerate(values, 1) if value is None or value != value]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(values)} items have no label in the column {column!r}, the "
            f"first in row {missing[0]}. A simulation needs them all: leave those items out."
        )
    return metric.labels(values, pool.classes)


def _losses(
    pool: Pool, settings: CampaignSettings, metric: Metric, labels: Sequence[Any]
) -> FloatArray:
    predictions = pool.predictions(settings.models[0])
    pred = predictions.of(np.arange(len(pool)))
    values = metric.values(
        labels,
        None if pred is None else as_labels(pred, settings),
        predictions.proba,
        predictions.classes,
    )
    if values.losses.min() == values.losses.max():
        raise InputError(
            f"Every one of the {len(pool)} items has the loss {values.losses[0]:g}, so that there "
            f"is nothing to estimate. Are labels and predictions written the same way?"
        )
    return values.losses
