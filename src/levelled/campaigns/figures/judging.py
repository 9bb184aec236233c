"""A judge of a campaign against people: its figures come from the functions of `estimate`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.figures.comparing import (
    compare_subjects,
    find_model,
    find_other_model,
    shown_model,
)
from levelled.campaigns.figures.figures import FIXED, read_figure, subject_of
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError
from levelled.estimators import Estimate
from levelled.labels import list_names
from levelled.metrics.comparison import Comparison
from levelled.metrics.judging import (
    JudgeReport,
    Part,
    correlation,
    decide_unattended,
    rating_figures,
)
from levelled.metrics.named import PLAIN, Kappa, Metric, parse_metric
from levelled.reports import Section

_MOST_CLASSES = 20
"""The most classes whose recall is listed."""


def judge_section(state: CampaignState, cache: FigureCache) -> Iterator[Section]:
    """The part of a report on verdicts, where a campaign counts a class that a model predicts."""
    settings, base = state.settings, settled_draws(state, cache=cache)
    first = settings.metrics[0]
    counts = state.pred_counts(settings.models[0]) or {}
    if not first.is_share or not len(base) or first.positive not in counts:
        return
    report = _judge_classes(base, settings.models[0], str(first.positive))
    assert report.decision is not None
    about = (
        f"The share of {first.positive} among the verdicts is {report.raw:.3f}. May they be used "
        f"unattended, if a TPR and a TNR of 0.9 are asked for? {report.decision.answer}: "
        f"{report.decision.because}."
    )
    rows = [
        (
            name,
            one.value_text if one.value is None else f"{one.value:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
        )
        for name, one in report.figures.items()
    ]
    yield Section("Verdicts against labels", about, ("figure", "value", "interval"), rows)


def judge_model(
    state: CampaignState,
    cache: FigureCache,
    numbers: Callable[[str], FloatArray],
    model: str | None = None,
    *,
    against: str | None = None,
    positive: str | None = None,
    by: str | None = None,
    tpr: float = 0.9,
    tnr: float = 0.9,
) -> JudgeReport:
    """Check the verdicts of a model against the labels of a campaign.

    `numbers` gives the predicted numbers of a model for the whole pool.
    """
    base = settled_draws(state, cache=cache)
    if not len(base):
        raise CampaignError(
            f"{state.settings.name!r} has no settled label yet: ask, label and tell some items."
        )
    one = state.settings.models[0] if model is None else find_model(state, model)
    if one not in state.attached and not state.pred_counts(one) and not state.settings.numeric:
        raise CampaignError(
            f"The pool of {state.settings.name!r} has no verdicts to check. Create a campaign with "
            f"--judge-column COLUMN, or add verdicts with `levelled attach`."
        )
    other = None if against is None else find_other_model(state, against, one)
    if by is not None and by not in state.settings.slices:
        there = list_names([*state.settings.slices]) or "none"
        raise CampaignError(
            f"{state.settings.name!r} has no slice {by!r}; its slices are {there}. Name slices "
            f"when you create a campaign (--slice)."
        )
    if state.settings.numeric:
        if positive is not None:
            raise CampaignError(
                f"{state.settings.name!r} has ratings, and no verdict of them is counted: leave "
                f"positive (--positive) out."
            )
        return _judge_ratings(base, one, numbers(one), other, by)
    return _judge_classes(base, one, _positive(state, positive, one), other, by, tpr, tnr)


def _positive(state: CampaignState, wanted: str | None, model: str) -> str:
    """The class to count: the one asked for, else that of the first metric with a class."""
    verdicts, settings = [*(state.pred_counts(model) or {})], state.settings
    named = [one.positive for one in settings.metrics if one.positive is not None]
    chosen = wanted if wanted is not None else next(iter(named), None)
    if chosen is None:
        raise CampaignError(
            f"Say which verdict counts: positive=... or --positive, one of "
            f"{list_names(verdicts, 12) or 'the classes'}."
        )
    if verdicts and chosen not in verdicts:
        raise CampaignError(
            f"No verdict of {shown_model(settings, model)} is {chosen!r}; they are "
            f"{list_names(verdicts, 12)}."
        )
    return chosen


def _read(
    base: SettledDraws,
    model: str,
    metric: Metric,
    column: str | None = None,
    value: str | None = None,
) -> Estimate:
    """The estimate to show, in the pool or a slice, which holds however often one looks."""
    model = "" if metric.needs == "label" else model
    return read_figure(base, subject_of(base.state, metric, model, column, value)).shown


def _slice_parts(
    base: SettledDraws, model: str, by: str | None, name: str, metric: Metric
) -> Iterator[Part]:
    """A figure called `name` in each slice of one column, or of all columns."""
    settings = base.state.settings
    for column in settings.slices if by is None else (by,):
        for value in settings.slice_counts[column]:
            yield Part(f"{column}={value}", name, _read(base, model, metric, column, value))


def _judge_classes(
    base: SettledDraws,
    model: str,
    positive: str,
    other: str | None = None,
    by: str | None = None,
    tpr: float = 0.9,
    tnr: float = 0.9,
) -> JudgeReport:
    """The report on a judge whose verdicts are classes."""

    read, counts = partial(_read, base, model), base.state.pred_counts(model) or {}
    metrics: dict[str, Metric] = {
        "TPR": parse_metric(f"recall:{positive}"),
        "TNR": parse_metric(f"specificity:{positive}"),
        "precision": parse_metric(f"precision:{positive}"),
        "agreement": PLAIN["accuracy"],
    }
    if sum(n > 0 for n in counts.values()) > 1:
        metrics["kappa"] = Kappa.of(counts, positive)
    figures = {name: read(metric) for name, metric in metrics.items()}
    parts = [*_slice_parts(base, model, by, "agreement", PLAIN["accuracy"])]
    if 2 < len(counts) <= _MOST_CLASSES and by is None:
        parts += [Part(name, "recall", read(parse_metric(f"recall:{name}"))) for name in counts]
    named = () if other is None else ("TPR", "TNR", "agreement")
    return JudgeReport(
        shown_model(base.state.settings, model),
        positive,
        counts.get(positive, 0) / (sum(counts.values()) or 1),
        read(parse_metric(f"share:{positive}")),
        figures,
        tuple(sorted(parts, key=lambda part: _value(part.estimate, 2.0))),
        decide_unattended(figures["TPR"], figures["TNR"], tpr, tnr),
        tuple(_compare(base, model, str(other), name, metrics[name]) for name in named),
    )


def _judge_ratings(
    base: SettledDraws, model: str, numbers: FloatArray, other: str | None, by: str | None
) -> JudgeReport:
    """The report on a judge whose verdicts are ratings: `numbers`, those of the whole pool."""
    settings, name = base.state.settings, "mean absolute difference"
    metric, apart = settings.metrics[0], PLAIN["mae"]
    if not metric.is_mean:
        metric = PLAIN["mean"]
    if metric.bounds is not None:  # those that ratings and labels have
        low, high = min(metric.bounds[0], numbers.min()), max(metric.bounds[1], numbers.max())
        apart = replace(apart, bounds=(0.0, float(high - low)))
    raw, rate = float(numbers.mean()), _read(base, model, metric)
    parts = _slice_parts(base, model, by, name, apart)
    compared = () if other is None else (_compare(base, model, other, name, PLAIN["mae"]),)
    return JudgeReport(
        shown_model(settings, model),
        None,
        raw,
        rate,
        rating_figures(rate, raw, _read(base, model, apart), _correlation(base, model)),
        tuple(sorted(parts, key=lambda part: -_value(part.estimate, 0.0))),
        comparisons=compared,
    )


def _compare(base: SettledDraws, model: str, other: str, name: str, metric: Metric) -> Comparison:
    """A judge minus another one on the same labels, under the name of the report."""
    return replace(compare_subjects(base, metric, model, other), metric=name)


def _correlation(base: SettledDraws, model: str) -> Estimate:
    """The correlation at the last planned look; before it, with a warning."""
    settings, look = base.state.settings, base.state.settings.last_look(len(base))
    base = base if look is None else base.first(look.n)
    complete = bool(base.labelable.all())
    labels = np.array(base.labels if complete else [0] * len(base), dtype=np.float64)
    ratings = base.predicted(model).astype(np.float64)
    level = settings.level if look is None else look.level
    found = correlation(labels, ratings, base.draws, level=level)
    notes = found.warnings if look is not None or found.stderr == 0 else (*found.warnings, FIXED)
    if base.known:
        notes = (*notes, "a correlation leaves out the labels that were known without a draw")
    if not complete:
        notes = ("a correlation needs a label for every settled draw",)
    return replace(found, level=settings.level, warnings=notes)


def _value(estimate: Estimate, undefined: float) -> float:
    return undefined if estimate.value is None else estimate.value
