"""From files to drawn items: the proposal of a campaign, and its draws.

A static campaign draws by weights that never change. A longer race begins with the shorter one,
so drawing further ahead continues the same sequence. An adaptive campaign draws in rounds; the
predictor of each is in the log. Its driver is what it learns, made from its pool: that is read a
run of rows at a time; one in memory is a single run. All runs are on the scale of the whole pool,
which a pass finds out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from levelled import proposals, scores
from levelled._check import FloatArray, IntArray, choice
from levelled.campaigns.drawing.learner import AnyPredictor, Drive, Learner, learner_of
from levelled.campaigns.drawing.pools import (
    as_labels,
    attach_event,
    is_judged,
    only_verdicts,
    open_attached,
)
from levelled.campaigns.figures.settled import SettledDraws, settled_draws
from levelled.campaigns.log.events import Drawn, Event, RoundBegun
from levelled.campaigns.log.records import DrawnItem, KnownItem, KnownLabels, Round
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.draws import Draws
from levelled.errors import CampaignError
from levelled.estimators.lure import ranked_weights
from levelled.labels import Label
from levelled.losses import Reals, expected
from levelled.metrics.named import ERROR, Metric
from levelled.predictions import Categorical, PoolPredictions, as_verdicts, verdict_chances
from levelled.samplers import FrozenProposal, PoolSlices, RunProposal
from levelled.samplers.frozen import in_pool_of
from levelled.scores import root_mean_squared_loss
from levelled.sources import Pool
from levelled.surrogates import (
    AverageAim,
    ClassShare,
    Covariates,
    Driver,
    LossPredictor,
    LossRun,
    RatioAim,
    Reduction,
    Scaling,
    ScoreColumns,
    next_round_size,
)
from levelled.surrogates.driver import GUARANTEED_FLOOR, Aim, floor_after, keep_single

_UNKNOWN = 0.1
"""The expected loss where nothing in the pool says more, as a share of the largest.

