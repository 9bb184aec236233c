"""What the predictor of an adaptive campaign learns, and which metrics its draws serve."""

from collections.abc import Callable

import numpy as np

from levelled._check import FloatArray, choice
from levelled.campaigns.options import KINDS
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.metrics.metric import ERROR, Errors, Metric, ProbabilityLosses
from levelled.metrics.named import ClassRatio, Mean, Share
from levelled.predictions import Categorical, PoolPredictions, as_verdicts
from levelled.sources import Pool

_DEFAULT_WEIGHTS = ("auto", "proportional", 0.5)
_FROM_ERRORS = (Errors, ProbabilityLosses, ClassRatio)
"""Metrics whose losses follow from an error of the predicted class."""


def outlines_of(pool: Pool, metric: Metric) -> dict[str, PoolPredictions]:
    """What each model predicts for some items; a pool that names no model has one without a name.

    They show which columns there are and of what kind. One item is enough, but for classes
    without any chances: there all predictions tell how many classes there are.
    """
    return {
        one: pool.predictions(one)
        if is_judged(pool, one, metric)
        else pool.predictions_at([0], one)
        for one in pool.models or ("",)
    }


def is_judged(pool: Pool, model: str, metric: Metric) -> bool:
    """True if a metric counts classes and the pool has no chances of them, only predictions."""
    first = pool.predictions_at([0], model)
    chances = (first.proba, first.surrogate, first.loss_hat)
    return metric.label_kind == "class" and all(one is None for one in chances)


def only_verdicts(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if all that predicts the classes a metric is about is a verdict on each item."""
    more = (predictions.proba, predictions.surrogate, predictions.loss_hat)
    if metric.label_kind != "class" or any(column is not None for column in more):
        return False
    return as_verdicts(predictions.pred) is not None


def learnt_metric(metric: Metric, predictions: PoolPredictions) -> Metric:
    """The metric whose losses the predictor learns: errors, or the metric's own losses.

    Brier scores and log losses follow from an error, and so does a label that is a number where
    the pool gives each number a probability. Ratios are driven by errors.
    """
    if isinstance(metric, ProbabilityLosses | ClassRatio):
        return ERROR
    return metric if worth_of(metric, predictions) is None else ERROR


def worth_of(metric: Metric, predictions: PoolPredictions) -> FloatArray | None:
    """The number of each class, where the metric averages labels that are such classes."""
    known = predictions.label_proba is not None and predictions.class_index is not None
    return metric.worth(predictions.classes) if known and isinstance(metric, Mean) else None


def driving_loss(metric: Metric) -> Metric:
    """The metric whose losses the draws of a campaign predict: an error where it is a ratio."""
    return ERROR if isinstance(metric, ClassRatio) else metric


def positive_class(settings: CampaignSettings) -> str | None:
    """The class whose ratios an adaptive campaign predicts: that of its first ratio, if any.

    Its chance follows from the chance of an error, so errors must be what is learnt; or the class
    itself is what the first metric counts.
    """
    if isinstance(settings.metrics[0], Share):
        return settings.metrics[0].positive
    ratios = [one for one in settings.metrics if isinstance(one, ClassRatio)]
    learns_errors = isinstance(settings.metrics[0], _FROM_ERRORS)
    return ratios[0].positive if ratios and learns_errors else None


def is_predicted(metric: Metric, settings: CampaignSettings) -> bool:
    """True if the predictor of a campaign predicts the losses of one of its metrics.

    For a ratio, that is the chance of its class.
    """
    if metric.kind == "ratio":
        return metric.positive == positive_class(settings)
    driving = driving_loss(settings.metrics[0])
    return metric is driving or metric.same_loss_as(driving)


def can_adapt(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if the pool says something about the losses of a metric that can be learnt."""
    knows = (predictions.proba, predictions.surrogate, predictions.loss_hat, predictions.features)
    rated = isinstance(metric, Mean) and predictions.number is not None
    known = rated or any(column is not None for column in knows)
    return (known or only_verdicts(metric, predictions)) and metric.possible[0] > -np.inf


def choose_kind(
    kind: str,
    metric: Metric,
    weights: tuple[str, str, float],
    predictions: Callable[[], PoolPredictions],
) -> str:
    """The kind of a campaign; refuses one that cannot be.

    `weights` are the score, proposal and floor, which only a static campaign has.
    """
    choice("kind", kind, ("auto", *KINDS))
    has_weights = weights != _DEFAULT_WEIGHTS
    if kind == "auto":
        return "static" if has_weights or not can_adapt(metric, predictions()) else "adaptive"
    if kind != "static" and has_weights:
        raise CampaignError(
            f"score, proposal and floor choose the weights of a static campaign, and this one is "
            f"{kind}: leave them out, or choose kind static."
        )
    if kind == "adaptive" and not can_adapt(metric, predictions()):
        raise CampaignError(
            f"An adaptive campaign needs something to learn the {metric.name} from: verdicts of "
            f"two classes or more (pred), columns proba_<class>, surrogate_<class>, loss_hat, or "
            f"features of the items (f_*, embedding), and losses that are never negative. Choose "
            f"kind static or uniform."
        )
    return kind


def check_kind(settings: CampaignSettings, kind: str, load_pool: Callable[[], Pool]) -> None:
    """Refuse a kind that a campaign cannot change to."""
    weights = (settings.score, settings.proposal, settings.floor)
    model = settings.models[0]
    metric = settings.metrics[0]
    choose_kind(kind, metric, weights, lambda: outlines_of(load_pool(), metric)[model])


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


def check_drive(settings: CampaignSettings, predictions: PoolPredictions) -> None:
    """Refuse to balance metrics that cannot be balanced."""
    choice("drive", settings.drive, ("first", "worst"))
    others = [one.name for one in settings.metrics if not isinstance(one, _FROM_ERRORS)]
    if settings.drive == "first":
        return
    if len(settings.metrics) < 2:
        why = f"balances several metrics, and {settings.metrics[0].name} is the only one"
    elif settings.kind != "adaptive":
        why = f"needs an adaptive campaign, and this one is {settings.kind}"
    elif others:
        why = (
            f"balances what follows from an error (error, accuracy, brier, log_loss, precision, "
            f"recall, f1), and {others[0]} does not"
        )
    elif not isinstance(predictions.pred, Categorical):
        why = "needs predicted classes, and this pool predicts numbers"
    else:
        return
    raise CampaignError(f"drive='worst' {why}. Leave it out: the first metric then drives.")


def learnt_targets(learnt: Metric, losses: FloatArray) -> FloatArray:
    """Losses as the predictor learns them: shares of their range, where they have bounds.

    >>> from levelled.metrics.named import parse_metric
    >>> learnt_targets(parse_metric("mean:1:5"), np.array([1.0, 4.0]))
    array([0.  , 0.75])
    """
    lowest, width = unit_of(learnt)
    return (losses - lowest) / width


def unit_of(learnt: Metric) -> tuple[float, float]:
    """The least loss and the range of losses, or 1 where they have no upper bound."""
    lowest, highest = learnt.possible
    return lowest, highest - lowest if np.isfinite(highest) else 1.0
