"""The driver of an adaptive campaign, made from its pool, and the rounds that it begins.

A large pool is read a run of rows at a time, and each run has a driver of its own. All are on the
scale of the whole pool, which a pass finds out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.campaigns.drawing.derived import is_judged
from levelled.campaigns.drawing.driving import (
    driving_loss,
    is_predicted,
    learnt_metric,
    learnt_targets,
    positive_class,
    unit_of,
    worth_of,
)
from levelled.campaigns.drawing.verdicts import only_verdicts, with_chances
from levelled.campaigns.figures.settled import settled_draws
from levelled.campaigns.log.records import Round
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.estimators.lure import ranked_weights
from levelled.losses import Reals, expected
from levelled.metrics.named import ERROR, ClassRatio, Metric, ProbabilityLosses, Share
from levelled.predictions import Categorical, PoolPredictions
from levelled.scores import root_mean_squared_loss
from levelled.sources import Pool
from levelled.surrogates import (
    AverageAim,
    ClassShare,
    Covariates,
    Driver,
    LearntClass,
    LossPredictor,
    RatioAim,
    Reduction,
    RunDriver,
    Scaling,
    ScoreColumns,
)
from levelled.surrogates.balance import Aim
from levelled.surrogates.proposal import GUARANTEED_FLOOR

_UNKNOWN = 0.1
"""The expected loss where nothing in the pool says more, as a share of the largest."""
_RARE = 1e-6
"""Added to the probability of each wrong class, so that their sum is never 0."""
_DRIVERS: WeakKeyDictionary[Pool, dict[object, Driver | RunDriver]] = WeakKeyDictionary()


def driver_of(pool: Pool, settings: CampaignSettings) -> Driver | RunDriver:
    """The driver of a campaign: the loss of its first metric and model.

    It is kept for as long as the pool, because a large one takes a while. Verdicts without
    probabilities, and the balance of several metrics, need a pool that is held in memory.
    """
    metric, model, positive = settings.metrics[0], settings.models[0], positive_class(settings)
    balanced = settings.metrics if settings.drive == "worst" else ()
    drivers, key = _DRIVERS.setdefault(pool, {}), (metric, model, positive, balanced)
    if key not in drivers:
        if pool.in_runs and not is_judged(pool, model, metric) and not balanced:
            # By a proxy, since drivers are kept for as long as their pool.
            drivers[key] = _run_driver(proxy(pool), _Maker(metric, positive), model)
        else:
            drivers[key] = whole_driver(pool, settings)
    return drivers[key]


def whole_driver(pool: Pool, settings: CampaignSettings) -> Driver:
    """The driver of a pool that is held in memory."""
    metric, positive = settings.metrics[0], positive_class(settings)
    predictions = pool.predictions(settings.models[0])
    judged = only_verdicts(metric, predictions)
    predictions = with_chances(predictions) if judged else predictions
    maker = _Maker(metric, positive, judged)
    features = _features(predictions)
    reduction = None if features is None else Reduction.of([features], len(features))
    columns = maker.columns(predictions, reduction)
    scaling = Scaling.of(lambda: [columns], len(pool), maker.is_bounded(predictions), judged)
    balanced = settings.metrics if settings.drive == "worst" else ()
    aims = (_aim(one, is_predicted(one, settings), predictions) for one in balanced)
    return replace(maker.driver(predictions, columns, scaling), aims=tuple(aims))


def _run_driver(pool: Pool, maker: "_Maker", model: str) -> RunDriver:
    """The driver of a pool that is read in runs: a pass finds its scale, one more its features."""
    first, size, reduction = pool.predictions_at([0], model), len(pool), None
    if _features(first) is not None:
        features = (X for X in map(_features, pool.runs(model)) if X is not None)
        reduction = Reduction.of(features, size)

    def columns() -> Iterator[ScoreColumns]:
        return (maker.columns(run, reduction) for run in pool.runs(model))

    scaling = Scaling.of(columns, size, maker.is_bounded(first), from_verdicts=False)

    def driver(run: PoolPredictions) -> Driver:
        return maker.driver(run, maker.columns(run, reduction), scaling)

    return RunDriver(
        size,
        lambda: map(driver, pool.runs(model)),
        lambda rows: driver(pool.predictions_at(rows, model)),
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the driver of a pool, or of a run of its rows, from predictions."""

    metric: Metric
    positive: str | None
    judged: bool = False

    def is_bounded(self, predictions: PoolPredictions) -> bool:
        """True if what the predictor learns has an upper bound."""
        return bool(np.isfinite(learnt_metric(self.metric, predictions).possible[1]))

    def columns(self, predictions: PoolPredictions, reduction: Reduction | None) -> ScoreColumns:
        """The expected losses of items, with their features and predicted classes."""
        learnt = learnt_metric(self.metric, predictions)
        lowest, width = unit_of(learnt)

        def predicted(of: PoolPredictions) -> FloatArray | None:
            values = learnt.control(of)
            return None if values is None else np.maximum(values - lowest, 0) / width

        own = predicted(replace(predictions, surrogate=None, loss_hat=None))
        has_second = predictions.surrogate is not None or predictions.loss_hat is not None
        second = predicted(predictions) if has_second else None
        either = own if own is not None else second
        features, groups = _features(predictions), predictions.class_index
        alike = self.judged and len(predictions.classes or ()) == 2
        return ScoreColumns(
            np.full(predictions.pool_size, _UNKNOWN) if either is None else either,
            second,
            None if features is None or reduction is None else reduction.apply(features),
            None if groups is None or alike else groups.astype(np.int64),
        )

    def driver(
        self, predictions: PoolPredictions, columns: ScoreColumns, scaling: Scaling
    ) -> Driver:
        """The driver of items, on the scale of their pool."""
        covariates, driving = Covariates.scaled(columns, scaling), driving_loss(self.metric)
        share: ClassShare | LearntClass | None = _class_share(self.positive, predictions)
        if share is not None and isinstance(self.metric, Share):
            share = LearntClass(share.predicted)
        bound = driving.possible[1]
        largest = float(bound) if np.isfinite(bound) else None
        learnt = learnt_metric(self.metric, predictions)
        if learnt is ERROR and driving is not ERROR:
            base, effect, noise = _given_error(driving, predictions)
            return Driver(covariates, base, effect, largest, share, noise)
        return Driver(covariates, *unit_of(learnt), largest, share)


