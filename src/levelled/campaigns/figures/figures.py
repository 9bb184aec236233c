"""The figures of a campaign: every metric, model and slice, estimated from the settled draws.

A figure is an average or a ratio, read at a planned number of draws or watched.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.drawing.drawing import is_predicted
from levelled.campaigns.figures.settled import (
    FigureCache,
    GameInput,
    SettledDraws,
    play,
    settled_draws,
)
from levelled.campaigns.log.state import CampaignState
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate, lure_weights
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.limits import cut_limits
from levelled.estimators.moments import diagnose
from levelled.labels import Label, quantity_notes
from levelled.looks import PlannedLook
from levelled.metrics.averages import slice_estimate
from levelled.metrics.comparison import Figure, ratio_difference
from levelled.metrics.named import ERROR, Errors, Metric, Share
from levelled.metrics.predicted import (
    COLUMNS,
    has_slice_columns,
    predicted_ratio_estimate,
    predicted_slice_estimate,
)
from levelled.metrics.ratios import Look, Pairs, Unseen, ratio_estimate, scaled

FIXED = (
    "this interval is valid for a number of labels fixed beforehand, not if you look while labels "
    "come in"
)
"""The warning of an interval that is not read at a planned look and not by betting."""

EARLY = 0.2
"""The part of the error rate with which a claim that is hedged may be decided by betting.

It makes the hedged interval 5% wider at its budget; half of it 2%, twice 11% (normal quantiles).
"""

_USED_UP = (
    "all planned looks are used up: further labels narrow the interval only by betting, and the "
    "value stays that of the last look"
)

WITHOUT_PREDICTOR = (
    "not all draws are adaptive, so this estimate is R_LURE, without what the campaign has learnt"
)
"""The warning of an estimate that would use the predictor if the kind had never changed."""

_MOST_ITEMS = 20
"""The draws that a diagnosis lists."""

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a figure: a metric of a model, in the whole pool or in one slice of it.

    Or it is the difference of two models: the losses or the ratio of `model` minus that of
    `against`.
    """

    metric: Metric
    has_control: bool
    """True where the predictor behind the draws, which is of the first model, predicts these
    losses; for a ratio, the chance of its class."""
    model: str
    pool_size: int
    """The number of items in the pool or the slice."""
    column: str | None = None
    value: str | None = None
    tested: tuple[float, ...] = ()
    """Mean losses (or ratios) that its betting game tests beside those of the grid."""
    against: str | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """The model, and the one against which it is compared."""
        return (self.model,) if self.against is None else (self.model, self.against)

    @property
    def bounds(self) -> Limits:
        """The least and the largest value of an item, which may be infinite."""
        low, high = self.metric.possible
        return (low, high) if self.against is None else (low - high, high - low)

    @property
    def unit(self) -> tuple[float, float]:
        """The start and the width of the range of which the ratio of its pairs is a share."""
        low, high = (0.0, 1.0) if self.is_ratio else self.metric.possible
        return (low if self.against is None else 0.0), high - low

    @property
    def is_ratio(self) -> bool:
        """True for a ratio of two means, False for one mean."""
        return self.metric.kind == "ratio"

    @property
    def is_share(self) -> bool:
        """True for an average of 0/1 losses over the whole pool."""
        return self.column is None and not self.is_ratio and self.metric.bounds == (0, 1)

    @property
    def slice(self) -> str | None:
        """The slice as figures name it; None for the whole pool."""
        return None if self.column is None else f"{self.column}={self.value}"

    @property
    def key(self) -> tuple[object, ...]:
        """The name of its betting game in a snapshot, as `repr` writes it."""
        if self.against is None:
            return (self.metric.name, self.model, self.slice, *self.tested)
        models = (self.against, self.model)
        return ("difference", self.metric.name, *models, self.slice, *self.tested)


def estimate_subject(base: SettledDraws, subject: Subject, level: float) -> Estimate:
    """The estimated mean (or ratio) of the losses, with an interval that may be watched.

    For losses without an upper bound it is the best interval there is, with a warning.
    """
    if not len(base):
        return nothing_known(base.state, subject.bounds)
    if isfinite(subject.bounds[1]):
        est = read_once(base, subject, level, "none")
        if est.interval == "point":
            return est
        name, find = ("hedged", _hedge) if _is_hedged(base, subject) else ("betting", _bet)
        return est.with_limits(*find(base, subject, level), name, (est.low, est.high))
    whole = subject.against is None and not _is_part(base, subject)
    note = None if whole else FIXED
    for interval in ("anytime", "t", "none") if whole else ("auto",):
        try:
            est = read_once(base, subject, level, interval)
            break
        except InputError as refused:
            note = FIXED if interval == "anytime" else str(refused)
    if note is None or est.interval == "point":
        return est
    return replace(est, warnings=(*est.warnings, note))


