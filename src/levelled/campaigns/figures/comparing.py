"""Comparisons of the models of a campaign, paired on the same labels."""

from dataclasses import replace
from functools import partial

import numpy as np

from levelled.campaigns.figures.figures import (
    FIXED,
    Subject,
    bet,
    estimate_figures,
    labelled_in,
    nothing_known,
    subject_of,
    subject_pairs,
)
from levelled.campaigns.figures.settled import FigureCache, GameInput, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.estimators import Estimate, estimate
from levelled.metrics.averages import slice_estimate
from levelled.metrics.comparison import Comparison, Figure, ratio_difference
from levelled.metrics.named import Metric
from levelled.metrics.ratio import Look, scaled

_USED_UP = "all planned looks are used up: later labels do not change this comparison"


def compare_models(
    state: CampaignState,
    cache: FigureCache,
    model: str,
    against: str | None = None,
    metric: str | None = None,
) -> list[Comparison]:
    """The metric of `model` minus that of `against`, in one metric of the campaign or in all.

    Errors that both models make cancel.
    """
    base = settled_draws(state, cache=cache)
    other = state.settings.models[0] if against is None else find_model(state, against)
    one = find_other_model(state, model, other)
    return [
        compare_subjects(base, each, one, other) for each in find_metrics(state.settings, metric)
    ]


def comparable_figures(state: CampaignState, cache: FigureCache) -> list[Figure]:
    """The figures of the campaign, each with the means to compare another model with it."""
    return [
        replace(figure, compare=partial(_compare_figure, state, cache, figure))
        for figure in estimate_figures(state, cache)
    ]


def compare_with_first(state: CampaignState, cache: FigureCache) -> list[Comparison]:
    """Each further model against the first, in every metric that can be compared."""
    if all(map(why_not_compared, state.settings.metrics)):
        return []
    models = [*state.settings.models, *state.attached][1:]
    return [one for model in models for one in compare_models(state, cache, model)]


def why_not_compared(metric: Metric) -> str | None:
    """The reason why models cannot be compared in this metric; None where they can."""
    if metric.needs == "label":
        return f"{metric.name} is about the labels alone, so it is the same for every model."
    return None


def _compare_figure(
    state: CampaignState, cache: FigureCache, figure: Figure, model: str
) -> Comparison:
    """The metric of `model` minus that of the figure, in the slice of the figure."""
    settings = state.settings
    (metric,) = find_metrics(settings, figure.metric)
    other = find_model(state, figure.model or "first")
    one = find_other_model(state, model, other)
    slices = ((c, v) for c in settings.slices for v in settings.slice_counts[c])
    where = next(((c, v) for c, v in slices if f"{c}={v}" == figure.slice), (None, None))
    return compare_subjects(settled_draws(state, cache=cache), metric, one, other, *where)


def find_model(state: CampaignState, name: str) -> str:
    """The model that users call `name`; "first" is the first, unless another has that name."""
    settings = state.settings
    models = [*settings.models, *state.attached]
    names = {shown_model(settings, model): model for model in reversed(models)}
    if name in names:
        return names[name]
    if name == "first":
        return models[0]
    raise CampaignError(
        f"{settings.name!r} has no model {name!r}; its models are {', '.join(reversed(names))}. "
        f"`levelled attach` adds one."
    )


def find_other_model(state: CampaignState, name: str, other: str) -> str:
    """The model that users call `name`, refused if it is the `other` one."""
    model = find_model(state, name)
    if model == other:
        raise CampaignError(
            f"A comparison needs two models, and both are "
            f"{shown_model(state.settings, model)!r}: name another one with --against (against=)."
        )
    return model


def shown_model(settings: CampaignSettings, model: str) -> str:
    """The name of a model as users see it."""
    return settings.shown_name(model) or "first"


def find_metrics(settings: CampaignSettings, name: str | None) -> list[Metric]:
    """The metric of this name, or all in which models can be compared."""
    if name is None:
        chosen = [one for one in settings.metrics if why_not_compared(one) is None]
        if chosen:
            return chosen
    asked = find_metric(settings, name)
    if why := why_not_compared(asked):
        raise CampaignError(why)
    return [asked]


def find_metric(settings: CampaignSettings, name: str | None) -> Metric:
    """The metric of this name, or the first."""
    for metric in settings.metrics:
        if name in (None, metric.name):
            return metric
    there = ", ".join(settings.metric_names)
    raise CampaignError(f"{settings.name!r} does not estimate {name!r}, but {there}.")