def _features(predictions: PoolPredictions) -> FloatArray | None:
    """The features of the items, with their gaps, and the interest that the pool file gives."""
    columns = [] if predictions.features is None else [predictions.features]
    if predictions.score is not None:
        columns.append(np.asarray(predictions.score, dtype=np.float64)[:, None])
    if not columns:
        return None
    return np.asarray(columns[0] if len(columns) == 1 else np.hstack(columns), dtype=np.float64)


def _aim(metric: Metric, has_control: bool, predictions: PoolPredictions) -> Aim:
    """A metric that the draws are to serve, as it follows from errors."""
    share = _class_share(metric.positive, predictions)
    if isinstance(metric, ClassRatio) and share is not None:
        outcomes = [of_part for _, of_part in metric.pairs([], [], 1, {}).unseen]
        return RatioAim(share, np.array(outcomes), has_control)
    if isinstance(metric, ProbabilityLosses):
        return AverageAim(*_given_error(metric, predictions), has_control)
    return AverageAim(0.0, 1.0, 0.0, has_control)


def begin_round(pool: Pool, state: CampaignState) -> Round:
    """The next round of a campaign, with a predictor fitted to all labels that are in."""
    settings, first = state.settings, len(state.draws) + 1
    if settings.kind != "adaptive":
        return Round(first, None, 1.0 if settings.kind == "uniform" else settings.floor)
    driver = driver_of(pool, settings)
    learnt = learnt_metric(settings.metrics[0], pool.predictions_at([0], settings.models[0]))
    base = settled_draws(state, len(state.draws))
    losses, _ = base.losses(learnt, settings.models[0])
    targets = learnt_targets(learnt, losses)[base.labelable]
    weights = ranked_weights(base.draws.probability, settings.pool_size)[base.labelable]
    earlier = next((one.predictor for one in reversed(state.rounds) if one.predictor), None)
    before = None if earlier is None else LossPredictor.from_json(earlier)
    predictor = driver.fit(base.draws.index[base.labelable], targets, weights, before)
    floor = GUARANTEED_FLOOR if settings.is_finite else driver.floor(targets)
    drawn = np.array([item.row for item in state.draws], dtype=np.int64)
    return Round(first, predictor.to_json(), floor, driver.shares(predictor, drawn, floor))


def _given_error(
    metric: Metric, predictions: PoolPredictions
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The loss of each item if its predicted class is right, how much more if it is wrong, and
    the variance if it is wrong.

    Of the wrong classes each is as likely as the model says.
    """
    at, worth = np.asarray(predictions.class_index), worth_of(metric, predictions)
    if worth is not None and predictions.label_proba is not None:
        others = _if_wrong(predictions.label_proba, at)
        mean = others @ worth
        return worth[at], mean - worth[at], np.maximum(others @ worth**2 - mean**2, 0)
    p, loss = np.asarray(predictions.proba), metric.loss or "zero_one"
    is_right = np.zeros(p.shape)
    np.put_along_axis(is_right, at[:, None], 1.0, axis=1)
    others = _if_wrong(p, at)
    right, wrong = (expected(p, q, loss=loss, cap=metric.cap) for q in (is_right, others))
    squared = root_mean_squared_loss(p, others, loss=loss, cap=metric.cap) ** 2
    return right, wrong - right, np.maximum(squared - wrong**2, 0)


def _if_wrong(proba: Reals, predicted: NDArray[np.integer[Any]]) -> FloatArray:
    """The probability of each class if the predicted one is wrong: as the model says."""
    others = proba.astype(np.float64) + _RARE
    np.put_along_axis(others, predicted[:, None], 0.0, axis=1)
    return np.asarray(others / others.sum(axis=1, keepdims=True))


def _class_share(positive: str | None, predictions: PoolPredictions) -> ClassShare | None:
    """Where the positive class is predicted, and its share among the classes that are not.

    Without probabilities each of the other classes has the same share.
    """
    pred, proba, at = predictions.pred, predictions.label_proba, predictions.class_index
    if positive is None or not isinstance(pred, Categorical):
        return None
    predicted = np.isin(pred.codes, [n for n, name in enumerate(pred.values) if name == positive])
    if proba is None or at is None or positive not in (predictions.classes or ()):
        n_others = len({*pred.values, positive}) - 1
        return ClassShare(predicted, np.full(len(pred), 1 / max(n_others, 1)))
    place = (predictions.classes or ()).index(positive)
    return ClassShare(predicted, _if_wrong(proba, at)[:, place])
