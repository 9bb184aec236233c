"""The figures of a campaign: every metric, model and slice, estimated from the settled draws."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.betting import GameInput, play
from levelled.campaigns.driving import driving_loss, positive_class
from levelled.campaigns.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.state import CampaignState
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate, lure_weights
from levelled.estimators.intervals.looks import SHARE, PlannedLook
from levelled.metrics.figure import Figure
from levelled.metrics.metric import Metric
from levelled.metrics.predicted_ratio import COLUMNS, predicted_ratio_estimate
from levelled.metrics.ratio import Look, Pairs, ratio_estimate, scaled
from levelled.metrics.slices import slice_estimate

__all__ = ["FIXED", "estimate_figures", "estimate_history", "nothing_known"]

FIXED = (
    "this interval is valid for a number of labels fixed beforehand, not if you look while labels "
    "come in"
)
"""The warning of an interval that is not read at a planned look and not by betting."""
_USED_UP = (
    "all planned looks are used up: further labels narrow the interval only by betting, and the "
    "value stays that of the last look"
)

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a figure: a metric of a model, in the whole pool or in one slice of it."""

    metric: Metric
    is_ratio: bool
    has_control: bool
    """True where the predictor behind the draws, which is of the first model, predicts these
    losses; for a ratio, the chance of its class."""
    model: str
    pool_size: int
    """The number of items in the pool or the slice."""
    column: str | None = None
    value: str | None = None

    @property
    def is_share(self) -> bool:
        """True for an average of 0/1 losses over the whole pool."""
        return self.column is None and not self.is_ratio and self.metric.bounds == (0, 1)

    @property
    def slice(self) -> str | None:
        return None if self.column is None else f"{self.column}={self.value}"

    @property
    def key(self) -> str:
        """The name of its betting game in a snapshot."""
        return repr((self.metric.name, self.model, self.slice))


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


def _subjects(state: CampaignState) -> Iterator[Subject]:
    settings = state.settings
    driving, positive, N = (
        driving_loss(settings.metrics[0]),
        positive_class(settings),
        settings.pool_size,
    )
    for metric in settings.metrics:
        of_label, is_ratio = metric.needs == "label", metric.d_max is not None
        if is_ratio:
            same = metric.positive == positive
        else:
            same = metric is driving or metric.same_loss_as(driving)
        for model in ("",) if of_label else (*settings.models, *state.attached):
            has_control = same and (of_label or model == settings.models[0])
            yield Subject(metric, is_ratio, has_control, model, N)
            for column in settings.slices:
                for value, n in settings.slice_counts[column].items():
                    yield Subject(metric, is_ratio, has_control, model, n, column, value)


def _figure(
    base: SettledDraws,
    subject: Subject,
    pending: list[int],
    limits: tuple[float | None, float | None],
) -> Figure:
    settings = base.state.settings
    est, latest, look = _read(base, subject)
    return Figure(
        subject.metric.name,
        subject.model or settings.model_name,
        subject.slice,
        est,
        n_labels=len(base.state.answers),
        n_settled=len(base),
        n_pending=len(pending),
        pending_low=limits[0],
        pending_high=limits[1],
        unlabelable=base.unlabelable_share,
        latest=latest.value,
        look=None if look is None else look.n,
        n_looks=len(settings.looks),
        is_share=subject.is_share,
    )


def _read(base: SettledDraws, subject: Subject) -> tuple[Estimate, Estimate, PlannedLook | None]:
    """The estimate to show, the one with all settled draws, and the last planned look.

    A planned look reads exactly its own draws, at its own level. What is shown is its value and
    its interval, cut to the betting interval of all draws at the rest of the level: by the union
    of their error rates, all that is ever shown holds at once.
    """
    settings, metric = base.state.settings, subject.metric
    level, look = settings.level, settings.last_look(len(base))
    rest = 1 - (1 - level) * (1 - SHARE) if settings.looks else level
    latest = replace(_estimate(base, subject, rest), level=level)
    est = latest if look is None else _at_look(base, subject, look, latest)
    if metric.complemented:
        est, latest = metric.from_losses(est), metric.from_losses(latest)
    return est, latest, look


def _at_look(base: SettledDraws, subject: Subject, look: PlannedLook, latest: Estimate) -> Estimate:
    """The estimate of a planned look, its interval cut to that of all draws so far."""
    draws, key = base.first(look.n), (subject.key, base.predictor(subject.model), look)
    labels, est = base.cache.looks.get(key, (None, latest))
    if labels != draws.labels:
        est = _estimate(draws, subject, 1 - look.alpha, fixed=True)
        base.cache.looks[key] = draws.labels, est
    if est.value is None or "point" in (est.interval, latest.interval):
        return latest
    low, high, warnings = est.low, est.high, est.warnings
    if latest.interval in ("betting", "anytime"):
        low, high = max(low, latest.low), min(high, latest.high)
        if low > high:
            low, high = latest.low, latest.high
    if len(base) > base.state.settings.looks[-1].n:
        warnings = (*warnings, _USED_UP)
    level = latest.level
    return replace(est, low=low, high=high, level=level, interval="looks", warnings=warnings)


