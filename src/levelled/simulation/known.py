"""Data whose labels are all known: the losses, and all that a campaign would know of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.campaigns.drawing.drawing import (
    frozen_proposal,
    learnt_metric,
    learnt_targets,
    make_driver,
)
from levelled.campaigns.drawing.pools import as_labels, can_adapt, fitting_model_first
from levelled.campaigns.settings import CampaignSettings
from levelled.campaigns.trust import approve_named
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate
from levelled.labels import Id, Label, are_truth_values, match_classes
from levelled.metrics.classification import pairs_of, terms
from levelled.metrics.named import ERROR, ClassRatio, Metric, parse_metric
from levelled.metrics.predicted import COLUMNS, predicted_ratio_estimate
from levelled.metrics.ratios import Look, ratio_estimate
from levelled.predictions import PoolPredictions
from levelled.samplers import FrozenProposal
from levelled.sources import Pool, open_pool
from levelled.sources.pool import with_lengths
from levelled.surrogates import Driver


@dataclass(frozen=True, slots=True, eq=False)
class KnownRatio:
    """Precision, recall or F1 of a class; one value for each item of the pool.

    `positive` is 1 where the label is the class, `predicted` where the prediction is. `chance` is
    the chance that the predictions alone give to the class, if they do.
    """

    metric: ClassRatio
    positive: FloatArray
    predicted: FloatArray
    chance: FloatArray | None = None

    @property
    def value(self) -> float:
        """The ratio theta."""
        A, D = self.pairs(self.positive)
        return float(A.sum() / D.sum())

    @property
    def denominator_mean(self) -> float:
        """The pool mean of D."""
        return float(self.pairs(self.positive)[1].mean())

    def pairs(
        self, chance: FloatArray, rows: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """A and D of some items, or of all, from the chance (or the label) of each of them."""
        predicted = self.predicted if rows is None else self.predicted[rows]
        return terms(self.metric.ratio, chance, predicted, 1.0)

    def linearise(self, chance: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Values whose estimated mean is the error of the estimated ratio, to first order.

            (A - theta D) / Dbar,    Dbar the pool mean of D

        Their mean over the pool is 0.

        >>> import numpy as np
        >>> from levelled.metrics.named import parse_metric
        >>> y, p = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
        >>> KnownRatio(parse_metric("recall:spam"), y, p).linearise(y)
        array([ 1., -1.,  0.,  0.])
        """
        A, D = self.pairs(chance, rows)
        return (A - self.value * D) / self.denominator_mean

    def estimate(self, draws: Draws, level: float) -> Estimate:
        """The estimate of a campaign, with the predictor behind its draws if there is one."""
        predicted = self.predicted[draws.index]
        pairs = pairs_of(
            self.metric.ratio,
            self.metric.positive,
            self.positive[draws.index],
            predicted,
            draws.pool_size,
            int(self.predicted.sum()),
        )
        look = Look(draws, level, "auto")
        if set(COLUMNS) <= set(draws.design or {}):
            return predicted_ratio_estimate(pairs, predicted > 0, look)
        return ratio_estimate(pairs, look)


