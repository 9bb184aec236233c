"""The figures of a campaign: every metric, model and slice, estimated from the settled draws.

A figure is an average or a ratio, read at a planned number of draws or watched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.drawing.drawing import is_predicted
from levelled.campaigns.drawing.pools import CampaignPool
from levelled.campaigns.figures.expected import Expectations, Family, NoPoolError
from levelled.campaigns.figures.settled import (
    FigureCache,
    GameInput,
    SettledDraws,
    play,
    settled_draws,
)
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import MissingMetric
from levelled.errors import CampaignError, InputError
from levelled.estimators import Estimate, estimate, lure_weights
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.limits import cut_limits, logical_limits
from levelled.estimators.lure import levels
from levelled.estimators.moments import GivenValues, diagnose
from levelled.estimators.record import SURE
from levelled.labels import Label, quantity_notes
from levelled.looks import PlannedLook
from levelled.metrics.averages import slice_estimate
from levelled.metrics.comparison import Figure
from levelled.metrics.controlled import Columns, FigureForm, controlled_estimate, figure_moments
from levelled.metrics.named import ERROR, Metric, own_module
from levelled.metrics.predicted import (
    COLUMNS,
    has_slice_columns,
    predicted_ratio_estimate,
    predicted_slice_estimate,
)
from levelled.metrics.ratios import Look, Pairs, Unseen, figure_estimate

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
    "all planned looks are used up: further labels move the value, and narrow the interval only by "
    "betting until the budget is raised"
)
_ONCE = (
    "the one look of this campaign was taken: further labels move the value, and the interval stays"
)
_MOVED = "the labels since the last look give {value:.4g}, which its interval does not contain"

_DOUBTFUL = (
    "the interval by betting and the one for this number of labels do not meet, so one of them errs"
)

WITHOUT_PREDICTOR = (
    "not all draws are adaptive, so this estimate is R_LURE, without what the campaign has learnt"
)
"""The warning of an estimate that would use the predictor if the kind had never changed."""

WITHOUT_POOL = (
    "the pool is not at hand, so this figure does without what the campaign has learnt: name the "
    "pool with pool= or --pool"
)
"""The warning of a figure that is wider than it need be."""

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
        return _before_draws(base, subject)
    if isfinite(subject.bounds[1]):
        est = read_once(base, subject, level, "none")
        if est.interval == "point" or est.value is None:
            return est
        if len(subject.metric.parts) > 1:  # no game is known for a mean of ratios
            return replace(est, interval="logical")
        name, find = ("hedged", _hedge) if _is_hedged(base, subject) else ("betting", _bet)
        return _with_limits(base, subject, est, find(base, subject, level), name)
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


def _with_limits(
    base: SettledDraws, subject: Subject, est: Estimate, limits: Limits, name: str
) -> Estimate:
    """An estimate with the limits of a game, cut to what is possible.

    A value that is undefined keeps its own. Where the game and the interval for a fixed number of
    labels do not meet, one of the two errs, and the interval is what is possible. Where they do
    not meet at the level `SURE` either, there is no figure.
    """
    low, high = max(limits[0], est.low), min(limits[1], est.high)
    if est.value is None:
        return est
    if low <= high and (low <= est.value <= high or not _apart(base, subject, est.level, limits)):
        return replace(est, low=low, high=high, interval=name)
    if _apart(base, subject, SURE, _bet(base, subject, SURE, " sure")):
        return est.contradicted
    return replace(est, interval="logical", warnings=(*est.warnings, _DOUBTFUL))


def _apart(base: SettledDraws, subject: Subject, level: float, limits: Limits) -> bool:
    """True if limits do not meet the interval for a fixed number of labels."""
    fixed = read_once(base, subject, level, "auto")
    return max(fixed.low, limits[0]) > min(fixed.high, limits[1])


def read_once(base: SettledDraws, subject: Subject, level: float, interval: str) -> Estimate:
    """The estimated mean (or ratio) of the losses of one draw or more.

    The interval "auto" is for a number of draws that was planned; "none" is what is possible.
    """
    if not is_learnt(base):
        return _read_plain(base, subject, level, interval)
    try:
        return _read_predicted(base, subject, level, interval)
    except NoPoolError as gone:
        if len(subject.metric.parts) > 1:
            raise CampaignError(f"{subject.metric.name} needs the pool. {gone}") from gone
        est = _read_plain(base, subject, level, interval)
        return replace(est, warnings=(*est.warnings, WITHOUT_POOL))


def _columns(base: SettledDraws, subject: Subject) -> Columns:
    """The columns of a figure, with what the predictor of the label expects of them."""
    cache = base.cache
    if cache.expected is None:
        cache.expected = Expectations(cache.pool_at or CampaignPool().at)
        if cache.kept is not None:
            cache.expected.load(*cache.kept)
    models = tuple(model or base.state.settings.models[0] for model in subject.models)
    family = Family(subject.metric, models, subject.column)
    found: Columns = cache.expected.columns(base, family, subject.value)
    return found


def is_learnt(base: SettledDraws) -> bool:
    """True if a predictor of the label serves every figure of a campaign."""
    settings = base.state.settings
    # The draws follow the first metric, whose code may not be approved here.
    is_known = not isinstance(settings.metrics[0], MissingMetric)
    return settings.versions.predictor > 1 and is_known


def _read_predicted(base: SettledDraws, subject: Subject, level: float, interval: str) -> Estimate:
    """The estimate with the control that the predictor of the label gives to every figure."""
    columns = _columns(base, subject)
    inside = _labelled_in(base, subject)
    form, given = _form(base, subject)
    est = controlled_estimate(
        replace(columns, given=given),
        form,
        Look(base.draws, level, interval),
        _possible(base, subject),
        inside & (columns.values[len(columns.values) // 2 :] > 0).any(axis=0),
        _what(subject),
    )
    return replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))


def _what(subject: Subject) -> str:
    """What must be seen for a figure to be defined."""
    if len(subject.metric.parts) > 1:
        return "label or prediction of one of the classes"
    if subject.is_ratio:
        return subject.metric.pairs([], [], 1, {}).what
    return "label" if subject.column is None else "label of this slice"


def _form(base: SettledDraws, subject: Subject) -> tuple[FigureForm, FloatArray]:
    """How the columns make the figure, and sums of items that became known between draws."""
    state, N, parts = base.state, base.state.settings.pool_size, subject.metric.parts
    signs = np.array([1.0, -1.0][: len(subject.models)])
    coefficients = np.tile(signs / len(parts), len(parts))
    exact = np.full(len(coefficients), np.nan)
    if not subject.is_ratio and base.labelable.all():
        exact[:] = subject.pool_size / N
    elif subject.is_ratio and len(exact) == 1 and _has_exact_size(base, subject):
        counts = state.pred_counts(subject.model)
        exact[:] = subject.metric.denominator_mean(counts, N)
    inside = base.known_in_slice(subject.column, subject.value)
    pairs = [base.known_values(*one) for one in product(parts, subject.models)]
    above = [one[0] * inside for one in pairs]
    below = [one[1] * inside if subject.is_ratio else inside * 1.0 for one in pairs]
    known, first = np.stack([*above, *below]), base.known_first
    later = first > 0
    given = GivenValues(first[later], known[:, later]).before(len(base))
    form = FigureForm(
        coefficients,
        exact,
        (0.0, 1.0) if subject.is_ratio else subject.bounds,
        base.draws.pool_size / N,
        known[:, ~later].sum(axis=1) / N,
        counts_errors=bool(np.isfinite(subject.bounds[1])),
    )
    return form, given


def _possible(base: SettledDraws, subject: Subject) -> Limits:
    """The least and the largest value of a figure that the labels so far leave possible."""
    parts = subject.metric.parts
    if len(parts) > 1:
        each = [_possible(base, replace(subject, metric=part)) for part in parts]
        low, high = np.mean(each, axis=0).tolist()
        return low, high
    if subject.is_ratio:
        ends = [
            exact_part(base, subject).join_limits(_subject_pairs(base, subject, model).possible)
            for model in subject.models
        ]
        if subject.against is None:
            return ends[0]
        return ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    inside = base.in_slice(subject.column, subject.value)
    known = base.known_in_slice(subject.column, subject.value)
    first, *others = (
        base.losses(subject.metric, model)[0] @ inside
        + base.known_values(subject.metric, model)[0] @ known
        for model in subject.models
    )
    total = np.asarray(first - (others[0] if others else 0.0))
    seen = int((inside & base.labelable).sum() + known.sum())
    left = subject.pool_size - int(inside.sum() + known.sum())
    low, high = (float(end) for end in logical_limits(total, seen, seen + left, subject.bounds))
    if base.labelable.all() or not seen:
        return low, high
    # The items that are left may be such that cannot be labelled either.
    mean = float(total) / seen
    return min(low, mean), max(high, mean)


def _read_plain(base: SettledDraws, subject: Subject, level: float, interval: str) -> Estimate:
    """The estimate without a predictor of the label."""
    look, inside = Look(base.draws, level, interval), _labelled_in(base, subject)
    exact, (start, width) = exact_part(base, subject), (0.0, 1.0)
    if not exact.n_open:
        est = estimate(np.zeros(len(base)), base.draws, level=level, interval="none")
        est = replace(est, low=0.0, high=0.0, stderr=0.0, interval="point")
    elif _has_pairs(base, subject):
        first, *others = (_subject_pairs(base, subject, model) for model in subject.models)
        if others:
            est = figure_estimate([first, *others], look, signs=(1, -1))
        else:
            est = _ratio(base, subject, first, look)
        start, width = subject.unit
    elif _is_part(base, subject):
        losses, size = _losses(base, subject), exact.n_open if exact.joins else subject.pool_size
        known = Pairs(losses, losses, (), "", **_known_sums(base, subject)).known_before
        est = slice_estimate(look, losses, inside, size, subject.bounds, known)
    else:
        losses, by = _losses(base, subject), _estimator(base, subject)
        given = _given_losses(base, subject)
        lean = base.state.settings.versions.interval == 1
        est = estimate(
            losses, base.draws, by, level, interval, subject.bounds, given=given, lean=lean
        )
    est = exact.join(est).scaled(width, start)
    return replace(est, pool_size=subject.pool_size, n_labels=int(inside.sum()))


@dataclass(frozen=True, slots=True)
class ExactPart:
    """The part of a figure that follows from labels known at the creation, which join exactly.

    The rest is estimated by itself.
    """

    total: float = 0.0
    """The sum of their values, as shares of the range of losses in a part of the pool."""
    size: int = 1
    """The number of items that the figure is over, or the sum of their denominators."""
    n_open: int = 1
    """The same of those that could be drawn at the creation."""

    @property
    def joins(self) -> bool:
        """True if there is such a part."""
        return self.n_open < self.size

    def join(self, est: Estimate) -> Estimate:
        """The estimate over all items, from that over those that could be drawn."""
        return est.scaled(self.n_open / self.size, self.total / self.size) if self.joins else est

    def join_limits(self, limits: Limits) -> Limits:
        """The same for the limits of an interval."""
        low, high = ((self.n_open * end + self.total) / self.size for end in limits)
        return (low, high) if self.joins else limits

    def open_value(self, value: float) -> float:
        """The value over the items that could be drawn, from that over all of them."""
        return (value * self.size - self.total) / self.n_open if self.joins else value


def exact_part(base: SettledDraws, subject: Subject) -> ExactPart:
    """The part of a figure that is known exactly: of an average, or of a precision.

    There the number of items, or the sum of denominators, is known. Elsewhere the labels that are
    known join numerator and denominator of the ratio.
    """
    n_known = base.state.settings.n_known
    if not n_known or not _has_exact_size(base, subject):
        return ExactPart()
    numerators, denominators = _known_pairs(base, subject, subject.models)[:, :n_known]
    size = subject.pool_size
    if subject.is_ratio:
        size = base.state.pred_counts(subject.model).get(str(subject.metric.positive), 0)
    return ExactPart(float(numerators.sum()), size, size - int(denominators.sum()))


def _has_exact_size(base: SettledDraws, subject: Subject) -> bool:
    """True if the number of items that a figure is over, or its denominator, is known exactly."""
    if not subject.is_ratio or not base.labelable.all():
        return bool(base.labelable.all())
    counts, size = base.state.pred_counts(subject.model), base.state.settings.pool_size
    whole = subject.column is None and subject.against is None
    return whole and subject.metric.denominator_mean(counts, size) is not None


def _known_pairs(base: SettledDraws, subject: Subject, models: Sequence[str]) -> FloatArray:
    """Numerators and denominators [2, K] of the labels known without a draw; 0 outside the slice.

    Of an average they are its losses, or the differences of two models, and ones. In a part of the
    pool, losses with bounds are shares of their range.
    """
    first, *others = (base.known_values(subject.metric, model) for model in models)
    inside = base.known_in_slice(subject.column, subject.value)
    if subject.is_ratio:
        return np.asarray(first * inside)
    low, high = subject.metric.possible if _has_pairs(base, subject) else (0.0, 1.0)
    losses = (first[0] - (others[0][0] if others else low)) / (high - low)
    return np.stack([losses, np.ones(len(inside))]) * inside


def _known_sums(
    base: SettledDraws, subject: Subject, models: Sequence[str] | None = None
) -> dict[str, Any]:
    """The arguments of `Pairs` for labels that are known without a draw.

    Those of the creation are left out where they join the figure exactly.
    """
    first, values = base.known_first, _known_pairs(base, subject, models or subject.models)
    start = np.zeros(2) if _has_exact_size(base, subject) else values[:, first == 0].sum(axis=1)
    later = first > 0
    given = GivenValues(first[later], values[:, later]) if later.any() else None
    return {"known": tuple(start.tolist()), "given": given}


def _given_losses(base: SettledDraws, subject: Subject) -> GivenValues | None:
    """The losses that became known between the draws, of a figure over the whole pool."""
    given: GivenValues | None = _known_sums(base, subject)["given"]
    return None if given is None else GivenValues(given.first, given.values[0])


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
    known, size = _known_sums(base, subject, (model,)), base.draws.pool_size
    here = base.known_in_slice(subject.column, subject.value)
    left = subject.pool_size - int(base.in_slice(subject.column, subject.value).sum() + here.sum())
    losses, denominators = base.losses(metric, model)
    if not subject.is_ratio:
        low, high = metric.possible
        unit = np.clip((losses - low) / (high - low), 0, 1) * inside
        n_open = subject.pool_size - int(here[: base.state.settings.n_known].sum())
        mean = n_open / size if base.labelable.all() else None
        unseen: Unseen = [(left, [(0.0, 1.0), (1.0, 1.0)])]
        D, what = inside.astype(float), "label of this slice"
        return Pairs(unit, D, unseen, what, mean, **known)
    numerator, denominator = losses * inside, denominators * inside
    counts = None if _is_part(base, subject) else base.state.pred_counts(model)
    shape, positive = metric.pairs([], [], 1, {}), metric.positive
    if not counts or positive is None:
        most = metric.d_max or 1.0
        unseen = [(left, [(0.0, 0.0), (0.0, most / 2), (0.0, most), (most, most)])]
        what = "positive among these items"
        return Pairs(numerator, denominator, unseen, what, is_share=shape.is_share, **known)
    at_start = base.known_predicted(model)[: base.state.settings.n_known] == positive
    unlabelled = counts.get(positive, 0)
    for predicted in (base.predicted(model), base.known_predicted(model)):
        unlabelled -= int(np.count_nonzero(predicted == positive))
    (_, if_positive), (_, if_not) = shape.unseen
    unseen = [(unlabelled, if_positive), (left - unlabelled, if_not)]
    mean = None
    if _has_exact_size(base, subject):
        open_counts = {positive: counts.get(positive, 0) - int(at_start.sum())}
        mean = metric.denominator_mean(open_counts, size)
    return Pairs(numerator, denominator, unseen, shape.what, mean, shape.is_share, **known)


def _bet(base: SettledDraws, subject: Subject, level: float, name: str = "") -> Limits:
    """The limits of the betting game on a subject; `name` tells it from another game on the same.

    Two ratios are bet on apart, each at half the error rate, because no single game is known for
    their difference.
    """
    exact = exact_part(base, subject)
    if not _has_pairs(base, subject):
        losses, bounds, given = _losses(base, subject), subject.bounds, _given_losses(base, subject)
        tested = tuple(map(exact.open_value, subject.tested))
        inputs = GameInput(losses, bounds, control=subject.has_control, tested=tested, given=given)
        return exact.join_limits(_play(base, f"{subject.key}{name}", inputs, level))
    start, width = subject.unit

    def bet_on(model: str, key: tuple[object, ...], level: float, *tested: float) -> Limits:
        pairs = _subject_pairs(base, subject, model)
        A, D, mean = pairs.numerator, pairs.denominator, pairs.denominator_mean
        known, given = pairs.known, pairs.given
        inputs = GameInput(A, (0.0, pairs.most), D, mean, tested=tested, known=known, given=given)
        return _play(base, f"{key}{name}", inputs, level)

    if subject.against is None:
        shares = [exact.open_value((value - start) / width) for value in subject.tested]
        low, high = exact.join_limits(bet_on(subject.model, subject.key, level, *shares))
        return start + width * low, start + width * high
    (low, high), (other_low, other_high) = (
        bet_on(model, (*subject.key, model), (1 + level) / 2) for model in subject.models
    )
    low, high = exact.join_limits((low - other_high, high - other_low))
    return width * low, width * high


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
    if not (finite and whole and subject.metric.is_indicator):
        return False
    return subject.has_control and set(hedged.COLUMNS) <= set(base.draws.design or {})


def _hedge(base: SettledDraws, subject: Subject, level: float) -> Limits:
    """The limits of the hedged interval, in which unlabelable items may be right or wrong.

    It is wide before the budget. Where values are tested, a part of the error rate goes to
    betting, which decides clear cases early, and both hold at once by the union of their rates.
    """
    losses, _ = base.losses(subject.metric, subject.model)
    losses, exact = np.where(base.labelable, losses, np.nan), exact_part(base, subject)
    budgets, name = base.state.budgets_of(len(base)), repr(subject.key)
    tested, given = tuple(map(exact.open_value, subject.tested)), _given_losses(base, subject)
    hedge = GameInput(losses, (0.0, 1.0), budgets=budgets, tested=tested, given=given)
    if not subject.tested:
        return exact.join_limits(_play(base, name, hedge, level))
    limits = exact.join_limits(_play(base, name, hedge, 1 - (1 - EARLY) * (1 - level)))
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
            exact_part(base, subject).n_open if base.known else subject.pool_size,
            subject.metric.bounds or (0.0, 1.0),
            pairs.possible,
            look,
        )
    known = set(COLUMNS) <= set(base.draws.design or {}) and bool(base.labelable.all())
    known = known and pairs.given is None
    counts = base.state.pred_counts(subject.model)
    if not (subject.has_control and subject.is_ratio and known and counts) or subject.column:
        return figure_estimate([pairs], look)
    predicted = base.predicted(subject.model) == str(subject.metric.positive)
    return predicted_ratio_estimate(pairs, predicted, look)


def _predicts_slice(base: SettledDraws, subject: Subject) -> bool:
    """True for an average over a slice that the predictor of an adaptive campaign predicts."""
    average = subject.has_control and subject.slice is not None and not subject.is_ratio
    if not average or not has_slice_columns(base.draws, str(subject.slice)):
        return False
    if (base.known_first > 0).any():
        return False
    inside = base.in_slice(subject.column, subject.value)
    return bool(base.labelable.all() and inside.any())


def _before_draws(base: SettledDraws, subject: Subject) -> Estimate:
    """The estimate before the first draw is settled: no value, and all that is possible."""
    exact, settings, (low, high) = exact_part(base, subject), base.state.settings, subject.bounds
    if base.known and _has_pairs(base, subject) and subject.against is None:
        start, width = subject.unit
        possible = exact.join_limits(_subject_pairs(base, subject, subject.model).possible)
        low, high = (start + width * end for end in possible)
    elif base.known and subject.column is None:
        total = np.asarray(_known_pairs(base, subject, subject.models)[0].sum())
        known, size = len(base.known_first), subject.pool_size
        low, high = (float(end) for end in logical_limits(total, known, size, subject.bounds))
    is_exact = low == high  # every item has a known label
    return Estimate(
        value=low if is_exact else None,
        low=low,
        high=high,
        level=settings.level,
        stderr=0.0 if is_exact else None,
        n_labels=0,
        pool_size=settings.pool_size,
        ess=0.0,
        max_weight=0.0,
        estimator="lure",
        interval="point" if is_exact else "undefined",
        warnings=()
        if is_exact
        else ("no draw is settled yet: the first ones have no label so far",),
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
    metric = metric.of_pool(state.pred_counts(model), settings.label_classes or None)
    of_first = metric.needs == "label" or model == settings.models[0]
    is_known = not isinstance(settings.metrics[0], MissingMetric)
    has_control = of_first and against is None and is_known and is_predicted(metric, settings)
    N = settings.pool_size if column is None else settings.slice_counts[column][str(value)]
    return Subject(metric, has_control, model, N, column, value, against=against)


def _subjects(state: CampaignState) -> Iterator[Subject]:
    settings = state.settings
    for metric in settings.metrics:
        for model in ("",) if metric.needs == "label" else (*settings.models, *state.attached):
            yield subject_of(state, metric, model)
            for column in settings.slices if metric.in_slices else ():
                for value in settings.slice_counts[column]:
                    yield subject_of(state, metric, model, column, value)


def _figure(
    base: SettledDraws,
    subject: Subject,
    pending: list[int],
    limits: tuple[float | None, float | None],
) -> Figure:
    settings = base.state.settings
    read = read_figure(base, subject)
    est, latest, look = read.shown, read.latest, read.look
    own = own_module(subject.metric.name) is not None
    notes = (
        *_quantity_notes(base, subject, latest),
        *_kind_notes(base, subject),
        *(settings.changed_code if own else ()),
    )
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
        value_at_look=read.value_at_look,
        next_look=settings.next_look(len(base)),
        n_looks=len(settings.looks),
        is_share=subject.is_share,
        known=_known_total(base, subject),
        n_known=int(base.known_in_slice(subject.column, subject.value).sum()),
    )


def _known_total(base: SettledDraws, subject: Subject) -> tuple[int, float]:
    """The labels of a share that were known at the creation, and their sum in the figure."""
    exact, n = exact_part(base, subject), base.state.settings.n_known
    if not subject.is_share or not exact.joins:
        return 0, 0.0
    return n, n - exact.total if subject.metric.complemented else exact.total


def _quantity_notes(base: SettledDraws, subject: Subject, est: Estimate) -> tuple[str, ...]:
    """A warning where the classes of a figure of errors look like quantities."""
    metric = subject.metric
    if metric.loss != "zero_one" or subject.column is not None or est.value is None:
        return ()
    risk, labels = 1 - est.value if metric.complemented else est.value, base.labels
    pred = base.predicted(subject.model)[base.labelable]
    return quantity_notes(risk, [label for label in labels if label is not None], pred)


def _kind_notes(base: SettledDraws, subject: Subject) -> tuple[str, ...]:
    """A warning where the predictor is not used because the kind of the campaign changed."""
    if is_learnt(base):
        return ()
    learnt = any(one.predictor and one.first <= len(base) for one in base.state.rounds)
    lost = learnt and "predicted_variance" not in (base.draws.design or {})
    return (WITHOUT_PREDICTOR,) if lost and subject.has_control else ()


class FigureReading(NamedTuple):
    """A figure as it is read between two planned looks, or where there are none."""

    shown: Estimate
    """The value with all settled draws, and the interval of the last look."""
    latest: Estimate
    """The value with all settled draws, and an interval that may be watched."""
    look: PlannedLook | None
    value_at_look: float | None
    """The value of the last look; None before the first."""


def read_figure(base: SettledDraws, subject: Subject) -> FigureReading:
    """The estimate to show, the one with all settled draws, and the last planned look.

    A planned look reads exactly its own draws, at its own level. Its interval is shown until the
    next one, cut to the betting interval of all draws at the level that is left for it: by the
    union of their error rates, all that is ever shown holds at once. The value is that of all
    settled draws, moved to the nearest limit where the interval does not contain it.
    """
    settings, metric = base.state.settings, subject.metric
    look, at_look = settings.last_look(len(base)), None
    latest = est = replace(watch_subject(base, subject), level=settings.level)
    if look is not None:
        est, at_look = _at_look(base, subject, look, latest)
    if subject.against is not None:
        est, latest = est.scaled(metric.slope), latest.scaled(metric.slope)
        at_look = None if at_look is None else metric.slope * at_look
    else:
        est, latest = metric.from_losses(est), metric.from_losses(latest)
        at_look = None if at_look is None else float(metric.link(at_look))
    return FigureReading(est, latest, look, at_look)


def watch_subject(base: SettledDraws, subject: Subject) -> Estimate:
    """The estimate with what planned looks leave of the error rate.

    Where one look has all of it, the limits are what is possible.
    """
    settings = base.state.settings
    if settings.shares.betting:
        return estimate_subject(base, subject, settings.watched_level)
    if not len(base):
        return _before_draws(base, subject)
    est, (look, *_) = read_once(base, subject, settings.level, "none"), settings.looks
    if est.interval == "point":
        return est
    est = replace(est, interval="logical")
    if look.n <= len(base):
        return est
    note = f"one look at {look.n} labels: the interval comes then"
    return replace(est, warnings=(*est.warnings, note))


def _at_look(
    base: SettledDraws, subject: Subject, look: PlannedLook, latest: Estimate
) -> tuple[Estimate, float | None]:
    """The estimate with the interval of a planned look, and the value of that look."""
    draws, key = base.first(look.n), (subject.key, base.predictor(subject.model), look)
    labels, est = base.cache.looks.get(key, (None, latest))
    if labels != draws.labels:
        est = read_once(draws, subject, look.level, "auto")
        base.cache.looks[key] = draws.labels, est
    at_look, value, settings = est.value, latest.value, base.state.settings
    if at_look is None or value is None or "point" in (est.interval, latest.interval):
        return latest, at_look
    low, high, warnings = est.low, est.high, est.warnings
    if _DOUBTFUL in latest.warnings:
        warnings = (*warnings, _DOUBTFUL)
    if latest.interval in ("betting", "anytime"):
        limits = cut_limits((low, high), (latest.low, latest.high))
        low, high = float(limits[0]), float(limits[1])
    if not low <= value <= high:
        metric = subject.metric
        newest = float(metric.link(value)) if subject.against is None else metric.slope * value
        warnings = (*warnings, _MOVED.format(value=newest))
        value = min(max(value, low), high)
    if len(base) > settings.looks[-1].n:
        warnings = (*warnings, _USED_UP if settings.shares.betting else _ONCE)
    est = replace(est, value=value, low=low, high=high, interval="looks", warnings=warnings)
    return replace(est, level=latest.level, n_labels=latest.n_labels), at_look


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
    complete = [np.where(out, end, losses) for end in (low, high)]
    asked = replace(asked, labelable=asked.labelable | out)
    columns = None
    if is_learnt(asked):
        try:
            columns = _columns(asked, subject)
        except NoPoolError:
            columns = None
    if columns is not None:
        form, sums = _form(asked, subject)
        columns = replace(columns, given=sums)
        look = Look(asked.draws, asked.state.settings.level, "none")
        below = columns.values[1] + out
        ends = [
            figure_moments(replace(columns, values=np.stack([values, below])), form, look).value
            for values in complete
        ]
    elif asked.state.unlabelable:
        counted, known = lure_weights(asked.draws) * asked.labelable, np.zeros(2)
        if asked.known:
            pairs = np.stack([asked.known_values(metric, subject.model)[0], asked.known_first >= 0])
            sums = GivenValues(np.maximum(asked.known_first, 1), pairs).before(len(asked))
            known = sums @ levels(asked.draws.pool_size, len(asked)) / asked.draws.pool_size
        size = counted.sum() + known[1]
        ends = [float((counted @ values + known[0]) / size) for values in complete]
    else:
        by, given = _estimator(asked, subject), _given_losses(asked, subject)
        exact = exact_part(asked, subject)
        read = partial(estimate, draws=asked.draws, estimator=by, interval="none", given=given)
        found = [exact.join(read(values, bounds=(low, high))).value for values in complete]
        ends = [value for value in found if value is not None]  # all, since there are draws
    low, high = sorted(float(metric.link(end)) for end in ends)
    return low, high


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
