"""The number of labels that a campaign will take: before it, and from the labels it has."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from levelled._check import between
from levelled.campaigns.drawing.drawing import frozen_proposal
from levelled.campaigns.drawing.drivers import choose_kind
from levelled.campaigns.drawing.pools import fitting_model_first
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError
from levelled.estimators.lure import ranked_weights
from levelled.metrics.named import ERROR, parse_metric
from levelled.metrics.planning import Pilot, Plan, PlanRequest, plan_from_spread, plan_pool
from levelled.proposals import mixture, proportional
from levelled.sources import Pool, open_pool

_ENOUGH = 10
"""Labels from which on the spread of losses is estimated."""
_LEARNT = 50
"""Labels from which on an adaptive campaign is planned from what its predictor has learnt."""
_MOSTLY_FEWER = (
    "an adaptive campaign, as create makes it of this pool, learns from its labels and mostly "
    "needs fewer"
)
_NO_LOOKS = (
    "this is for five planned looks. This campaign plans none, and the interval it shows instead "
    "is wider"
)


def plan_campaign(
    pool: Any,  # noqa: ANN401
    width: float,
    metric: str = "error",
    *,
    expected: float | None = None,
    level: float = 0.95,
    floor: float = 0.5,
    classes: Sequence[str] | None = None,
) -> Plan:
    """The number of labels until the interval is `width` wide, from the predictions alone.

    `metrics.plan` takes arrays. The plan is for a static campaign. `Campaign.plan` plans from the
    labels that a campaign has.

    Parameters
    ----------
    pool, metric, classes
        As for `create_campaign`.
    width
        The width of the interval to reach.
    expected
        The value that the metric is expected to have; without it, what the predictions expect.
    level
        The confidence of the interval.
    floor
        The part of the probability that is uniform.
    """
    request = PlanRequest(parse_metric(metric), width, level, expected=expected)
    floor = between("floor", floor, 0, 1)
    opened = pool if isinstance(pool, Pool) else open_pool(pool, classes=classes)
    predictions = opened.predictions(fitting_model_first(opened, request.metric)[0])
    request.metric.require(predictions)
    score = request.metric.score(predictions)
    weights = mixture(proportional(score, allow_zero=True), floor)
    plan = plan_pool(request, predictions, weights)
    chosen = choose_kind(
        "auto", request.metric, ("auto", "proportional", floor), lambda: predictions
    )
    return replace(plan, note=_MOSTLY_FEWER) if chosen == "adaptive" else plan


def plan_further(
    state: CampaignState,
    cache: FigureCache,
    pool: Pool,
    width: float,
    metric: str | None = None,
    expected: float | None = None,
) -> Plan:
    """The number of labels until the interval is `width` wide, from a campaign's settled labels."""
    plan, settings = _plan_from(state, cache, pool, width, metric, expected), state.settings
    is_other = settings.kind == "adaptive" and plan.kind == "static"
    notes = [*([_MOSTLY_FEWER] if is_other else []), *([] if settings.looks else [_NO_LOOKS])]
    return replace(plan, note=". ".join(notes))


def _plan_from(
    state: CampaignState,
    cache: FigureCache,
    pool: Pool,
    width: float,
    metric: str | None,
    expected: float | None,
) -> Plan:
    settings, base = state.settings, settled_draws(state, cache=cache)
    chosen = settings.metrics[0] if metric is None else parse_metric(metric)
    looks = len(settings.looks) if settings.looks and settings.budget is not None else 5
    request = PlanRequest(chosen, width, settings.level, looks, expected)
    kind, model = "number" if settings.numeric else "class", settings.models[0]
    if chosen.label_kind not in (kind, None):
        raise CampaignError(
            f"{chosen.name} needs a {chosen.label_kind} as label, and every label of "
            f"{settings.name!r} is a {kind}: plan {' or '.join(settings.metric_names)}."
        )
    learns = chosen.same_loss_as(settings.metrics[0]) and chosen.kind == "average"
    predicts = "predicted_variance" in (base.draws.design or {})
    if learns and predicts and len(base) >= _LEARNT and base.labelable.all():
        return replace(_from_spread(base, request, model, "ramped"), kind="adaptive")
    frozen = "uniform" if settings.kind == "uniform" else "static"
    if chosen.label_kind != "class":
        return replace(_from_spread(base, request, model, "lure"), kind=frozen)
    wrong, _ = base.losses(ERROR, model)
    here = base.labelable
    weight = ranked_weights(base.draws.probability, settings.pool_size)
    pilot = Pilot(base.draws.index[here], wrong[here], weight[here])
    weights = frozen_proposal(partial(pool.runs, model), settings).weights
    return replace(plan_pool(request, pool.predictions(model), weights, pilot), kind=frozen)


def _from_spread(base: SettledDraws, request: PlanRequest, model: str, estimator: str) -> Plan:
    """The plan from the spread of the losses so far."""
    name, metric = base.state.settings.name, request.metric
    if len(base) < _ENOUGH or not base.labelable.all():
        raise CampaignError(
            f"Nothing predicts {metric.name} before there are labels, and {name!r} has "
            f"{len(base)} settled ones: label {_ENOUGH} or more, all of them labelable."
        )
    losses, _ = base.losses(metric, model)
    return plan_from_spread(request, losses, base.draws, estimator)
