"""What an adaptive campaign learns: its driver, made from its pool, and the rounds that it begins.

A pool is read a run of rows at a time; one in memory is a single run. All runs are on the scale of
the whole pool, which a pass finds out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray, choice
from levelled.campaigns.figures.settled import settled_draws
from levelled.campaigns.log.records import Round
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.options import KINDS
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.estimators.lure import ranked_weights
from levelled.losses import Reals, expected
from levelled.metrics.named import ERROR, ClassRatio, Errors, Mean, Metric, ProbabilityLosses, Share
from levelled.predictions import Categorical, PoolPredictions, as_verdicts, verdict_chances
from levelled.scores import root_mean_squared_loss
from levelled.sources import Pool
from levelled.surrogates import (
    AverageAim,
    ClassShare,
    Covariates,
    Driver,
    LearntClass,
    LossPredictor,
    LossRun,
    RatioAim,
    Reduction,
    Scaling,
    ScoreColumns,
)
from levelled.surrogates.driver import GUARANTEED_FLOOR, Aim, keep_single

_DEFAULT_WEIGHTS = ("auto", "proportional", 0.5)
_FROM_ERRORS = (Errors, ProbabilityLosses, ClassRatio)
"""Metrics whose losses follow from an error of the predicted class."""
_UNKNOWN = 0.1
"""The expected loss where nothing in the pool says more, as a share of the largest."""
_RARE = 1e-6
"""Added to the probability of each wrong class, so that their sum is never 0."""
_DRIVERS: WeakKeyDictionary[Pool, dict[object, Driver]] = WeakKeyDictionary()


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


def driver_of(pool: Pool, settings: CampaignSettings) -> Driver:
    """The driver of a campaign: the loss of its first metric and model.

    It is kept for as long as the pool, because a large one takes a while. Verdicts without
    probabilities, and the balance of several metrics, need all items in one run.
    """
    metric, model, positive = settings.metrics[0], settings.models[0], positive_class(settings)
    drivers, key = _DRIVERS.setdefault(pool, {}), (metric, model, positive, _balanced(settings))
    if key not in drivers:
        source = proxy(pool)  # since drivers are kept for as long as their pool
        if _balanced(settings) or is_judged(pool, model, metric):
            drivers[key] = make_driver(settings, len(pool), lambda: [source.predictions(model)])
        else:
            drivers[key] = make_driver(
                settings,
                len(pool),
                lambda: source.runs(model),
                lambda rows: source.predictions_at(rows, model),
            )
    return drivers[key]


def _balanced(settings: CampaignSettings) -> tuple[Metric, ...]:
    """The metrics among which the draws are to be balanced, if they are."""
    return settings.metrics if settings.drive == "worst" else ()


def make_driver(
    settings: CampaignSettings,
    pool_size: int,
    runs: Callable[[], Iterable[PoolPredictions]],
    at: Callable[[IntArray], PoolPredictions] | None = None,
) -> Driver:
    """The driver of a campaign: a pass over its pool finds out the scale, one more its features.

    Parameters
    ----------
    settings
        Those of the campaign.
    pool_size
        The number of items in all runs.
    runs
        The predictions of all items, a run of rows at a time; each call begins a new pass.
    at
        The predictions of some rows. A single run with the whole pool needs none.
    """
    runs = keep_single(runs, pool_size)
    first = next(iter(runs()))
    judged = only_verdicts(settings.metrics[0], first)
    if judged:
        verdicts = [with_chances(run) for run in runs()]
        first, runs = verdicts[0], lambda: verdicts
    reduction = None
    if _features(first) is not None:
        features = (X for X in map(_features, runs()) if X is not None)
        reduction = Reduction.of(features, pool_size)
    maker = _Maker(settings, reduction, judged)
    items = keep_single(lambda: map(maker.items, runs()), pool_size)
    bounded = bool(np.isfinite(learnt_metric(settings.metrics[0], first).possible[1]))
    scaling = Scaling.of(lambda: (one.columns for one in items()), pool_size, bounded, judged)

    def covariates(rows: IntArray) -> Covariates:
        assert at is not None
        return Covariates.scaled(maker.items(at(rows)).columns, scaling)

    return Driver(pool_size, lambda: (maker.run(one, scaling) for one in items()), covariates)


def with_chances(predictions: PoolPredictions) -> PoolPredictions:
    """Verdicts with the chance of each label that they suggest before there are any labels."""
    verdicts = as_verdicts(predictions.pred)
    assert verdicts is not None
    return replace(
        predictions, classes=verdicts.values, pred=verdicts, surrogate=verdict_chances(verdicts)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """A run of items: their predictions, and the columns that a predictor learns from."""

    predictions: PoolPredictions
    columns: ScoreColumns

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the runs of a driver from predictions."""

    settings: CampaignSettings
    reduction: Reduction | None
    judged: bool

    def items(self, predictions: PoolPredictions) -> _Items:
        """Items with their expected losses, features and predicted classes."""
        learnt = learnt_metric(self.settings.metrics[0], predictions)
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
        columns = ScoreColumns(
            np.full(len(predictions), _UNKNOWN) if either is None else either,
            second,
            None if features is None or self.reduction is None else self.reduction.apply(features),
            None if groups is None or alike else groups.astype(np.int64),
        )
        return _Items(predictions, columns)

    def run(self, items: _Items, scaling: Scaling) -> LossRun:
        """The losses of items, on the scale of their pool."""
        metric, predictions = self.settings.metrics[0], items.predictions
        covariates, driving = Covariates.scaled(items.columns, scaling), driving_loss(metric)
        share: ClassShare | LearntClass | None
        share = _class_share(positive_class(self.settings), predictions)
        if share is not None and isinstance(metric, Share):
            share = LearntClass(share.predicted)
        bound, learnt = driving.possible[1], learnt_metric(metric, predictions)
        largest = float(bound) if np.isfinite(bound) else None
        is_consequence = learnt is ERROR and driving is not ERROR
        base, effect, noise = (
            _given_error(driving, predictions) if is_consequence else (*unit_of(learnt), 0.0)
        )
        aims = (
            _aim(one, is_predicted(one, self.settings), predictions)
            for one in _balanced(self.settings)
        )
        return LossRun(covariates, base, effect, largest, share, noise, tuple(aims))


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
