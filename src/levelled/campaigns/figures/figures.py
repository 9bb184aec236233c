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
from levelled.metrics.comparison import Figure
from levelled.metrics.named import ERROR, Errors, Metric, Share
from levelled.metrics.predicted import (
    COLUMNS,
    has_slice_columns,
    predicted_ratio_estimate,
    predicted_slice_estimate,
)
from levelled.metrics.ratios import Look, Pairs, ratio_estimate, scaled

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
    """The subject of a figure: a metric of a model, in the whole pool or in one slice of it."""

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
    def key(self) -> str:
        """The name of its betting game in a snapshot."""
        return repr((self.metric.name, self.model, self.slice, *self.tested))


def estimate_subject(
    base: SettledDraws, subject: Subject, level: float, *, fixed: bool = False
) -> Estimate:
    """The estimated mean (or ratio) of the losses, with its interval.

    `fixed` intervals are for a number of draws that was planned; others may be watched.
    """
    if not len(base):
        return nothing_known(base.state, subject.metric.possible)
    inside = labelled_in(base, subject)
    everything = bool(inside.all()) and subject.column is None
    bounds = subject.metric.bounds or (0.0, np.inf)
    if subject.is_ratio or (isfinite(bounds[1]) and not everything):
        est = _bet_on_ratio(base, subject, subject_pairs(base, subject), level, fixed)
        est = replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))
        return est if subject.is_ratio else scaled(est, bounds[1] - bounds[0], bounds[0])
    losses, _ = base.losses(subject.metric, subject.model)
    if isfinite(bounds[1]):
        return _bet_on_average(base, subject, losses, level, fixed)
    if everything:
        return _unbounded(base, subject, losses, level, fixed)
    look, bounds = Look(base.draws, level, "auto"), subject.metric.possible
    est = slice_estimate(look, losses, inside, subject.pool_size, bounds)
    return est if fixed else replace(est, warnings=(*est.warnings, FIXED))


def labelled_in(base: SettledDraws, subject: Subject) -> BoolArray:
    """True for the draws of a subject that have a label."""
    return base.in_slice(subject.column, subject.value) & base.labelable


def subject_pairs(base: SettledDraws, subject: Subject) -> Pairs:
    """The numerators and denominators of a ratio, or of losses with bounds in a part of the pool.

    Losses in [A, B] are taken as (L - A) / (B - A).
    """
    metric, model = subject.metric, subject.model
    inside = labelled_in(base, subject)
    left = subject.pool_size - int(base.in_slice(subject.column, subject.value).sum())
    if subject.is_ratio:
        everything = bool(inside.all()) and subject.column is None
        counts = base.state.pred_counts(model) if everything else None
        return base.pairs(metric, model, inside, left, counts)
    losses, (low, high) = base.losses(metric, model)[0], metric.bounds or (0.0, 1.0)
    unit = np.clip((losses - low) / (high - low), 0, 1) * inside
    mean = subject.pool_size / base.state.settings.pool_size if base.labelable.all() else None
    unseen = [(left, [(0.0, 1.0), (1.0, 1.0)])]
    return Pairs(unit, inside.astype(float), unseen, "label of this slice", mean)


def _bet_on_average(
    base: SettledDraws, subject: Subject, losses: FloatArray, level: float, fixed: bool
) -> Estimate:
    """An average over the whole pool of losses that have bounds."""
    draws, bounds, by = base.draws, subject.metric.bounds or (0.0, 1.0), _estimator(base, subject)
    if fixed:
        return estimate(losses, draws, by, level=level, bounds=bounds)
    est = estimate(losses, draws, by, level=level, interval="none", bounds=bounds)
    inputs = GameInput(losses, bounds, control=subject.has_control, tested=subject.tested)
    return _watch(base, subject, inputs, level, est)


