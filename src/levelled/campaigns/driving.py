"""The driver of an adaptive campaign: what its predictor learns about the first metric."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.campaigns.records import CampaignSettings, Round
from levelled.campaigns.settled import settled_draws
from levelled.campaigns.state import CampaignState
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.losses import Reals, expected
from levelled.metrics.metric import ERROR, Errors, Metric, ProbabilityLosses
from levelled.metrics.named import ClassRatio, Mean
from levelled.predictions import Categorical, PoolPredictions
from levelled.scores import root_mean_squared_loss
from levelled.sources import Pool
from levelled.surrogates import (
    ClassShare,
    Covariates,
    Driver,
    LossPredictor,
    fill_gaps,
    reduce_columns,
)

__all__ = [
    "KINDS",
    "begin_round",
    "can_adapt",
    "driver_of",
    "driving_loss",
    "learnt_metric",
    "positive_class",
]

KINDS = ("adaptive", "static", "uniform")
_UNKNOWN = 0.1
"""The expected loss where nothing in the pool says more, as a share of the largest."""
_RARE = 1e-6
"""Added to the probability of each wrong class, so that their sum is never 0."""


def learnt_metric(metric: Metric, predictions: PoolPredictions) -> Metric:
    """The metric whose losses the predictor learns: errors, or the metric's own losses.

    Brier scores and log losses follow from an error, and so does a label that is a number where
    the pool gives each number a probability. Ratios are driven by errors.
    """
    if isinstance(metric, ProbabilityLosses | ClassRatio):
        return ERROR
    return metric if _worth(metric, predictions) is None else ERROR


def _worth(metric: Metric, predictions: PoolPredictions) -> FloatArray | None:
    """The number of each class, where the metric averages labels that are such classes."""
    known = predictions.label_proba is not None and predictions.class_index is not None
    return metric.worth(predictions.classes) if known and isinstance(metric, Mean) else None


def driving_loss(metric: Metric) -> Metric:
    """The metric whose losses the draws of a campaign predict: an error where it is a ratio."""
    return ERROR if isinstance(metric, ClassRatio) else metric


def positive_class(settings: CampaignSettings) -> str | None:
    """The class whose ratios an adaptive campaign predicts: that of its first ratio, if any.

    Its chance follows from the chance of an error, so errors must be what is learnt.
    """
    ratios = [one for one in settings.metrics if isinstance(one, ClassRatio)]
    learns_errors = isinstance(settings.metrics[0], Errors | ProbabilityLosses | ClassRatio)
    return ratios[0].positive if ratios and learns_errors else None


def can_adapt(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if the pool says something about the losses of a metric that can be learnt."""
    knows = (predictions.proba, predictions.surrogate, predictions.loss_hat, predictions.features)
    return any(column is not None for column in knows) and metric.possible[0] > -np.inf


def driver_of(pool: Pool, settings: CampaignSettings) -> Driver:
    """The driver of a campaign: the loss of its first metric and model."""
    metric, predictions = settings.metrics[0], pool.predictions(settings.models[0])
    learnt = learnt_metric(metric, predictions)
    lowest, highest = learnt.possible
    bounded = bool(np.isfinite(highest))
    width = highest - lowest if bounded else 1.0

    def predicted(of: PoolPredictions) -> FloatArray:
        values = learnt.control(of)
        if values is None:
            return np.full(len(pool), _UNKNOWN)
        return np.maximum(values - lowest, 0) / width

    covariates = Covariates.of(
        predicted(replace(predictions, surrogate=None)),
        None if predictions.surrogate is None else predicted(predictions),
        _features(predictions),
        predictions.class_index,
        bounded=bounded,
    )
    driving, positive = driving_loss(metric), _class_share(positive_class(settings), predictions)
    bound = driving.possible[1]
    largest = float(bound) if np.isfinite(bound) else None
    if learnt is ERROR and driving is not ERROR:
        base, effect, noise = _given_error(driving, predictions)
        return Driver(covariates, base, effect, largest, positive, noise)
    return Driver(covariates, lowest, width, largest, positive)


def begin_round(pool: Pool, state: CampaignState) -> Round:
    """The next round of a campaign, with a predictor fitted to all labels that are in."""
    settings, first = state.settings, len(state.draws) + 1
    if settings.kind != "adaptive":
        return Round(first, None)
    driver, predictions = driver_of(pool, settings), pool.predictions(settings.models[0])
    learnt = learnt_metric(settings.metrics[0], predictions)
    base = settled_draws(state, len(state.draws))
    losses, _ = base.losses(learnt, settings.models[0])
    lowest, highest = learnt.possible
    width = highest - lowest if np.isfinite(highest) else 1.0
    targets = ((losses - lowest) / width)[base.labelable]
    weights = ranked_weights(base.draws.probability, settings.pool_size)[base.labelable]
    earlier = next((one.predictor for one in reversed(state.rounds) if one.predictor), None)
    before = None if earlier is None else LossPredictor.from_json(earlier)
    predictor = driver.fit(base.draws.index[base.labelable], targets, weights, before)
    return Round(first, predictor.to_json(), driver.floor(targets))


def _features(predictions: PoolPredictions) -> FloatArray | None:
    """The features of the items, without gaps, and the interest that the pool file gives them."""
    columns = [] if predictions.features is None else [fill_gaps(predictions.features)]
    if predictions.score is not None:
        columns.append(np.asarray(predictions.score, dtype=np.float64)[:, None])
    return reduce_columns(np.hstack(columns)) if columns else None


def _given_error(
    metric: Metric, predictions: PoolPredictions
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The loss of each item if its predicted class is right, how much more if it is wrong, and
    the variance if it is wrong.

    Of the wrong classes each is as likely as the model says.
    """
    at, worth = np.asarray(predictions.class_index), _worth(metric, predictions)
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
    if proba is None or at is None or predictions.classes is None:
        n_others = len({*pred.values, positive}) - 1
        return ClassShare(predicted, np.full(len(pred), 1 / max(n_others, 1)))
    return ClassShare(predicted, _if_wrong(proba, at)[:, predictions.classes.index(positive)])
