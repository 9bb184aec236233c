"""Data whose labels are all known: the losses, and all that a campaign would know of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.drawing.drawing import frozen_proposal
from levelled.campaigns.drawing.pools import can_adapt, fitting_model_first
from levelled.campaigns.settings import Versions
from levelled.errors import InputError, LevelledError
from levelled.labels import Id
from levelled.metrics.named import RATIOS, ClassRatio, Metric, parse_metric
from levelled.predictions import PoolPredictions
from levelled.samplers import FrozenProposal
from levelled.simulation.campaigns import KnownCampaign
from levelled.sources import Pool, open_pool
from levelled.sources.pool import with_lengths

_CAMPAIGNS: dict[str, dict[str, Any]] = {
    "uniform": {"kind": "uniform", "versions": Versions()},  # random labels and nothing else
    "static": {"kind": "static"},
    "adaptive": {"kind": "adaptive"},
    "guaranteed": {"kind": "adaptive", "guarantee": "finite"},
}
"""The settings of the campaigns that are simulated."""


class ClassColumns(NamedTuple):
    """The class of a precision, recall or F1: 1 where the label is it, 1 where the prediction is.

    `chance` is what the predictions alone give to the class.
    """

    ratio: str
    positive: FloatArray
    predicted: FloatArray
    chance: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class KnownLosses:
    """The losses of every item of a pool, and all that a campaign knows before its first label.

    `values` [2, N] are the losses and ones, or numerators and denominators of a ratio, and
    `expected_values` the same as the predictions alone expect them, if they do. `static` are the
    weights of a static campaign. Without a `campaign` only methods that need none can be simulated.
    """

    metric: str
    values: FloatArray
    bounds: tuple[float, float]
    static: FrozenProposal
    expected_values: FloatArray | None = None
    campaign: KnownCampaign | None = None
    can_adapt: bool = False
    is_ratio: bool = False
    of_class: ClassColumns | None = None

    def __len__(self) -> int:
        return self.values.shape[1]

    @property
    def risk(self) -> float:
        """The mean loss, or the ratio."""
        A, D = self.values.sum(axis=1).tolist()
        return float(A / D)

    @property
    def losses(self) -> FloatArray:
        """The losses; of a ratio its linearised values, whose mean is 0."""
        return self.linearise(self.values)

    @property
    def expected(self) -> FloatArray | None:
        """The losses that the predictions alone expect, if they do."""
        return None if self.expected_values is None else self.linearise(self.expected_values)

    def linearise(self, values: FloatArray) -> FloatArray:
        """Values whose estimated mean is the error of the estimated ratio, to first order.

            (A - theta D) / Dbar,    Dbar the pool mean of D

        Of an average they are the losses.
        """
        if not self.is_ratio:
            return values[0]
        return np.asarray((values[0] - self.risk * values[1]) / self.values[1].mean())

    @property
    def is_share(self) -> bool:
        """True for losses of 0 and 1."""
        is_average = not self.is_ratio and self.bounds == (0, 1)
        return is_average and bool(np.isin(self.values[0], (0, 1)).all())

    def campaign_of(self, name: str) -> KnownCampaign:
        """The campaign of a method; refuses one that the pool has nothing to learn for."""
        settings = _CAMPAIGNS[name]
        if self.campaign is None or (settings["kind"] == "adaptive" and not self.can_adapt):
            raise InputError(
                f"The methods adaptive and guaranteed need something to learn the {self.metric} "
                f"from: columns proba_<class>, surrogate_<class>, loss_hat, or features (f_*, "
                f"embedding)."
            )
        return self.campaign.changed(**settings)

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
    known: Sequence[Id] = (),
) -> KnownLosses:
    """The losses of a pool with a column of labels.

    Parameters
    ----------
    pool, metric, features, classes, id_column : As for `create_campaign`.
    label : The column of the labels.
    known : Ids of items whose labels are known before the campaign.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1, 2], "pred": ["ham", "ham"], "y": ["ham", "spam"]})
    >>> known_losses(table, "y").losses
    array([0., 1.])
    """
    opened = open_pool(pool, classes=classes, features=features, id_column=id_column)
    opened = opened if features is not None else with_lengths(opened, without=[label])
    chosen = parse_metric(metric)
    chosen.require(opened.predictions_at([0], fitting_model_first(opened, chosen)[0]))
    told, rows = _labels(opened, label, chosen), opened.rows_of([*known]).tolist()
    campaign = _make_campaign(opened, told, metric, rows)
    settings, predictions = campaign.settings, campaign.predictions("")
    A, D = campaign.values(chosen, "")
    values, is_ratio = np.stack([A, D]), chosen.kind == "ratio"
    _refuse_constant(chosen, values)
    of_class = _class_columns(chosen, campaign.labels, predictions)
    return KnownLosses(
        chosen.name,
        values,
        chosen.possible,
        frozen_proposal(lambda: [predictions], settings).whole(),
        _expected(chosen, predictions, of_class),
        campaign,
        can_adapt(chosen, predictions),
        is_ratio,
        of_class,
    )


def _make_campaign(
    pool: Pool, labels: Sequence[Any], metric: str, known: Sequence[int]
) -> KnownCampaign:
    """The campaign with the classes that are predicted, or with any where there are others."""
    try:
        return KnownCampaign.of(pool, labels, metric, known=known)
    except LevelledError:
        if pool.classes is not None:
            raise
    return KnownCampaign.of(pool, labels, metric, known=known, open_classes=True)


def _labels(pool: Pool, column: str, metric: Metric) -> list[Any]:
    """The label of every item; a column that has another role is refused."""
    used = {"pred", "prediction", "y_pred", "score", "loss_hat", *pool.features}
    if column in used:
        raise InputError(f"The column {column!r} holds predictions or features, not labels.")
    values = pool.values(column)
    missing = [row for row, value in enumerate(values) if value is None or value != value]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(values)} items have no label in the column {column!r}, the "
            f"first in row {missing[0]} (counted from 0). A simulation needs them all: leave those "
            f"items out."
        )
    return metric.labels(values, pool.classes)


def _refuse_constant(metric: Metric, values: FloatArray) -> None:
    """Refuse a figure that is undefined, or the same whatever is labelled."""
    (A, D), N = values, values.shape[1]
    if metric.kind == "average" and A.min() == A.max():
        raise InputError(
            f"Every one of the {N} items has the loss {A[0]:g}, so that there is nothing to "
            f"estimate. Are labels and predictions written the same way?"
        )
    if not D.any():
        raise InputError(
            f"{metric.name} is undefined: none of the {N} items has what it divides by, a "
            f"label or a prediction {metric.positive!r}. Is the class written as in the pool?"
        )
    if metric.kind == "ratio" and A.sum() / D.sum() in (0, 1):
        raise InputError(
            f"{metric.name} of these {N} items is exactly {A.sum() / D.sum():g}, so there is "
            f"nothing to estimate. Are labels and predictions written the same way?"
        )


def _class_columns(
    metric: Metric, labels: Sequence[Any], predictions: PoolPredictions
) -> ClassColumns | None:
    """The class of a ratio, if the predictions give it a chance."""
    chance, classes = predictions.label_proba, predictions.classes or ()
    if not isinstance(metric, ClassRatio) or chance is None or metric.positive not in classes:
        return None
    at = classes.index(metric.positive)
    return ClassColumns(
        metric.ratio,
        np.array([one == metric.positive for one in labels], dtype=np.float64),
        (np.asarray(predictions.class_index) == at).astype(np.float64),
        np.asarray(chance, dtype=np.float64)[:, at],
    )


def _expected(
    metric: Metric, predictions: PoolPredictions, of_class: ClassColumns | None
) -> FloatArray | None:
    """Losses and ones, or numerators and denominators, as the predictions alone expect them."""
    if metric.kind == "average":
        losses = metric.control(predictions)
        return None if losses is None else np.stack([losses, np.ones(len(losses))])
    if of_class is None:
        return None
    columns = RATIOS[of_class.ratio].columns
    return np.stack(columns(of_class.chance, of_class.predicted, 1.0))