def read_once(base: SettledDraws, subject: Subject, level: float, interval: str) -> Estimate:
    """The estimated mean (or ratio) of the losses of one draw or more.

    The interval "auto" is for a number of draws that was planned; "none" is what is possible.
    """
    look, inside = Look(base.draws, level, interval), _labelled_in(base, subject)
    if _has_pairs(base, subject):
        first, *others = (_subject_pairs(base, subject, model) for model in subject.models)
        if others:
            est = ratio_difference([(first, others[0])], look)
        else:
            est = _ratio(base, subject, first, look)
        est = replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))
        start, width = subject.unit
        return scaled(est, width, start)
    losses = _losses(base, subject)
    if _is_part(base, subject):
        return slice_estimate(look, losses, inside, subject.pool_size, subject.bounds)
    by = _estimator(base, subject)
    return estimate(losses, base.draws, by, level, interval, subject.bounds)


def _labelled_in(base: SettledDraws, subject: Subject) -> BoolArray:
    """True for the draws of a subject that have a label."""
    return base.in_slice(subject.column, subject.value) & base.labelable


def _is_part(base: SettledDraws, subject: Subject) -> bool:
    """True for a slice, and where some draws cannot be labelled."""
    return subject.column is not None or not base.labelable.all()


def _has_pairs(base: SettledDraws, subject: Subject) -> bool:
    """True for ratios, and for averages over a part of the pool of losses that have bounds."""
    return subject.is_ratio or (isfinite(subject.bounds[1]) and _is_part(base, subject))


def _losses(base: SettledDraws, subject: Subject) -> FloatArray:
    """The losses of the draws, or their differences."""
    first, *others = (base.losses(subject.metric, model)[0] for model in subject.models)
    return first - others[0] if others else first


def _subject_pairs(base: SettledDraws, subject: Subject, model: str) -> Pairs:
    """The numerators and denominators of a ratio, or of losses with bounds in a part of the pool.

    Losses in [A, B] are taken as (L - A) / (B - A). Outside of the slice both are 0.
    """
    metric, inside = subject.metric, _labelled_in(base, subject)
    left = subject.pool_size - int(base.in_slice(subject.column, subject.value).sum())
    losses, denominators = base.losses(metric, model)
    if not subject.is_ratio:
        low, high = metric.possible
        unit = np.clip((losses - low) / (high - low), 0, 1) * inside
        mean = subject.pool_size / base.state.settings.pool_size if base.labelable.all() else None
        unseen: Unseen = [(left, [(0.0, 1.0), (1.0, 1.0)])]
        return Pairs(unit, inside.astype(float), unseen, "label of this slice", mean)
    numerator, denominator = losses * inside, denominators * inside
    counts = None if _is_part(base, subject) else base.state.pred_counts(model)
    shape, positive = metric.pairs([], [], 1, {}), metric.positive
    if not counts or positive is None:
        most = metric.d_max or 1.0
        unseen = [(left, [(0.0, 0.0), (0.0, most / 2), (0.0, most), (most, most)])]
        what = "positive among these items"
        return Pairs(numerator, denominator, unseen, what, is_share=shape.is_share)
    unlabelled = counts.get(positive, 0)
    unlabelled -= int(np.count_nonzero(base.predicted(model) == positive))
    (_, if_positive), (_, if_not) = shape.unseen
    unseen = [(unlabelled, if_positive), (left - unlabelled, if_not)]
    mean = metric.denominator_mean(counts, base.state.settings.pool_size)
    return Pairs(numerator, denominator, unseen, shape.what, mean, shape.is_share)