It is the same for all items, so it ranks none, and the first fit estimates their level.
"""
_RARE = 1e-6
"""Guard: added to the probability of each wrong class, so that their sum is never 0."""
Runs = Callable[[], Iterable[PoolPredictions]]
"""The predictions of a pool, a run of rows at a time; each call begins a new pass."""
_DRIVERS: WeakKeyDictionary[Pool, dict[object, Driver]] = WeakKeyDictionary()


def learnt_metric(metric: Metric, predictions: PoolPredictions) -> Metric:
    """The metric whose losses the predictor learns: errors, or the metric's own losses.

    Brier scores and log losses follow from an error, and so does a label that is a number where
    the pool gives each number a probability. Ratios are driven by errors.
    """
    if metric.loss in ("log_loss", "brier") or metric.kind == "ratio":
        return ERROR
    return metric if worth_of(metric, predictions) is None else ERROR


def worth_of(metric: Metric, predictions: PoolPredictions) -> FloatArray | None:
    """The number of each class, where the metric averages labels that are such classes."""
    known = predictions.label_proba is not None and predictions.class_index is not None
    return metric.worth(predictions.classes) if known else None


def driving_loss(metric: Metric) -> Metric:
    """The metric whose losses the draws of a campaign predict: an error where it is a ratio."""
    return ERROR if metric.kind == "ratio" else metric


def positive_class(settings: CampaignSettings) -> str | None:
    """The class whose ratios an adaptive campaign predicts: that of its first ratio, if any.

    Its chance follows from the chance of an error, so errors must be what is learnt; or the class
    itself is what the first metric counts.
    """
    if settings.metrics[0].is_share:
        return settings.metrics[0].positive
    ratios = [one for one in settings.metrics if one.kind == "ratio" and one.positive]
    learns_errors = settings.metrics[0].from_errors
    return ratios[0].positive if ratios and learns_errors else None


def is_predicted(metric: Metric, settings: CampaignSettings) -> bool:
    """True if the predictor of a campaign predicts the losses of one of its metrics.

    For a ratio, that is the chance of its class.
    """
    if metric.kind == "ratio":
        return metric.positive == positive_class(settings)
    driving = driving_loss(settings.metrics[0])
    return metric is driving or metric.same_loss_as(driving)


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
        in_one = _balanced(settings) or is_judged(pool, model, metric)
        drivers[key] = make_driver(
            settings,
            len(pool),
            lambda: [source.predictions(model)] if in_one else source.runs(model),
            lambda rows: source.predictions_at(rows, model),
        )
    return drivers[key]


def _balanced(settings: CampaignSettings) -> tuple[Metric, ...]:
    """The metrics among which the draws are to be balanced, if they are."""
    return settings.metrics if settings.drive == "worst" else ()


def make_driver(
    settings: CampaignSettings,
    pool_size: int,
    runs: Runs,
    at: Callable[[IntArray], PoolPredictions] | None = None,
) -> Driver:
    """The driver of a campaign: a pass over its pool finds out the scale, one more its features.

    Parameters
    ----------
    settings : Those of the campaign.
    pool_size : The number of items in all runs.
    runs : The predictions of all items.
    at : The predictions of some rows. A single run with the whole pool needs none.
    """
    runs = keep_single(runs, pool_size)
    first = next(iter(runs()))
    judged = only_verdicts(settings.metrics[0], first)
    if judged:
        chances = [_with_chances(run) for run in runs()]
        first, runs = chances[0], lambda: chances
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


def _with_chances(predictions: PoolPredictions) -> PoolPredictions:
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
        share = _class_share(positive_class(self.settings), predictions)
        if share is not None and metric.is_share:
            share = ClassShare(share.predicted)
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
    if metric.kind == "ratio" and share is not None:
        outcomes = [of_part for _, of_part in metric.pairs([], [], 1, {}).unseen]
        return RatioAim(share, np.array(outcomes), has_control)
    if metric.loss in ("log_loss", "brier"):
        return AverageAim(*_given_error(metric, predictions), has_control)
    return AverageAim(0.0, 1.0, 0.0, has_control)


def begin_round(pool: Pool, state: CampaignState) -> Round:
    """The next round of a campaign, with a predictor fitted to all labels that are in."""
    settings, first = state.settings, len(state.draws) + 1
    if settings.kind != "adaptive":
        return Round(first, None, 1.0 if settings.kind == "uniform" else settings.floor)
    if settings.versions.predictor > 1:
        return _begin_round(pool, state)
    driver, model = driver_of(pool, settings), settings.models[0]
    learnt = learnt_metric(settings.metrics[0], pool.predictions_at([0], model))
    base = settled_draws(state, len(state.draws))
    targets = learnt_targets(learnt, base.losses(learnt, model)[0])[base.labelable]
    weights = ranked_weights(base.draws.probability, base.draws.pool_size)[base.labelable]
    earlier = next((one.predictor for one in reversed(state.rounds) if one.predictor), None)
    before = None if earlier is None else LossPredictor.from_json(earlier)
    known = np.array([item.row for item in state.known_items], dtype=np.int64)
    known_targets = learnt_targets(learnt, base.known_values(learnt, model)[0])
    predictor = driver.fit(
        base.rows[base.labelable], targets, weights, before, (known, known_targets)
    )
    floor = GUARANTEED_FLOOR if settings.is_finite else driver.floor(targets)
    taken = taken_rows([item.row for item in state.draws], state.known)
    return Round(first, predictor.to_json(), floor, driver.shares(predictor, taken, floor))


def _begin_round(pool: Pool, state: CampaignState) -> Round:
    """The next round with a predictor of the label: its chances, its floor, and what it serves."""
    settings, first = state.settings, len(state.draws) + 1
    learner, base = learner_of(pool, settings), settled_draws(state, len(state.draws))
    weights = ranked_weights(base.draws.probability, base.draws.pool_size)[base.labelable]
    known = state.known_items
    rows = np.append(base.rows[base.labelable], [item.row for item in known]).astype(np.int64)
    labels = [one for one in base.labels if one is not None] + [item.label for item in known]
    earlier = next((one.predictor for one in reversed(state.rounds) if one.predictor), None)
    before = None if earlier is None else learner.restore(earlier)
    predictor = learner.fit(rows, labels, weights, before, int(base.labelable.sum()))
    taken = taken_rows([item.row for item in state.draws], state.known)
    drives = [
        replace(one, slopes=slopes_at_start(learner, one, predictor, base, taken))
        for one in drives_of(settings)
    ]
    if len(drives) > 1:  # each in units of the smallest variance that it could have
        scales = np.maximum(learner.totals(drives, predictor, taken)[:, 2], 1e-300)
        drives = [
            replace(one, slopes=(one.slopes[0] / scale, one.slopes[1] / scale))
            for one, scale in zip(drives, scales.tolist(), strict=True)
        ]
    floor = GUARANTEED_FLOOR
    if not settings.is_finite:
        floor = floor_after(count_surprises(learner, drives[0], state, base))
    slopes = [[*one.slopes] for one in drives]
    return Round(first, {**predictor.to_json(), "drive": slopes}, floor)


def drives_of(settings: CampaignSettings) -> list[Drive]:
    """The figures that draws serve: the first, those named by `drive`, or all of them."""
    models, classes = settings.models, settings.label_classes or None
    every = []
    for at, metric in enumerate(settings.metrics):
        for place, model in enumerate(models if metric.needs != "label" else models[:1]):
            known = metric.of_pool(settings.pred_counts.get(model, {}), classes)
            # A mean over classes is served by serving each of them.
            is_first = not (at or place)
            every.append([Drive(one, model, is_first=is_first, of=metric.name) for one in known.parts])
    named = {name.strip() for name in settings.drive.split(",")}
    if settings.drive == "first":
        every = every[:1]
    elif settings.drive != "balanced":
        every = [
            one
            for one in every
            if str(one[0].of and one[0].of.name) in named and one[0].model == models[0]
        ]
    return [*chain.from_iterable(every)]


def slopes_at_start(
    learner: Learner, drive: Drive, predictor: AnyPredictor, base: SettledDraws, taken: IntArray
) -> tuple[float, float]:
    """The slopes of a figure's influence, at the ratio that labels and predictor expect by now."""
    if drive.metric.kind == "average":
        return 1.0, 0.0
    A, D, _ = learner.totals([drive], predictor, taken)[0].tolist()
    top, bottom = base.losses(drive.metric, drive.model)
    known = base.known_values(drive.metric, drive.model).sum(axis=1)
    A, D = A + float(top.sum() + known[0]), D + float(bottom.sum() + known[1])
    return 1.0, -A / D if D > 0 else 0.0