def _estimate(
    base: SettledDraws, subject: Subject, level: float, *, fixed: bool = False
) -> Estimate:
    """The estimated mean (or ratio) of the losses, with its interval.

    `fixed` intervals are for a number of draws that was planned; others may be watched.
    """
    if not len(base):
        return nothing_known(base.state, subject.metric.possible)
    here = base.in_slice(subject.column, subject.value)
    inside = here & base.labelable
    everything = bool(inside.all()) and subject.column is None
    left = subject.pool_size - int(here.sum())
    if subject.is_ratio:
        counts = base.state.pred_counts(subject.model) if everything else None
        pairs = base.pairs(subject.metric, subject.model, inside, left, counts)
        est = _bet_on_ratio(base, subject, pairs, level, fixed)
        return replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))
    losses, _ = base.losses(subject.metric, subject.model)
    low, high = subject.metric.bounds or (0.0, np.inf)
    if not isfinite(high):
        if everything:
            return _unbounded(base, subject, losses, level, fixed)
        return _unbounded_part(base, subject, losses, inside, level, fixed)
    if everything:
        return _bet_on_average(base, subject, losses, level, fixed)
    unit = np.clip((losses - low) / (high - low), 0, 1) * inside
    mean = subject.pool_size / base.state.settings.pool_size if base.labelable.all() else None
    unseen = [(left, [(0.0, 1.0), (1.0, 1.0)])]
    pairs = Pairs(unit, inside.astype(float), unseen, "label of this slice", mean)
    est = _bet_on_ratio(base, subject, pairs, level, fixed)
    est = replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))
    return scaled(est, high - low, low)


def _bet_on_average(
    base: SettledDraws, subject: Subject, losses: FloatArray, level: float, fixed: bool
) -> Estimate:
    """An average over the whole pool of losses that have bounds."""
    draws, bounds, by = base.draws, subject.metric.bounds or (0.0, 1.0), _estimator(base, subject)
    if fixed:
        return estimate(losses, draws, by, level=level, bounds=bounds)
    inputs = GameInput(losses, bounds, control=subject.has_control)
    limits = _bet(base, subject, inputs, level)
    est = estimate(losses, draws, by, level=level, interval="none", bounds=bounds)
    return est.with_limits(*limits, "betting")


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
    mean, bounds = pairs.denominator_mean, (0.0, pairs.most)
    inputs = GameInput(pairs.numerator, bounds, pairs.denominator, mean)
    limits = _bet(base, subject, inputs, level)
    est = _ratio(base, subject, pairs, Look(base.draws, level, "none"))
    return est.with_limits(*limits, "betting", pairs.possible)


def _ratio(base: SettledDraws, subject: Subject, pairs: Pairs, look: Look) -> Estimate:
    """A ratio: with the predictor of an adaptive campaign, if it knows the chance of the class."""
    known = set(COLUMNS) <= set(base.draws.design or {}) and base.labelable.all()
    counts = base.state.pred_counts(subject.model)
    if not (subject.has_control and subject.is_ratio and known and counts) or subject.column:
        return ratio_estimate(pairs, look)
    predicted = base.predicts(subject.model, str(subject.metric.positive))
    return predicted_ratio_estimate(pairs, predicted, look)


def _bet(base: SettledDraws, subject: Subject, inputs: GameInput, level: float) -> Limits:
    """The limits of a betting game, which goes on from the last look."""
    games, key = base.cache.games, subject.key
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


def _unbounded_part(
    base: SettledDraws,
    subject: Subject,
    losses: FloatArray,
    inside: BoolArray,
    level: float,
    fixed: bool,
) -> Estimate:
    """An average over a slice, or over labelable items, of losses without an upper bound."""
    look, bounds = Look(base.draws, level, "auto"), subject.metric.possible
    est = slice_estimate(look, losses, inside, subject.pool_size, bounds)
    return est if fixed else replace(est, warnings=(*est.warnings, FIXED))


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


def _pending_limits(
    asked: SettledDraws, subject: Subject, pending: list[int]
) -> tuple[float | None, float | None]:
    """The least and the largest value that the estimate may have once all labels are in."""
    metric = subject.metric
    low, high = metric.bounds or (0.0, np.inf)
    if not pending or not isfinite(high) or subject.is_ratio or subject.column is not None:
        return None, None
    weights = lure_weights(asked.draws)
    losses, _ = asked.losses(metric, subject.model)
    out = np.zeros(len(losses), dtype=bool)
    out[np.array(pending) - 1] = True
    counted = weights * (asked.labelable | out)
    total = counted.sum() if asked.state.unlabelable else len(weights)
    ends = [float(counted @ np.where(out, end, losses) / total) for end in (low, high)]
    if metric.complemented:
        ends = [1 - end for end in reversed(ends)]
    return ends[0], ends[1]
