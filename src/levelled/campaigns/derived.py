"""The settings of a campaign that follow from others: from its pool, its budget and its level."""

from collections.abc import Mapping, Sequence
from typing import Any

from levelled._check import whole
from levelled.errors import CampaignError
from levelled.estimators.intervals.looks import (
    SHARE,
    PlannedLook,
    plan_looks,
    plan_without_budget,
)
from levelled.metrics.metric import Metric
from levelled.sources import Pool, PoolPredictions

__all__ = ["fitting_model_first", "looks_over", "predictions_by_model", "settings_of_pool"]

_MOST_LOOKS = 100


def predictions_by_model(pool: Pool) -> dict[str, PoolPredictions]:
    """What each model of a pool predicts; a pool that names none has one without a name."""
    return {one: pool.predictions(one) for one in pool.models or ("",)}


def fitting_model_first(by_model: Mapping[str, PoolPredictions], metric: Metric) -> tuple[str, ...]:
    """The models, those first whose predictions are labels of the kind that a metric counts.

    Beside a judge that rates, a share of passes is predicted by the one that says "pass".
    """
    counted = metric.positive
    fits = {
        model: one.number is not None
        if metric.label_kind == "number"
        else counted is None or counted in (one.counts() or {})
        for model, one in by_model.items()
    }
    return tuple(sorted(by_model, key=lambda model: not fits[model]))


def settings_of_pool(
    pool: Pool,
    by_model: Mapping[str, PoolPredictions],
    metrics: Sequence[Metric],
    slices: Sequence[str],
) -> dict[str, Any]:
    """The settings that a pool determines: its size, content, models, classes and counts."""
    models = fitting_model_first(by_model, metrics[0])
    first = by_model[models[0]]
    return {
        "fingerprint": pool.fingerprint,
        "pool_size": len(pool),
        "models": models,
        "classes": first.classes,
        "numeric": _is_numeric(metrics, has_numbers=first.number is not None),
        "features": pool.features,
        "columns": pool.choices,
        "group": pool.group,
        "n_groups": pool.n_groups,
        "slice_counts": {column: pool.slice_values(column).counts() for column in slices},
        "pred_counts": {one: each.counts() for one, each in by_model.items()},
    }


def looks_over(
    budget: int | None, pool_size: int, level: float, count: int
) -> tuple[PlannedLook, ...]:
    """The looks planned over a budget, or at 50, 100, 200, ... labels without one.

    >>> [look.n for look in looks_over(100, 10**6, 0.95, 5)]
    [20, 40, 60, 80, 100]
    """
    alpha = SHARE * (1 - level)
    whole("looks", count, least=0)
    if count > _MOST_LOOKS:
        raise CampaignError(f"{count} looks are too many to plan: choose at most {_MOST_LOOKS}.")
    if count == 0:
        return ()
    if budget is None:
        return plan_without_budget(pool_size, alpha)
    return plan_looks(min(budget, pool_size), pool_size, count, alpha)


def _is_numeric(metrics: Sequence[Metric], *, has_numbers: bool) -> bool:
    """True if labels are numbers: as the metrics need it, or else like the predictions."""
    kinds = {metric.label_kind for metric in metrics} - {None}
    if len(kinds) > 1:
        names = ", ".join(metric.name for metric in metrics)
        raise CampaignError(
            f"These metrics do not go together: {names}. Some need a number as label, others a "
            f"class."
        )
    return kinds == {"number"} if kinds else has_numbers