@dataclass(frozen=True, slots=True, eq=False)
class KnownLosses:
    """The loss of every item of a pool, and all that a campaign knows before its first label.

    `static` are the weights of a static campaign. `driver` and `targets` (what its predictor
    learns of each item) are those of an adaptive one; None where the pool has nothing to learn
    from. `expected` are the losses that the predictions alone expect, if they do. The losses of a
    `ratio` are its linearised values.
    """

    metric: str
    losses: FloatArray
    bounds: tuple[float, float]
    static: FrozenProposal
    driver: Driver | None = None
    targets: FloatArray | None = None
    expected: FloatArray | None = None
    ratio: KnownRatio | None = None

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def risk(self) -> float:
        """The mean loss, or the ratio."""
        return float(self.losses.mean()) if self.ratio is None else self.ratio.value

    @property
    def is_share(self) -> bool:
        """True for losses of 0 and 1."""
        is_average = self.ratio is None and self.bounds == (0, 1)
        return is_average and bool(np.isin(self.losses, (0, 1)).all())

    def values(self, rows: IntArray) -> tuple[FloatArray, ...]:
        """The losses of some items, or of a ratio their numerators and denominators."""
        if self.ratio is None:
            return (self.losses[rows],)
        return self.ratio.pairs(self.ratio.positive[rows], rows)

    @property
    def expected_values(self) -> tuple[FloatArray, ...] | None:
        """The `values` of all items that the predictions alone expect, if they do."""
        if self.ratio is None or self.ratio.chance is None:
            return None if self.expected is None else (self.expected,)
        return self.ratio.pairs(self.ratio.chance)

    def estimate(self, draws: Draws, estimator: str, level: float) -> Estimate:
        """The estimate that a campaign shows after these draws, at a look of this level."""
        if self.ratio is not None:
            return self.ratio.estimate(draws, level)
        losses = self.losses[draws.index]
        return estimate(losses, draws, estimator, level=level, bounds=self.bounds)

    def with_control(self, frozen: FrozenProposal) -> FrozenProposal:
        """A proposal of the driver, with what its predictor expects of `losses`."""
        if self.ratio is None:
            return frozen
        chance, control = frozen.positive, None
        if chance is not None:
            control = self.ratio.linearise(chance.chance, frozen.rows)
        return replace(frozen, control=control, bound=None)

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
    without: Sequence[Id] = (),
) -> KnownLosses:
    """The losses of a pool with a column of labels.

    Parameters
    ----------
    pool, metric, features, classes, id_column : As for `create_campaign`.
    label : The column of the labels.
    without : Ids of items to leave out.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1, 2], "pred": ["ham", "ham"], "y": ["ham", "spam"]})
    >>> known_losses(table, "y").losses
    array([0., 1.])
    """
    opened = open_pool(pool, classes=classes, features=features, id_column=id_column)
    opened = opened if features is not None else with_lengths(opened, without=[label])
    chosen = parse_metric(metric)
    approve_named([metric])
    models = fitting_model_first(opened, chosen)
    rows = np.delete(np.arange(len(opened)), opened.rows_of([*without]))
    whole = len(rows) == len(opened)
    predictions = opened.predictions(models[0]) if whole else opened.predictions_at(rows, models[0])
    chosen.require(predictions)
    settings = CampaignSettings(
        "simulation",
        (chosen.name,),
        None,
        "",
        len(rows),
        seed=0,
        models=models,
        classes=opened.classes,
        numeric=chosen.label_kind == "number",
    )
    every = _labels(opened, label, chosen)
    labels = [every[row] for row in rows.tolist()]
    if opened.classes is None and chosen.label_kind == "class":
        names = [*opened.pred_counts(models[0])]
        labels = match_classes(labels, names, is_open=not are_truth_values(names))
    own = predictions.of(np.arange(len(rows)))
    pred = None if own is None else as_labels(own, settings)
    driver = targets = None
    if can_adapt(chosen, predictions):
        learnt = learnt_metric(chosen, predictions)
        targets = learnt_targets(learnt, _losses(learnt, labels, pred, predictions))
        driver = make_driver(settings, len(rows), lambda: [predictions])
    if isinstance(chosen, ClassRatio):
        ratio = _ratio(chosen, labels, pred or (), ERROR.control(predictions), driver)
        losses = ratio.linearise(ratio.positive)
        expected = None if ratio.chance is None else ratio.linearise(ratio.chance)
    else:
        ratio, losses = None, _losses(chosen, labels, pred, predictions)
        expected = chosen.control(predictions)
    return KnownLosses(
        chosen.name,
        losses,
        chosen.possible,
        frozen_proposal(lambda: [predictions], settings).whole(),
        driver,
        targets,
        expected,
        ratio,
    )


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


def _losses(
    metric: Metric,
    labels: Sequence[Any],
    pred: Sequence[Label] | None,
    predictions: PoolPredictions,
) -> FloatArray:
    losses = metric.values(labels, pred, predictions.proba, predictions.classes).losses
    if losses.min() == losses.max():
        raise InputError(
            f"Every one of the {len(losses)} items has the loss {losses[0]:g}, so that there is "
            f"nothing to estimate. Are labels and predictions written the same way?"
        )
    return losses


def _ratio(
    metric: ClassRatio,
    labels: Sequence[Any],
    pred: Sequence[Label],
    expected: FloatArray | None,
    driver: Driver | None,
) -> KnownRatio:
    """The ratio of a class; refuses one that is undefined, or the same whatever is labelled.

    `expected` are the errors that the predictions alone expect, if they do.
    """
    positive, predicted = (
        np.array([one == metric.positive for one in column], dtype=np.float64)
        for column in (labels, pred)
    )
    chance, N = None, len(labels)
    if expected is not None and driver is not None and driver.first.positive is not None:
        chance = driver.first.positive.chance(expected, np.arange(N)).chance
    ratio = KnownRatio(metric, positive, predicted, chance)
    if not ratio.denominator_mean:
        raise InputError(
            f"{metric.name} is undefined: none of the {N} items has what it divides by, a "
            f"label or a prediction {metric.positive!r}. Is the class written as in the pool?"
        )
    if ratio.value in (0, 1):
        raise InputError(
            f"{metric.name} of these {N} items is exactly {ratio.value:g}, so there is "
            f"nothing to estimate. Are labels and predictions written the same way?"
        )
    return ratio