def count_surprises(
    learner: Learner, drive: Drive, state: CampaignState, base: SettledDraws
) -> float:
    """The surprises so far: how often a label was not the one that seemed most likely.

    Each counts by its effect on the figure, as a share of the largest there is.
    """
    found, reach = [], 0.0
    ends = [*(one.first for one in state.rounds), len(state.draws) + 1]
    predictors = [None, *(one.predictor for one in state.rounds)]
    for plain, first, end in zip(predictors, [1, *ends], ends, strict=False):
        at = np.arange(first - 1, end - 1)
        at = at[base.labelable[at]]
        if not len(at):
            continue
        run = learner.at(base.rows[at])
        predictor = learner.first_predictor if plain is None else learner.restore(plain)
        chances = learner.chances(predictor, run)
        psi = learner.influence(drive, run, chances)
        likely = np.take_along_axis(psi, chances.chance.argmax(axis=1)[:, None], axis=1)[:, 0]
        top, bottom = base.losses(drive.metric, drive.model)
        told = drive.slopes[0] * top[at] + drive.slopes[1] * (
            bottom[at] if drive.metric.kind == "ratio" else 1.0
        )
        found.append(np.abs(told - likely))
        reach = max(reach, float(np.ptp(psi, axis=1).max()))
    every = np.concatenate(found) if found else np.zeros(1)
    if learner.is_numeric and every.any():  # losses of any size: (sum)^2 / sum of squares
        return float(every.sum() ** 2 / (every**2).sum())
    return float(every.sum()) / reach if reach > 0 else 0.0