def _watch(
    base: SettledDraws,
    subject: Subject,
    inputs: GameInput,
    level: float,
    est: Estimate,
    possible: Limits = (-np.inf, np.inf),
) -> Estimate:
    """The estimate with the interval that may be read at any time, cut to what is possible."""
    if _is_hedged(base, subject):
        return est.with_limits(*_hedge(base, subject, inputs, level), "hedged", possible)
    return est.with_limits(*bet(base, subject.key, inputs, level), "betting", possible)


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


def _hedge(base: SettledDraws, subject: Subject, inputs: GameInput, level: float) -> Limits:
    """The limits of the hedged interval, in which unlabelable items may be right or wrong.

    It is wide before the budget. Where values are tested, a part of the error rate goes to betting
    on `inputs`, which decides clear cases early, and both hold at once by the union of their rates.
    """
    losses, _ = base.losses(subject.metric, subject.model)
    losses = np.where(base.labelable, losses, np.nan)
    budgets, key = base.state.budgets_of(len(base)), subject.key
    hedge = GameInput(losses, (0.0, 1.0), budgets=budgets, tested=subject.tested)
    if not subject.tested:
        return bet(base, key, hedge, level)
    low, high = bet(base, key, hedge, 1 - (1 - EARLY) * (1 - level))
    early = bet(base, f"{key} early", inputs, 1 - EARLY * (1 - level))
    limits = cut_limits((low, high), early)
    return float(limits[0]), float(limits[1])


def _estimator(base: SettledDraws, subject: Subject) -> str:
    """The estimator of an average: with the predictor of an adaptive campaign, if it has one."""
    predicts = subject.has_control and "predicted_variance" in (base.draws.design or {})
    return "ramped" if predicts else "lure"


def _bet_on_ratio(
    base: SettledDraws, subject: Subject, pairs: Pairs, level: float, fixed: bool
) -> Estimate:
    """A ratio, with its interval cut to the ratios that are still possible."""
    if fixed:
        return _ratio(base, subject, pairs, Look(base.draws, level, "auto"))
    est = _ratio(base, subject, pairs, Look(base.draws, level, "none"))
    mean, bounds = pairs.denominator_mean, (0.0, pairs.most)
    low, high = (0.0, 1.0) if subject.is_ratio else subject.metric.bounds or (0.0, 1.0)
    tested = tuple((value - low) / (high - low) for value in subject.tested)
    inputs = GameInput(pairs.numerator, bounds, pairs.denominator, mean, tested=tested)
    return _watch(base, subject, inputs, level, est, pairs.possible)


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


def bet(base: SettledDraws, key: str, inputs: GameInput, level: float) -> Limits:
    """The limits of the betting game of this name, which goes on from the last look."""
    games = base.cache.games
    limits, games[key] = play(inputs, base.draws, level, games.get(key))
    return limits


def _unbounded(
    base: SettledDraws, subject: Subject, losses: FloatArray, level: float, fixed: bool
) -> Estimate:
    """An average of losses without an upper bound, with the best interval there is for them."""
    draws, bounds, by = base.draws, subject.metric.possible, _estimator(base, subject)
    if fixed:
        return estimate(losses, draws, by, level=level, bounds=bounds)
    notes: tuple[str, ...] = ()
    for interval in ("anytime", "t"):
        try:
            est = estimate(losses, draws, by, level=level, interval=interval, bounds=bounds)
            return replace(est, warnings=(*est.warnings, *notes))
        except InputError as refused:
            notes = (FIXED,) if interval == "anytime" else (str(refused),)
    est = estimate(losses, draws, by, level=level, interval="none", bounds=bounds)
    return replace(est, warnings=(*est.warnings, *notes))


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
) -> Subject:
    """A metric of a model in the whole pool, or where `column` has `value`.

    The model is "" where only labels are needed.
    """
    settings = state.settings
    of_first = metric.needs == "label" or model == settings.models[0]
    has_control = of_first and is_predicted(metric, settings)
    N = settings.pool_size if column is None else settings.slice_counts[column][str(value)]
    return Subject(metric, has_control, model, N, column, value)


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
        est = estimate_subject(draws, subject, look.level, fixed=True)
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
