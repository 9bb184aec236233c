"""What a campaign says so far: every metric, model and slice, on the settled prefix.

An interval by betting is a game that is played label by label. The games are kept between looks
(`Games`), so one more label costs one more round, not a replay.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.games import Games, Table, play
from levelled.campaigns.settled import Settled, settled
from levelled.campaigns.state import CampaignState
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate
from levelled.estimators.intervals.logical import bounds_of
from levelled.metrics.named import Metric, parse_metric
from levelled.metrics.ratio import Pairs, ratio_estimate, scaled
from levelled.metrics.slices import slice_estimate

__all__ = ["Figure", "figures"]

_FIXED = "this interval holds for a number of labels fixed beforehand, not if watched"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of an estimate: a metric of a model, in the whole pool or a slice."""

    metric: str
    model: str
    slice: str | None
    estimate: Estimate
    n_labels: int
    """Answered draws, whether settled or not."""
    n_settled: int
    n_pending: int
    pending_low: float | None = None
    pending_high: float | None = None
    """What the estimate could become with the answers that are still out."""
    unlabelable: float = 0.0
    """The estimated share of the pool that cannot be labelled; the figure is over the rest."""

    def as_dict(self) -> dict[str, Any]:
        """The fields of the file format, in its order."""
        est = self.estimate
        return {
            "metric": self.metric,
            "model": self.model,
            "slice": self.slice,
            "value": est.value,
            "low": _finite(est.low),
            "high": _finite(est.high),
            "level": est.level,
            "interval": est.interval,
            "n_labels": self.n_labels,
            "n_settled": self.n_settled,
            "n_pending": self.n_pending,
            "pool_size": est.pool_size,
            "ess": est.ess,
            "max_weight": est.max_weight,
            "pending_low": self.pending_low,
            "pending_high": self.pending_high,
            "unlabelable": self.unlabelable,
            "warnings": list(est.warnings),
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which figure: a metric of a model, in the whole pool or in one slice of it."""

    metric: Metric
    model: str
    column: str | None = None
    value: str | None = None

    @property
    def slice(self) -> str | None:
        return None if self.column is None else f"{self.column}={self.value}"

    @property
    def key(self) -> str:
        return repr((self.metric.name, self.model, self.slice))


def figures(state: CampaignState, games: Games) -> tuple[list[Figure], dict[str, Any]]:
    """Every metric of every model, in the whole pool and in each slice, with the games' state.

    `games` are those of an earlier look; what they have seen already is not played again.
    """
    base = settled(state)
    asked = settled(state, state.n_asked) if state.n_asked > len(base) else base
    found, kept = [], {}
    for wanted in _wanted(state):
        est, game = _estimated(state, base, wanted, games.get(wanted.key))
        if game is not None:
            kept[wanted.key] = game
        found.append(_figure(state, base, asked, wanted, wanted.metric.from_losses(est)))
    return found, kept


def _wanted(state: CampaignState) -> Iterator[Wanted]:
    settings = state.settings
    for name in settings.metrics:
        metric = parse_metric(name)
        models = (*settings.models, *state.attached) if metric.needs != "label" else ("",)
        for model in models:
            yield Wanted(metric, model)
            for column in settings.slices:
                for value in settings.slice_counts[column]:
                    yield Wanted(metric, model, column, value)


def _figure(
    state: CampaignState, base: Settled, asked: Settled, wanted: Wanted, est: Estimate
) -> Figure:
    low, high = _bracket(state, asked, wanted) if wanted.slice is None else (None, None)
    return Figure(
        wanted.metric.name,
        wanted.model,
        wanted.slice,
        est,
        n_labels=len(state.answers),
        n_settled=state.n_settled,
        n_pending=len(state.open_draws()),
        pending_low=low,
        pending_high=high,
        unlabelable=base.unlabelable_share,
    )


def _estimated(
    state: CampaignState,
    base: Settled,
    wanted: Wanted,
    before: Any,  # noqa: ANN401
) -> tuple[Estimate, Any]:
    """The estimate of one figure, and its game where it has one."""
    settings, metric = state.settings, wanted.metric
    low, high = metric.bounds or (0.0, np.inf)
    if not len(base.draws):
        return undefined_before_any_label(state, metric), None
    inside = base.inside(wanted.column, wanted.value)
    everything = bool(inside.all()) and wanted.slice is None
    values = base.values(state, metric, wanted.model)
    pool_size = settings.pool_size
    if wanted.column is not None:
        pool_size = settings.slice_counts[wanted.column][str(wanted.value)]
    seen = int(base.here(wanted.column, wanted.value).sum())
    if metric.kind == "ratio":
        counts = state.pred_counts(wanted.model) if everything else None
        pairs = base.pairs(state, metric, wanted.model, inside, pool_size - seen, counts)
        found, game = _played(state, base, pairs, before)
        return replace(found, pool_size=pool_size), game
    if not isfinite(high):
        if everything:
            return _unbounded(values.losses, base.draws, settings.level), None
        return _unbounded_part(state, base, wanted, inside, pool_size), None
    if everything:
        return _bounded(state, base, wanted, values.losses, before)
    unit = np.clip((values.losses - low) / (high - low), 0, 1) * inside
    unseen = [(pool_size - seen, [(0.0, 1.0), (1.0, 1.0)])]
    mean = pool_size / settings.pool_size if base.labelable.all() else None
    pairs = Pairs(unit, inside.astype(float), unseen, "label of this slice", mean)
    found, game = _played(state, base, pairs, before)
    return scaled(replace(found, pool_size=pool_size), high - low, low), game


def _bounded(
    state: CampaignState,
    base: Settled,
    wanted: Wanted,
    losses: FloatArray,
    before: Any,  # noqa: ANN401
) -> tuple[Estimate, Any]:
    """An average over the whole pool of losses that have bounds."""
    level, bounds = state.settings.level, wanted.metric.bounds or (0.0, 1.0)
    value = estimate(losses, base.draws, level=level, interval="none", bounds=bounds)
    control = _predicted_beforehand(state, wanted)
    table = Table("average", losses, None, bounds, control=control)
    limits, game = play(table, base.draws, level, before)
    return _with_limits(value, limits), game


def _unbounded_part(
    state: CampaignState, base: Settled, wanted: Wanted, inside: BoolArray, pool_size: int
) -> Estimate:
    """An average over a slice, or over what can be labelled, of losses without an upper bound."""
    metric = wanted.metric
    losses = base.values(state, metric, wanted.model).losses
    bounds = metric.bounds or (0.0, np.inf)
    if metric.signed:
        bounds = bounds_of(losses[inside]) if inside.any() else (-np.inf, np.inf)
    level = state.settings.level
    found = slice_estimate(losses, base.draws, inside, pool_size, level=level, bounds=bounds)
    return replace(found, warnings=(*found.warnings, _FIXED))


def _predicted_beforehand(state: CampaignState, wanted: Wanted) -> bool:
    """Whether the design's predictor, of the first metric and model, is one of these losses."""
    first, metric = parse_metric(state.settings.metrics[0]), wanted.metric
    if metric.needs != "label" and wanted.model != state.settings.models[0]:
        return False
    return metric.same_loss_as(first)


def _unbounded(losses: FloatArray, draws: Draws, level: float) -> Estimate:
    """With an interval that may be watched, where there is one for losses like these."""
    told: tuple[str, ...] = ()
    for interval in ("anytime", "t"):
        try:
            found = estimate(losses, draws, level=level, interval=interval)
            return replace(found, warnings=(*found.warnings, *told))
        except InputError as refused:
            told = (_FIXED,) if interval == "anytime" else (str(refused),)
    found = estimate(losses, draws, level=level, interval="none")
    return replace(found, warnings=(*found.warnings, *told))


def _played(state: CampaignState, base: Settled, pairs: Pairs, before: Any) -> tuple[Estimate, Any]:  # noqa: ANN401
    """A ratio with the interval of its game, cut to what is possible."""
    level = state.settings.level
    value = ratio_estimate(pairs, base.draws, level=level, interval="none")
    table = Table(
        "ratio", pairs.numerator, pairs.denominator, (0.0, pairs.most), pairs.denominator_mean
    )
    (low, high), game = play(table, base.draws, level, before)
    if value.value is None:
        return value, game
    least, most = pairs.possible
    return _with_limits(value, (max(low, least), min(high, most))), game


def _with_limits(found: Estimate, limits: tuple[float, float]) -> Estimate:
    if found.interval == "point" or limits[0] > limits[1]:  # nothing is left to bet on, or all lost
        return found
    return replace(found, low=limits[0], high=limits[1], interval="betting")


def undefined_before_any_label(state: CampaignState, metric: Metric) -> Estimate:
    """What can be said before the first draw is settled: what is possible, and no more."""
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
        warnings=("no draw is settled yet: the first ones are still out",),
    )


def _bracket(
    state: CampaignState, asked: Settled, wanted: Wanted
) -> tuple[float | None, float | None]:
    """What the estimate could become once every answer that is out has come."""
    metric = wanted.metric
    low, high = metric.bounds or (0.0, np.inf)
    pending = state.open_draws()
    if not pending or not isfinite(high) or metric.kind == "ratio":
        return None, None
    weights = asked.lure_weights()
    losses = asked.values(state, metric, wanted.model).losses
    out = np.zeros(len(losses), dtype=bool)
    out[np.array(pending) - 1] = True
    counted = weights * (asked.labelable | out)
    total = counted.sum() if state.resolved else len(weights)
    ends = [float(counted @ np.where(out, end, losses) / total) for end in (low, high)]
    if metric.complemented:
        ends = [1 - end for end in reversed(ends)]
    return ends[0], ends[1]


def _finite(limit: float) -> float | None:
    return limit if isfinite(limit) else None