def proposal_of(
    pool: Pool, settings: CampaignSettings, begun: Round, taken: IntArray
) -> RunProposal:
    """The proposal of a round with a predictor of the label."""
    learner, plain = learner_of(pool, settings), begun.predictor or {}
    drives = [
        replace(one, slopes=(float(slopes[0]), float(slopes[1])))
        for one, slopes in zip(drives_of(settings), plain["drive"], strict=True)
    ]
    return learner.proposal(learner.restore(plain), drives, taken, begun.floor)


def taken_rows(
    rows: Sequence[int], known: Sequence[KnownLabels], draw: int | None = None
) -> IntArray:
    """The rows that cannot be drawn any more: those drawn, and those with known labels.

    With the number of a draw, those whose labels were known before it.
    """
    known_rows = (
        item.row for one in known if draw is None or one.first <= draw for item in one.items
    )
    return np.array([*rows, *known_rows], dtype=np.int64)


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


SCORES = ("auto", "entropy", "margin", "least_confidence", "uniform")
_MOST_PREDICTED = 20
"""The most slices whose predictions are kept with each draw."""
PROPOSALS = ("proportional", "boltzmann", "power", "rank", "uniform")


def frozen_proposal(runs: Runs, settings: CampaignSettings) -> RunProposal:
    """The weights that `settings` choose, and the losses that the first metric expects.

    By default half of the probability is uniform, and half in proportion to the root mean squared
    loss. A pass over the runs scores them, and draws take another one.
    """
    metric, size = settings.metrics[0], settings.pool_size
    bound = metric.bounds[1] if metric.bounds is not None else np.inf

    def expected() -> Iterator[FrozenProposal]:
        start = 0
        for run in runs():
            rows, control = np.arange(start, start + len(run)), metric.control(run)
            largest = bound if control is not None and np.isfinite(bound) else None
            yield FrozenProposal(rows, size, np.ones(len(run)), control, largest)
            start += len(run)

    choice("score", settings.score, SCORES)
    if settings.kind == "uniform":
        weights = proposals.mixture(proposals.uniform(size), share=1.0)
    else:
        propose = proposals.parse_proposal(settings.proposal, PROPOSALS)
        weights = proposals.mixture(propose(_scores(runs, settings)), share=settings.floor)
    return RunProposal(size, np.arange(0), weights, expected)


def _scores(runs: Runs, settings: CampaignSettings) -> FloatArray:
    """The interest of every item of the pool."""
    values, start, name = np.empty(settings.pool_size), 0, settings.score
    for run in runs():
        if name == "auto":
            score = settings.metrics[0].score(run)
        elif name == "uniform":
            score = np.ones(run.pool_size)
        elif run.proba is not None:
            score = np.asarray(getattr(scores, name)(run.proba), dtype=np.float64)
        else:
            raise CampaignError(
                f"The score {name!r} needs the model's probabilities (columns proba_<class>), "
                f"which this pool does not have."
            )
        values[start : start + len(score)] = score
        start += len(score)
    return values