def _bet(base: SettledDraws, subject: Subject, level: float, name: str = "") -> Limits:
    """The limits of the betting game on a subject; `name` tells it from another game on the same.

    Two ratios are bet on apart, each at half the error rate, because no single game is known for
    their difference.
    """
    if not _has_pairs(base, subject):
        losses, bounds, tested = _losses(base, subject), subject.bounds, subject.tested
        inputs = GameInput(losses, bounds, control=subject.has_control, tested=tested)
        return _play(base, f"{subject.key}{name}", inputs, level)
    start, width = subject.unit

    def bet_on(model: str, key: tuple[object, ...], level: float, *tested: float) -> Limits:
        pairs = _subject_pairs(base, subject, model)
        A, D, mean = pairs.numerator, pairs.denominator, pairs.denominator_mean
        inputs = GameInput(A, (0.0, pairs.most), D, mean, tested=tested)
        return _play(base, f"{key}{name}", inputs, level)

    if subject.against is None:
        shares = [(value - start) / width for value in subject.tested]
        low, high = bet_on(subject.model, subject.key, level, *shares)
        return start + width * low, start + width * high
    (low, high), (other_low, other_high) = (
        bet_on(model, (*subject.key, model), (1 + level) / 2) for model in subject.models
    )
    return width * (low - other_high), width * (high - other_low)


def _play(base: SettledDraws, name: str, inputs: GameInput, level: float) -> Limits:
    """The limits of the game of this name, which goes on from the last look."""
    games = base.cache.games
    limits, games[name] = play(inputs, base.draws, level, games.get(name))
    return limits


def _is_hedged(base: SettledDraws, subject: Subject) -> bool:
    """True for the errors that drive a campaign with a finite-sample guarantee.

    A claim about them is hedged in every adaptive campaign that began with a budget.
    """
    state, whole = base.state, subject.column is None and not subject.is_ratio
    finite = state.settings.is_finite or (
        bool(subject.tested) and state.budgets_of(1)[0] < state.settings.pool_size
    )
    if not (finite and whole and isinstance(subject.metric, Errors | Share)):
        return False
    return subject.has_control and set(hedged.COLUMNS) <= set(base.draws.design or {})


def _hedge(base: SettledDraws, subject: Subject, level: float) -> Limits:
    """The limits of the hedged interval, in which unlabelable items may be right or wrong.

    It is wide before the budget. Where values are tested, a part of the error rate goes to
    betting, which decides clear cases early, and both hold at once by the union of their rates.
    """
    losses, _ = base.losses(subject.metric, subject.model)
    losses = np.where(base.labelable, losses, np.nan)
    budgets, name = base.state.budgets_of(len(base)), repr(subject.key)
    hedge = GameInput(losses, (0.0, 1.0), budgets=budgets, tested=subject.tested)
    if not subject.tested:
        return _play(base, name, hedge, level)
    limits = _play(base, name, hedge, 1 - (1 - EARLY) * (1 - level))
    early = _bet(base, subject, 1 - EARLY * (1 - level), " early")
    low, high = cut_limits(limits, early)
    return float(low), float(high)


def _estimator(base: SettledDraws, subject: Subject) -> str:
    """The estimator of an average: with the predictor of an adaptive campaign, if it has one."""
    predicts = subject.has_control and "predicted_variance" in (base.draws.design or {})
    return "ramped" if predicts else "lure"


def _ratio(base: SettledDraws, subject: Subject, pairs: Pairs, look: Look) -> Estimate:
    """A ratio, or an average over a part of the pool: with the predictor if it predicts it."""
    if _predicts_slice(base, subject):
        return predicted_slice_estimate(
            base.losses(subject.metric, subject.model)[0],
            base.in_slice(subject.column, subject.value),
            str(subject.slice),
            subject.pool_size,
            subject.metric.bounds or (0.0, 1.0),
            pairs.possible,
            look,
        )
    known = set(COLUMNS) <= set(base.draws.design or {}) and base.labelable.all()
    counts = base.state.pred_counts(subject.model)
    if not (subject.has_control and subject.is_ratio and known and counts) or subject.column:
        return ratio_estimate(pairs, look)
    predicted = base.predicted(subject.model) == str(subject.metric.positive)
    return predicted_ratio_estimate(pairs, predicted, look)


def _predicts_slice(base: SettledDraws, subject: Subject) -> bool:
    """True for an average over a slice that the predictor of an adaptive campaign predicts."""
    average = subject.has_control and subject.slice is not None and not subject.is_ratio
    if not average or not has_slice_columns(base.draws, str(subject.slice)):
        return False
    inside = base.in_slice(subject.column, subject.value)
    return bool(base.labelable.all() and inside.any())


