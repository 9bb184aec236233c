"""The driver of an adaptive campaign: what its predictor learns about the first metric."""

from dataclasses import replace

import numpy as np

from levelled._check import FloatArray, choice
from levelled.campaigns.records import CampaignSettings, Round
from levelled.campaigns.settled import settled_draws
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.losses import expected
from levelled.metrics.metric import ERROR, Errors, Metric, ProbabilityLosses
from levelled.metrics.named import ClassRatio, Share
from levelled.predictions import PoolPredictions
from levelled.sources import Pool
from levelled.surrogates import Covariates, Driver, LossPredictor, fill_gaps, reduce_columns
from levelled.surrogates.proposal import GUARANTEED_FLOOR

__all__ = ["KINDS", "begin_round", "can_adapt", "check_guarantee", "driver_of", "learnt_metric"]

KINDS = ("adaptive", "static", "uniform")
_UNKNOWN = 0.1
"""The expected loss where nothing in the pool says more, as a share of the largest."""
_RARE = 1e-6
"""Added to the probability of each wrong class, so that their sum is never 0."""


def learnt_metric(metric: Metric) -> Metric:
    """The metric whose losses the predictor learns: errors, or the metric's own losses.

    Brier scores and log losses follow from an error, and ratios are driven by errors.
    """
    return ERROR if isinstance(metric, ProbabilityLosses | ClassRatio) else metric


def can_adapt(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if the pool says something about the losses of a metric that can be learnt."""
    knows = (predictions.proba, predictions.surrogate, predictions.loss_hat, predictions.features)
    return any(column is not None for column in knows) and metric.possible[0] > -np.inf


def check_guarantee(settings: CampaignSettings) -> None:
    """Refuse settings whose intervals cannot have the guarantee that they ask for."""
    choice("guarantee", settings.guarantee, ("asymptotic", "finite"))
    first, unbounded = settings.metrics[0], [one for one in settings.metrics if one.bounds is None]
    if not settings.is_finite:
        return
    if not isinstance(first, Errors | Share):
        why = f"is for errors: name error, accuracy or share:CLASS first, and not {first.name}"
    elif unbounded:
        why = f"needs bounds for every metric, and {unbounded[0].name} has none"
    elif settings.budget is None:
        why = "is aimed at a budget: choose one"
    elif settings.kind != "adaptive":
        why = f"needs an adaptive campaign, and this one is {settings.kind}"
    else:
        return
    raise CampaignError(
        f"guarantee='finite' {why}. With looks=0 (--looks none) every interval is by betting, "
        f"which holds for any draws and any metric with bounds, and is wider."
    )


def driver_of(pool: Pool, settings: CampaignSettings) -> Driver:
    """The driver of a campaign: the loss of its first metric and model."""
    metric, predictions = settings.metrics[0], pool.predictions(settings.models[0])
    learnt = learnt_metric(metric)
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
    bound = metric.possible[1]
    largest = float(bound) if np.isfinite(bound) and metric.kind == "average" else None
    if isinstance(metric, ProbabilityLosses):
        base, effect = _given_error(metric, predictions)
        return Driver(covariates, base, effect, largest)
    if metric.kind == "ratio":
        return Driver(covariates, bound=None)
    return Driver(covariates, lowest, width, largest)


def begin_round(pool: Pool, state: CampaignState) -> Round:
    """The next round of a campaign, with a predictor fitted to all labels that are in."""
    settings, first = state.settings, len(state.draws) + 1
    if settings.kind != "adaptive":
        return Round(first, None)
    driver, learnt = driver_of(pool, settings), learnt_metric(settings.metrics[0])
    base = settled_draws(state, len(state.draws))
    losses, _ = base.losses(learnt, settings.models[0])
    lowest, highest = learnt.possible
    width = highest - lowest if np.isfinite(highest) else 1.0
    targets = ((losses - lowest) / width)[base.labelable]
    weights = ranked_weights(base.draws.probability, settings.pool_size)[base.labelable]
    earlier = next((one.predictor for one in reversed(state.rounds) if one.predictor), None)
    before = None if earlier is None else LossPredictor.from_json(earlier)
    predictor = driver.fit(base.draws.index[base.labelable], targets, weights, before)
    floor = GUARANTEED_FLOOR if settings.is_finite else driver.floor(targets)
    return Round(first, predictor.to_json(), floor)


def _features(predictions: PoolPredictions) -> FloatArray | None:
    """The features of the items, without gaps, and the interest that the pool file gives them."""
    columns = [] if predictions.features is None else [fill_gaps(predictions.features)]
    if predictions.score is not None:
        columns.append(np.asarray(predictions.score, dtype=np.float64)[:, None])
    return reduce_columns(np.hstack(columns)) if columns else None


def _given_error(
    metric: ProbabilityLosses, predictions: PoolPredictions
) -> tuple[FloatArray, FloatArray]:
    """The loss of each item if its predicted class is right, and how much more if it is wrong.

    Of the wrong classes each is as likely as the model says.
    """
    p = np.asarray(predictions.proba, dtype=np.float64)
    at = np.asarray(predictions.class_index)[:, None]
    is_right = np.zeros_like(p)
    np.put_along_axis(is_right, at, 1.0, axis=1)
    others = (p + _RARE) * (1 - is_right)
    others /= others.sum(axis=1, keepdims=True)
    right = expected(p, is_right, loss=metric.loss, cap=metric.cap)
    return right, expected(p, others, loss=metric.loss, cap=metric.cap) - right