def draw_events(pool: Pool, state: CampaignState, needed: int, *, at: str) -> list[Event]:
    """The events of further draws up to number `needed`, with the predictions attached by then.

    A static campaign doubles its draws. An adaptive one draws until its next fit, so that as many
    as possible use the newest labels. `pool` has the predicted losses that count by now.
    """
    settings, rows = state.settings, [item.row for item in state.draws]
    events: list[Event] = []
    if settings.kind != "adaptive" and not state.restarted:
        last = min(max(2 * len(rows), needed), state.last_draw)
        items = draw_further(pool, settings, rows, last, state.known)
    else:
        begun = begin_round(pool, state)
        last = min(max(len(rows) + next_round_size(len(rows)), needed), state.last_draw)
        items = draw_round(pool, settings, rows, last, begun, state.known)
        events.append(RoundBegun.of(begun, at=at))
    events.append(Drawn(at=at, by=None, draws=tuple(items)))
    for model, attached in state.attached.items():
        predictions = open_attached(state.settings, model, attached)
        events.append(attach_event(state.settings, items, predictions, model, at=at))
    return events


def draw_further(
    pool: Pool,
    settings: CampaignSettings,
    rows: Sequence[int],
    last: int,
    known: Sequence[KnownLabels] = (),
) -> list[DrawnItem]:
    """The draws of frozen weights after those that took `rows`, up to number `last`."""
    n_sampled = settings.n_sampled
    taken = taken_rows(rows[:n_sampled], known, 1)
    frozen = frozen_proposal(partial(pool.runs, settings.models[0]), settings).without(taken)
    draws = frozen.draw(min(last, settings.open_size) - n_sampled, seed=settings.seed)
    before = len(rows) - n_sampled
    if draws.index[:before].tolist() != list(rows[n_sampled:]):
        raise CampaignError(
            "The pool gives other draws than the ones on record: it is not the pool this campaign "
            "was created with."
        )
    return _make_items(pool, settings, draws, n_sampled + 1, skip=before)


def draw_round(
    pool: Pool,
    settings: CampaignSettings,
    rows: Sequence[int],
    last: int,
    begun: Round,
    known: Sequence[KnownLabels] = (),
) -> list[DrawnItem]:
    """The draws of one round after those that took `rows`, up to number `last`.

    Parameters
    ----------
    pool, settings : Those of the campaign.
    rows : The rows of the draws before the round.
    last : The number of the last draw.
    begun : The round.
    known : All labels that are known without a draw.
    """
    drawn = taken_rows(rows, known, begun.first)
    if begun.predictor is None:
        static = replace(settings, kind="static", floor=begun.floor)
        frozen = frozen_proposal(partial(pool.runs, settings.models[0]), static).without(drawn)
    elif settings.versions.predictor > 1:
        frozen = proposal_of(pool, settings, begun, drawn)
    else:
        predictor = LossPredictor.from_json(begun.predictor)
        driver = driver_of(pool, settings)
        frozen = driver.proposal(predictor, drawn, begun.floor, begun.shares)
        frozen = replace(frozen, slices=_slices_left(pool, settings, drawn))
    seed = np.random.SeedSequence((settings.seed, begun.first)).generate_state(2)
    draws = frozen.draw(last - len(rows), seed=int(seed[0]) << 31 ^ int(seed[1]))
    return _make_items(pool, settings, draws, len(rows) + 1)


def draw_again(
    pool: Pool,
    settings: CampaignSettings,
    rows: Sequence[int],
    last: int,
    rounds: Sequence[tuple[Round, Pool]] = (),
    known: Sequence[KnownLabels] = (),
) -> list[DrawnItem]:
    """Draws 1 to `last` once more, given the rows that they took: each follows from those before.

    The first ones are a random sample that has labels already, if there is one.

    Parameters
    ----------
    pool, settings : Those of the campaign.
    rows : The rows of the draws.
    last : The number of the last draw.
    rounds : Each round, with the pool as it was then, which has its own predicted losses.
    known : All labels that are known without a draw.
    """
    settings = replace(settings, n_sampled=min(settings.n_sampled, last))
    ends = [*(one.first - 1 for one, _ in rounds), last]
    sample = np.array(rows[: settings.n_sampled], dtype=np.int64)
    items = draw_sample(pool, settings, sample, known)
    if ends[0] > len(items):
        items += draw_further(pool, settings, rows[: len(items)], ends[0], known)
    for (begun, then), end in zip(rounds, ends[1:], strict=True):
        items += draw_round(then, settings, rows[: begun.first - 1], end, begun, known)
    return items


