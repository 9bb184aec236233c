"""Comparisons of the models of a campaign, paired on the same labels."""

from dataclasses import replace

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.betting import GameInput, play
from levelled.campaigns.figures import FIXED, nothing_known
from levelled.campaigns.records import CampaignSettings
from levelled.campaigns.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError
from levelled.estimators import Estimate, estimate
from levelled.estimators.intervals.looks import SHARE
from levelled.metrics.comparison import Comparison
from levelled.metrics.metric import Bounds, Metric

__all__ = ["compare_models", "compare_with_first", "why_not_compared"]

_USED_UP = "all planned looks are used up: later labels do not change this comparison"
_UNLABELABLE = "items that cannot be labelled count as no difference"


def compare_models(
    state: CampaignState,
    cache: FigureCache,
    model: str,
    against: str | None = None,
    metric: str | None = None,
) -> list[Comparison]:
    """The difference of two models in one metric of the campaign, or in all that are averages.

    On each settled draw D = L(against) - L(model), or the reverse where higher is better, so that
    a positive mean of D says that `model` is better. Errors that both make cancel.
    """
    settings = state.settings
    first = settings.models[0]
    a, b = first if against is None else _find_model(state, against), _find_model(state, model)
    if a == b:
        raise CampaignError(
            f"A comparison needs two models, and both are {_name(settings, b)!r}: name another one "
            f"with --against (against=)."
        )
    base = settled_draws(state, cache=cache)
    return [
        Comparison(
            _name(settings, a),
            _name(settings, b),
            _difference(base, one, a, b),
            metric=one.name,
            in_points=one.bounds == (0.0, 1.0),
        )
        for one in _find_metrics(settings, metric)
    ]


def compare_with_first(state: CampaignState, cache: FigureCache) -> list[Comparison]:
    """Each further model against the first, in every metric that can be compared."""
    if all(map(why_not_compared, state.settings.metrics)):
        return []
    models = [*state.settings.models, *state.attached][1:]
    return [one for model in models for one in compare_models(state, cache, model)]


def why_not_compared(metric: Metric) -> str | None:
    """The reason why models cannot be compared in this metric; None where they can."""
    if metric.d_max is not None:
        return f"{metric.name} is a ratio, and only averages such as error can be compared yet."
    if metric.needs == "label":
        return f"{metric.name} is about the labels alone, so it is the same for every model."
    return None


def _find_model(state: CampaignState, name: str) -> str:
    """The model that users call `name`; "first" is the first, unless another has that name."""
    settings = state.settings
    models = [*settings.models, *state.attached]
    names = {_name(settings, model): model for model in reversed(models)}
    if name in names:
        return names[name]
    if name == "first":
        return models[0]
    raise CampaignError(
        f"{settings.name!r} has no model {name!r}; its models are {', '.join(reversed(names))}. "
        f"`levelled attach` adds one."
    )


def _name(settings: CampaignSettings, model: str) -> str:
    return settings.shown_name(model) or "first"


def _find_metrics(settings: CampaignSettings, name: str | None) -> list[Metric]:
    """The metric of this name, or all that can be compared."""
    if name is None:
        chosen = [one for one in settings.metrics if why_not_compared(one) is None]
        if chosen:
            return chosen
    elif name not in settings.metric_names:
        there = ", ".join(settings.metric_names)
        raise CampaignError(f"{settings.name!r} does not estimate {name!r}, but {there}.")
    asked = [one for one in settings.metrics if name in (None, one.name)]
    if why := why_not_compared(asked[0]):
        raise CampaignError(why)
    return asked


def _difference(base: SettledDraws, metric: Metric, against: str, model: str) -> Estimate:
    """The mean of D, valid like the figures of the campaign.

    It is read at the last planned look, from exactly the draws of that look. Where there is none
    yet, it is read by betting, which is valid however often one looks.
    """
    state, settings = base.state, base.state.settings
    least, most = metric.bounds or (-np.inf, np.inf)
    bounds = (least - most, most - least)
    if not len(base):
        return nothing_known(state, bounds)
    D = base.losses(metric, against)[0] - base.losses(metric, model)[0]
    if metric.higher_is_better and not metric.complemented:
        D = -D
    est, look = _known(base, D, bounds, settings.level), settings.last_look(len(base))
    if look is None and est.interval != "point":
        est = _watched(base, D, bounds, repr(("difference", metric.name, against, model)))
    elif look is not None and est.interval != "point":
        draws = base.draws[: look.n]
        est = estimate(D[: look.n], draws, level=1 - look.alpha, bounds=bounds)
        est = replace(est, interval="looks")
        if len(base) > settings.looks[-1].n:
            est = replace(est, warnings=(*est.warnings, _USED_UP))
    if not base.labelable.all():
        est = replace(est, warnings=(*est.warnings, _UNLABELABLE))
    return replace(est, level=settings.level)


def _known(base: SettledDraws, D: FloatArray, bounds: Bounds, level: float) -> Estimate:
    """The estimate with the limits that are logically possible."""
    return estimate(D, base.draws, level=level, interval="none", bounds=bounds)


def _watched(base: SettledDraws, D: FloatArray, bounds: Bounds, key: str) -> Estimate:
    """The estimate with an interval that may be read at any time, if the losses have bounds."""
    settings, games = base.state.settings, base.cache.games
    level = 1 - (1 - settings.level) * (1 - SHARE) if settings.looks else settings.level
    if not np.isfinite(bounds).all():
        est = estimate(D, base.draws, level=level, bounds=bounds)
        return replace(est, warnings=(*est.warnings, FIXED))
    est = _known(base, D, bounds, level)
    limits, games[key] = play(GameInput(D, bounds), base.draws, level, games.get(key))
    return est.with_limits(*limits, "betting", (est.low, est.high))