def compare_subjects(
    base: SettledDraws,
    metric: Metric,
    model: str,
    against: str,
    column: str | None = None,
    value: str | None = None,
) -> Comparison:
    """The metric of `model` minus that of `against`, in the pool or one slice."""
    settings = base.state.settings
    one, other = (subject_of(base.state, metric, each, column, value) for each in (model, against))
    return Comparison(
        shown_model(settings, model),
        shown_model(settings, against),
        _difference(base, one, other),
        metric=metric.name,
        slice=one.slice,
        in_points=metric.bounds == (0.0, 1.0),
        higher_is_better=bool(metric.higher_is_better),
    )


def _difference(base: SettledDraws, one: Subject, other: Subject) -> Estimate:
    """The figure of `one` minus that of `other`, valid like the figures of the campaign.

    It is read at the last planned look, from exactly the draws of that look. Where there is none
    yet, it is read by betting, which is valid however often one looks.
    """
    settings = base.state.settings
    if not len(base):
        least, most = one.metric.bounds or (-np.inf, np.inf)
        return nothing_known(base.state, (least - most, most - least))
    est, look = _estimate(base, one, other, settings.level, "none"), settings.last_look(len(base))
    if look is None and est.interval != "point":
        est = _watched(base, one, other, settings.watched_level)
    elif look is not None and est.interval != "point":
        est = _estimate(base.first(look.n), one, other, look.level, "auto")
        est = est if est.value is None else replace(est, interval="looks")
        if len(base) > settings.looks[-1].n:
            est = replace(est, warnings=(*est.warnings, _USED_UP))
    if one.metric.complemented:
        est = scaled(est, -1.0)
    return replace(est, level=settings.level)


def _estimate(
    base: SettledDraws, one: Subject, other: Subject, level: float, interval: str
) -> Estimate:
    """The difference of the losses or ratios, with an interval for a planned number of draws."""
    draws, metric, inside = base.draws, one.metric, labelled_in(base, one)
    if _has_pairs(base, one):
        both = subject_pairs(base, one), subject_pairs(base, other)
        est = ratio_difference([both], Look(draws, level, interval))
        est = replace(est, pool_size=one.pool_size, n_labels=int(inside.sum()))
        return scaled(est, _range(one))
    D = base.losses(metric, one.model)[0] - base.losses(metric, other.model)[0]
    bounds = (-_range(one), _range(one))
    if inside.all() and one.column is None:
        return estimate(D, draws, level=level, interval=interval, bounds=bounds)
    return slice_estimate(Look(draws, level, interval), D, inside, one.pool_size, bounds)


def _has_pairs(base: SettledDraws, subject: Subject) -> bool:
    """True for ratios, and for averages over a part of the pool of losses that have bounds."""
    part = subject.column is not None or not base.labelable.all()
    return subject.is_ratio or (part and bool(np.isfinite(_range(subject))))


def _range(subject: Subject) -> float:
    """The largest loss less the smallest; 1 for a ratio."""
    low, high = subject.metric.bounds or (0.0, np.inf)
    return high - low


def watched_difference(base: SettledDraws, one: Subject, other: Subject, level: float) -> Estimate:
    """The figure of `one` minus that of `other` in the whole pool, from all settled draws.

    The interval has a finite-sample guarantee and may be read at any time; losses need bounds.
    """
    if not len(base):
        return nothing_known(base.state, (-_range(one), _range(one)))
    est = _estimate(base, one, other, level, "none")
    if est.interval != "point":
        est = _watched(base, one, other, level)
    return scaled(est, -1.0) if one.metric.complemented else est


def _watched(base: SettledDraws, one: Subject, other: Subject, level: float) -> Estimate:
    """The difference with an interval that may be read at any time, if the losses have bounds.

    Two ratios are bet on apart, each at half the error rate, because no single game is known for
    their difference.
    """
    most = _range(one)
    key = ("difference", one.metric.name, other.model, one.model, one.slice, *one.tested)
    if not np.isfinite(most):
        est = _estimate(base, one, other, level, "auto")
        return replace(est, warnings=(*est.warnings, FIXED))
    est = _estimate(base, one, other, level, "none")
    if not _has_pairs(base, one):
        D = base.losses(one.metric, one.model)[0] - base.losses(one.metric, other.model)[0]
        inputs = GameInput(D, (-most, most), tested=one.tested)
        limits = bet(base, repr(key), inputs, level)
        return est.with_limits(*limits, "betting", (est.low, est.high))
    apart = []
    for subject in (one, other):
        pairs = subject_pairs(base, subject)
        A, D, mean = pairs.numerator, pairs.denominator, pairs.denominator_mean
        inputs = GameInput(A, (0.0, pairs.most), D, mean)
        apart.append(bet(base, repr((*key, subject.model)), inputs, (1 + level) / 2))
    (low, high), (other_low, other_high) = apart
    limits = most * (low - other_high), most * (high - other_low)
    return est.with_limits(*limits, "betting", (est.low, est.high))