def draw_sample(
    pool: Pool, settings: CampaignSettings, rows: IntArray, known: Sequence[KnownLabels] = ()
) -> list[DrawnItem]:
    """A random sample that has labels already, as uniform draws 1..n."""
    if not len(rows):
        return []
    taken = taken_rows((), known, 1)
    if settings.kind == "adaptive" and settings.versions.predictor > 1:
        learner = learner_of(pool, settings)
        frozen = learner.proposal(learner.first_predictor, drives_of(settings), taken, None)
    elif settings.kind == "adaptive":
        driver = driver_of(pool, settings)
        frozen = driver.proposal(driver.first_predictor, taken, None)
        frozen = replace(frozen, slices=_slices_left(pool, settings, taken))
    else:
        frozen = replace(
            frozen_proposal(partial(pool.runs, settings.models[0]), settings),
            weights=np.ones(settings.pool_size),
        ).without(taken)
    return _make_items(pool, settings, frozen.fixed(rows), 1)


def _slices_left(pool: Pool, settings: CampaignSettings, drawn: IntArray) -> tuple[PoolSlices, ...]:
    """The slices of the items left, for which the predictor is kept; none where there are many."""
    if sum(map(len, settings.slice_counts.values())) > _MOST_PREDICTED:
        return ()
    values = {name: pool.slice_values(name) for name in settings.slices}
    return tuple(
        PoolSlices(tuple(f"{name}={one}" for one in each.values), np.delete(each.codes, drawn))
        for name, each in values.items()
    )


def _make_items(
    pool: Pool, settings: CampaignSettings, draws: Draws, first: int, skip: int = 0
) -> list[DrawnItem]:
    """The drawn items after `skip` of them, with all that estimates need; the first is `first`."""
    rows, design = draws.index[skip:], in_pool_of(draws, settings.open_size)
    by_draw = _by_row({name: column[skip:].tolist() for name, column in design.items()}, len(rows))
    ids, *mappings = _describe(pool, settings, rows)
    probability, shown = draws.probability[skip:].tolist(), pool.shown(rows)
    items = zip(rows.tolist(), ids, probability, by_draw, *mappings, shown, strict=True)
    return [DrawnItem(draw, *values) for draw, values in enumerate(items, first + skip)]


def make_known(
    pool: Pool, settings: CampaignSettings, rows: Sequence[int], labels: Sequence[Label]
) -> tuple[KnownItem, ...]:
    """Items whose labels are known without a draw, with all that estimates need."""
    ids, *mappings = _describe(pool, settings, np.array(rows, dtype=np.int64))
    return tuple(KnownItem(*one) for one in zip(rows, ids, labels, *mappings, strict=True))


def _describe(pool: Pool, settings: CampaignSettings, rows: IntArray) -> tuple[list[Any], ...]:
    """The ids of rows, and for each row its predictions and probabilities by model and slices."""
    pred, proba, columns = {}, {}, pool.at(rows)
    every = np.arange(len(rows))
    for model in settings.models:
        predictions = columns.predictions(model)
        if (values := predictions.of(every)) is not None:
            pred[model] = as_labels(values, settings)
        if predictions.proba is not None:
            proba[model] = [tuple(p) for p in predictions.proba.tolist()]
    slices = {name: columns.slices[name].of(every) for name in settings.slices}
    parts: tuple[Mapping[str, Sequence[Any]], ...] = (pred, proba, slices)
    return columns.ids.to_pylist(), *(_by_row(part, len(rows)) for part in parts)


def _by_row(columns: Mapping[str, Sequence[Any]], n: int) -> list[dict[str, Any]]:
    """The values of each of n rows, by the names of the columns."""
    return [{name: values[at] for name, values in columns.items()} for at in range(n)]
