"""Comparisons of the models of a campaign, paired on the same labels."""

from dataclasses import replace
from functools import partial

from levelled.campaigns.figures.figures import estimate_figures, read_figure, subject_of
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.metrics.comparison import Comparison, Figure
from levelled.metrics.named import Metric


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
    if metric.root or not metric.in_slices:
        instead = "mse" if metric.root else "error"
        return f"Differences of {metric.name} are not estimated: compare models by {instead}."
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
        if name is None or metric.is_called(name):
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
    subject = subject_of(base.state, metric, model, column, value, against)
    return Comparison(
        shown_model(settings, model),
        shown_model(settings, against),
        read_figure(base, subject).shown,
        metric=metric.name,
        slice=subject.slice,
        in_points=metric.bounds == (0.0, 1.0),
        higher_is_better=bool(metric.higher_is_better),
    )