def nothing_known(state: CampaignState, possible: tuple[float, float]) -> Estimate:
    """The estimate before the first draw is settled: no value, and all that is possible."""
    low, high = possible
    return Estimate(
        value=None,
        low=low,
        high=high,
        level=state.settings.level,
        stderr=None,
        n_labels=0,
        pool_size=state.settings.pool_size,
        ess=0.0,
        max_weight=0.0,
        estimator="lure",
        interval="undefined",
        warnings=("no draw is settled yet: the first ones have no label so far",),
    )


def estimate_figures(state: CampaignState, cache: FigureCache) -> list[Figure]:
    """Every metric of every model, in the whole pool and in each slice.

    `cache` holds what an earlier look computed: one more label then costs one more round of
    betting, and not all of them again.
    """
    base, pending = settled_draws(state, cache=cache), state.open_draws()
    asked = settled_draws(state, state.n_asked, cache) if state.n_asked > len(base) else base
    return [
        _figure(base, subject, pending, _pending_limits(asked, subject, pending))
        for subject in _subjects(state)
    ]


def estimate_history(state: CampaignState, cache: FigureCache, most: int = 150) -> list[Figure]:
    """The first figure as it was after 1, 2, ... settled draws, at about `most` of these looks.

    The betting games begin anew; other results of `cache` are used.
    """
    subject, pending = next(_subjects(state)), state.open_draws()
    cache = replace(cache, games={})
    base = settled_draws(state, cache=cache)
    asked = settled_draws(state, state.n_asked, cache)
    asked.losses(subject.metric, subject.model)  # of all draws at once
    limits = _pending_limits(asked, subject, pending)
    step = max(len(base) // most, 1)
    looks = [*range(step, len(base), step), len(base)] if len(base) else []
    return [_figure(base.first(n), subject, pending, limits) for n in looks]


def subject_of(
    state: CampaignState,
    metric: Metric,
    model: str,
    column: str | None = None,
    value: str | None = None,
    against: str | None = None,
) -> Subject:
    """A metric of a model in the whole pool, or where `column` has `value`.

    The model is "" where only labels are needed.
    """
    settings = state.settings
    of_first = metric.needs == "label" or model == settings.models[0]
    has_control = of_first and against is None and is_predicted(metric, settings)
    N = settings.pool_size if column is None else settings.slice_counts[column][str(value)]
    return Subject(metric, has_control, model, N, column, value, against=against)


def _subjects(state: CampaignState) -> Iterator[Subject]:
    settings = state.settings
    for metric in settings.metrics:
        for model in ("",) if metric.needs == "label" else (*settings.models, *state.attached):
            yield subject_of(state, metric, model)
            for column in settings.slices:
                for value in settings.slice_counts[column]:
                    yield subject_of(state, metric, model, column, value)


def _figure(
    base: SettledDraws,
    subject: Subject,
    pending: list[int],
    limits: tuple[float | None, float | None],
) -> Figure:
    settings = base.state.settings
    est, latest, look = read_figure(base, subject)
    notes = (*_quantity_notes(base, subject, latest), *_kind_notes(base, subject))
    est = replace(est, warnings=(*est.warnings, *notes))
    return Figure(
        subject.metric.name,
        subject.model or settings.model_name,
        subject.slice,
        est,
        n_labels=len(base.state.answers),
        n_settled=len(base),
        n_pending=len(pending),
        pending_value_min=limits[0],
        pending_value_max=limits[1],
        unlabelable=base.unlabelable_share,
        latest=latest.value,
        look=None if look is None else look.n,
        n_looks=len(settings.looks),
        is_share=subject.is_share,
    )


def _quantity_notes(base: SettledDraws, subject: Subject, est: Estimate) -> tuple[str, ...]:
    """A warning where the classes of a figure of errors look like quantities."""
    metric = subject.metric
    if not isinstance(metric, Errors) or subject.column is not None or est.value is None:
        return ()
    risk, labels = 1 - est.value if metric.complemented else est.value, base.labels
    pred = base.predicted(subject.model)[base.labelable]
    return quantity_notes(risk, [label for label in labels if label is not None], pred)


def _kind_notes(base: SettledDraws, subject: Subject) -> tuple[str, ...]:
    """A warning where the predictor is not used because the kind of the campaign changed."""
    learnt = any(one.predictor and one.first <= len(base) for one in base.state.rounds)
    lost = learnt and "predicted_variance" not in (base.draws.design or {})
    return (WITHOUT_PREDICTOR,) if lost and subject.has_control else ()


def read_figure(
    base: SettledDraws, subject: Subject
) -> tuple[Estimate, Estimate, PlannedLook | None]:
    """The estimate to show, the one with all settled draws, and the last planned look.

    A planned look reads exactly its own draws, at its own level. What is shown is its value and
    its interval, cut to the betting interval of all draws at the rest of the level: by the union
    of their error rates, all that is ever shown holds at once.
    """
    settings, metric = base.state.settings, subject.metric
    level, look = settings.level, settings.last_look(len(base))
    latest = replace(estimate_subject(base, subject, settings.watched_level), level=level)
    est = latest if look is None else _at_look(base, subject, look, latest)
    if metric.complemented:
        est, latest = metric.from_losses(est), metric.from_losses(latest)
    return est, latest, look


def _at_look(base: SettledDraws, subject: Subject, look: PlannedLook, latest: Estimate) -> Estimate:
    """The estimate of a planned look, its interval cut to that of all draws so far."""
    draws, key = base.first(look.n), (subject.key, base.predictor(subject.model), look)
    labels, est = base.cache.looks.get(key, (None, latest))
    if labels != draws.labels:
        est = read_once(draws, subject, look.level, "auto")
        base.cache.looks[key] = draws.labels, est
    if est.value is None or "point" in (est.interval, latest.interval):
        return latest
    low, high, warnings = est.low, est.high, est.warnings
    if latest.interval in ("betting", "anytime"):
        limits = cut_limits((low, high), (latest.low, latest.high))
        low, high = float(limits[0]), float(limits[1])
    if len(base) > base.state.settings.looks[-1].n:
        warnings = (*warnings, _USED_UP)
    level = latest.level
    return replace(est, low=low, high=high, level=level, interval="looks", warnings=warnings)


def _pending_limits(
    asked: SettledDraws, subject: Subject, pending: list[int]
) -> tuple[float | None, float | None]:
    """The least and the largest value that the estimate may have once all labels are in."""
    metric = subject.metric
    low, high = metric.bounds or (0.0, np.inf)
    if not pending or not isfinite(high) or subject.is_ratio or subject.column is not None:
        return None, None
    losses, _ = asked.losses(metric, subject.model)
    out = np.zeros(len(losses), dtype=bool)
    out[np.array(pending) - 1] = True
    if asked.state.unlabelable:
        counted = lure_weights(asked.draws) * (asked.labelable | out)
        ends = [float(counted @ np.where(out, end, losses) / counted.sum()) for end in (low, high)]
    else:
        by, complete = _estimator(asked, subject), [np.where(out, e, losses) for e in (low, high)]
        found = [estimate(values, asked.draws, by, interval="none").value for values in complete]
        ends = [value for value in found if value is not None]  # all, since there are draws
    if metric.complemented:
        ends = [1 - end for end in reversed(ends)]
    return ends[0], ends[1]


@dataclass(frozen=True, slots=True)
class InfluentialItem:
    """A labelled draw with its weight, and its share in the estimated variance."""

    draw: int
    id: str | int
    label: Label | None
    weight: float
    variance_share: float


@dataclass(frozen=True, slots=True)
class CampaignDiagnosis:
    """The weights of the settled draws, and the draws that matter most for the first figure.

    `levelled.estimators.moments.Diagnosis` explains the sizes.
    """

    effective_size: float
    design_size: float | None
    max_weight: float
    weights: tuple[float, ...]
    """The weight of each settled draw in R_LURE, in the order of the draws."""
    items: tuple[InfluentialItem, ...]
    """The draws with the largest shares in the variance, the largest first."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = asdict(self)
        return {**values, "weights": [*self.weights], "items": [*values["items"]]}


def diagnose_campaign(state: CampaignState, cache: FigureCache) -> CampaignDiagnosis | None:
    """The diagnosis of the first metric of the first model; None before a draw is settled."""
    base, settings = settled_draws(state, cache=cache), state.settings
    if not len(base):
        return None
    metric = settings.metrics[0] if settings.metrics[0].kind == "average" else ERROR
    losses, _ = base.losses(metric, settings.models[0])
    found, weights = diagnose(losses, base.draws), lure_weights(base.draws)
    order = np.argsort(-found.variance_share, kind="stable")[:_MOST_ITEMS].tolist()
    items = tuple(
        InfluentialItem(
            at + 1,
            state.draws[at].id,
            base.labels[at],
            float(weights[at]),
            float(found.variance_share[at]),
        )
        for at in order
        if found.variance_share[at] > 0
    )
    return CampaignDiagnosis(
        found.effective_size, found.design_size, found.max_weight, tuple(weights.tolist()), items
    )
