"""The figures of a campaign: every metric, model and slice, estimated from the settled draws."""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

import numpy as np

from levelled.campaigns.drawing.driving import is_predicted
from levelled.campaigns.figures.estimating import (
    Subject,
    estimate_subject,
    estimate_value,
    estimator_of,
)
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.estimators import Estimate, lure_weights
from levelled.estimators.intervals.looks import PlannedLook, cut_limits
from levelled.labels import quantity_notes
from levelled.metrics.figure import Figure
from levelled.metrics.named import Errors, Metric

_USED_UP = (
    "all planned looks are used up: further labels narrow the interval only by betting, and the "
    "value stays that of the last look"
)

WITHOUT_PREDICTOR = (
    "not all draws are adaptive, so this estimate is R_LURE, without what the campaign has learnt"
)
"""The warning of an estimate that would use the predictor if the kind had never changed."""


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


def pool_subject(state: CampaignState, metric: Metric, model: str) -> Subject:
    """A metric of a model in the whole pool; the model is "" where only labels are needed."""
    settings, is_ratio = state.settings, metric.d_max is not None
    of_first = metric.needs == "label" or model == settings.models[0]
    has_control = of_first and is_predicted(metric, settings)
    return Subject(metric, is_ratio, has_control, model, settings.pool_size)


def _subjects(state: CampaignState) -> Iterator[Subject]:
    settings = state.settings
    for metric in settings.metrics:
        for model in ("",) if metric.needs == "label" else (*settings.models, *state.attached):
            yield (whole := pool_subject(state, metric, model))
            for column in settings.slices:
                for value, n in settings.slice_counts[column].items():
                    yield replace(whole, pool_size=n, column=column, value=value)


def read_estimate(base: SettledDraws, subject: Subject) -> Estimate:
    """The estimate of a subject as figures show it."""
    return _read(base, subject)[0]


def _figure(
    base: SettledDraws,
    subject: Subject,
    pending: list[int],
    limits: tuple[float | None, float | None],
) -> Figure:
    settings = base.state.settings
    est, latest, look = _read(base, subject)
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


def _read(base: SettledDraws, subject: Subject) -> tuple[Estimate, Estimate, PlannedLook | None]:
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
        by, complete = estimator_of(asked, subject), [np.where(out, e, losses) for e in (low, high)]
        ends = [estimate_value(values, asked.draws, by) for values in complete]
    if metric.complemented:
        ends = [1 - end for end in reversed(ends)]
    return ends[0], ends[1]
