"""The figures of a campaign: every metric, model and slice, estimated from the settled draws."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.betting import GameInput, play
from levelled.campaigns.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.state import CampaignState
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate, lure_weights
from levelled.metrics.figure import Figure
from levelled.metrics.metric import Metric
from levelled.metrics.ratio import Look, Pairs, ratio_estimate, scaled
from levelled.metrics.slices import slice_estimate

__all__ = ["estimate_figures", "estimate_history"]

_FIXED = (
    "this interval is valid for a number of labels fixed beforehand, not if you look while labels "
    "come in"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a figure: a metric of a model, in the whole pool or in one slice of it."""

    metric: Metric
    is_ratio: bool
    has_control: bool
    """True where the design's predictor, of the first metric and model, predicts these losses."""
    model: str
    pool_size: int
    """The number of items in the pool or the slice."""
    column: str | None = None
    value: str | None = None

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


def estimate_history(state: CampaignState, most: int = 150) -> list[Figure]:
    """The first figure as it was after 1, 2, ... settled draws, at about `most` of these looks."""
    subject, cache, pending = next(_subjects(state)), FigureCache(), state.open_draws()
    base = settled_draws(state, cache=cache)
    asked = settled_draws(state, state.n_asked, cache)
    asked.losses(subject.metric, subject.model)  # of all draws at once
    limits = _pending_limits(asked, subject, pending)
    step = max(len(base) // most, 1)
    looks = [*range(step, len(base), step), len(base)] if len(base) else []
    return [_figure(base.first(n), subject, pending, limits) for n in looks]


def _subjects(state: CampaignState) -> Iterator[Subject]:
    settings = state.settings
    first, N = settings.metrics[0], settings.pool_size
    for metric in settings.metrics:
        of_label = metric.needs == "label"
        is_ratio, same = metric.kind == "ratio", metric.same_loss_as(first)
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
    est, share, n_settled = _estimate(base, subject), base.unlabelable_share, len(base)
    return Figure(
        subject.metric.name,
        subject.model,
        subject.slice,
        subject.metric.from_losses(est),
        n_labels=len(base.state.answers),
        n_settled=n_settled,
        n_pending=len(pending),
        pending_low=limits[0],
        pending_high=limits[1],
        unlabelable=share,
    )


def _estimate(base: SettledDraws, subject: Subject) -> Estimate:
    """The estimated mean (or ratio) of the losses, with its interval."""
    if not len(base):
        return _nothing_known(base.state, subject.metric)
    here = base.in_slice(subject.column, subject.value)
    inside = here & base.labelable
    everything = bool(inside.all()) and subject.column is None
    left = subject.pool_size - int(here.sum())
    if subject.is_ratio:
        counts = base.state.pred_counts(subject.model) if everything else None
        pairs = base.pairs(subject.metric, subject.model, inside, left, counts)
        return replace(_bet_on_ratio(base, subject, pairs), pool_size=subject.pool_size)
    losses, _ = base.losses(subject.metric, subject.model)
    low, high = subject.metric.bounds or (0.0, np.inf)
    if not isfinite(high):
        if everything:
            return _unbounded(subject.metric, losses, base)
        return _unbounded_part(base, subject, losses, inside)
    if everything:
        return _bet_on_average(base, subject, losses)
    unit = np.clip((losses - low) / (high - low), 0, 1) * inside
    mean = subject.pool_size / base.state.settings.pool_size if base.labelable.all() else None
    unseen = [(left, [(0.0, 1.0), (1.0, 1.0)])]
    pairs = Pairs(unit, inside.astype(float), unseen, "label of this slice", mean)
    est = replace(_bet_on_ratio(base, subject, pairs), pool_size=subject.pool_size)
    return scaled(est, high - low, low)


def _bet_on_average(base: SettledDraws, subject: Subject, losses: FloatArray) -> Estimate:
    """An average over the whole pool of losses that have bounds."""
    level, bounds = base.state.settings.level, subject.metric.bounds or (0.0, 1.0)
    return _bet(
        base,
        subject,
        GameInput(losses, bounds, control=subject.has_control),
        lambda: estimate(losses, base.draws, level=level, interval="none", bounds=bounds),
        (-np.inf, np.inf),
    )


def _bet_on_ratio(base: SettledDraws, subject: Subject, pairs: Pairs) -> Estimate:
    """A ratio, with its interval cut to the ratios that are still possible."""
    level, mean = base.state.settings.level, pairs.denominator_mean
    return _bet(
        base,
        subject,
        GameInput(pairs.numerator, (0.0, pairs.most), pairs.denominator, mean),
        lambda: ratio_estimate(pairs, Look(base.draws, level, "none")),
        pairs.possible,
    )


def _bet(
    base: SettledDraws,
    subject: Subject,
    inputs: GameInput,
    estimate_value: Callable[[], Estimate],
    possible: tuple[float, float],
) -> Estimate:
    """An estimate with the interval of its betting game, which goes on from the last look."""
    games, level, key = base.cache.games, base.state.settings.level, subject.key
    (low, high), games[key] = play(inputs, base.draws, level, games.get(key))
    est = estimate_value()
    low, high = max(low, possible[0]), min(high, possible[1])
    # No interval is needed where the value is known, and none is left where every bet lost.
    if est.value is None or est.interval == "point" or low > high:
        return est
    return replace(est, low=low, high=high, interval="betting")


def _unbounded(metric: Metric, losses: FloatArray, base: SettledDraws) -> Estimate:
    """An average of losses without an upper bound, with the best interval there is for them."""
    draws, level, bounds = base.draws, base.state.settings.level, metric.possible
    notes: tuple[str, ...] = ()
    for interval in ("anytime", "t"):
        try:
            est = estimate(losses, draws, level=level, interval=interval, bounds=bounds)
            return replace(est, warnings=(*est.warnings, *notes))
        except InputError as refused:
            notes = (_FIXED,) if interval == "anytime" else (str(refused),)
    est = estimate(losses, draws, level=level, interval="none", bounds=bounds)
    return replace(est, warnings=(*est.warnings, *notes))


def _unbounded_part(
    base: SettledDraws, subject: Subject, losses: FloatArray, inside: BoolArray
) -> Estimate:
    """An average over a slice, or over labelable items, of losses without an upper bound."""
    metric, level = subject.metric, base.state.settings.level
    look = Look(base.draws, level, "auto")
    est = slice_estimate(look, losses, inside, subject.pool_size, metric.possible)
    return replace(est, warnings=(*est.warnings, _FIXED))


def _nothing_known(state: CampaignState, metric: Metric) -> Estimate:
    """The estimate before the first draw is settled: no value, and all that is possible."""
    low, high = metric.possible
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
