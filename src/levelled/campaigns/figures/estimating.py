"""The estimate of one figure of a campaign: an average or a ratio, fixed or watched."""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.figures.betting import GameInput, play
from levelled.campaigns.figures.settled import SettledDraws
from levelled.campaigns.log.state import CampaignState
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import Estimate, estimate
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.looks import cut_limits
from levelled.metrics.averages import slice_estimate
from levelled.metrics.named import Errors, Metric, Share
from levelled.metrics.predicted import (
    COLUMNS,
    has_slice_columns,
    predicted_ratio_estimate,
    predicted_slice_estimate,
)
from levelled.metrics.ratio import Look, Pairs, ratio_estimate, scaled

FIXED = (
    "this interval is valid for a number of labels fixed beforehand, not if you look while labels "
    "come in"
)
"""The warning of an interval that is not read at a planned look and not by betting."""

EARLY = 0.2
"""The part of the error rate with which a claim that is hedged may be decided by betting."""

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
    tested: tuple[float, ...] = ()
    """Mean losses (or ratios) that its betting game tests beside those of the grid."""

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
    return _unbounded_part(base, subject, losses, inside, level, fixed)


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
    draws, bounds, by = base.draws, subject.metric.bounds or (0.0, 1.0), estimator_of(base, subject)
    if fixed:
        return estimate(losses, draws, by, level=level, bounds=bounds)
    est = estimate(losses, draws, by, level=level, interval="none", bounds=bounds)
    inputs = GameInput(losses, bounds, control=subject.has_control, tested=subject.tested)
    if _is_hedged(base, subject):
        return est.with_limits(*_hedge(base, subject, inputs, level), "hedged")
    return est.with_limits(*bet(base, subject.key, inputs, level), "betting")


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


def estimator_of(base: SettledDraws, subject: Subject) -> str:
    """The estimator of an average: with the predictor of an adaptive campaign, if it has one."""
    predicts = subject.has_control and "predicted_variance" in (base.draws.design or {})
    return "ramped" if predicts else "lure"


def estimate_value(losses: FloatArray, draws: Draws, estimator: str) -> float:
    """The estimated mean of losses, without an interval."""
    value = estimate(losses, draws, estimator, interval="none").value
    assert value is not None
    return value


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
    if _is_hedged(base, subject):
        limits = _hedge(base, subject, inputs, level)
        return est.with_limits(*limits, "hedged", pairs.possible)
    return est.with_limits(*bet(base, subject.key, inputs, level), "betting", pairs.possible)


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
    draws, bounds, by = base.draws, subject.metric.possible, estimator_of(base, subject)
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
