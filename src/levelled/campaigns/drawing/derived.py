"""The settings of a campaign that follow from others: from its pool, its budget and its level."""

from collections.abc import Sequence
from typing import Any

from levelled._check import whole
from levelled.errors import CampaignError
from levelled.estimators.intervals.looks import (
    SHARE,
    PlannedLook,
    plan_looks,
    plan_without_budget,
)
from levelled.metrics.named import Metric
from levelled.sources import Pool, PoolPredictions

_MOST_LOOKS = 100


def outlines_of(pool: Pool, metric: Metric) -> dict[str, PoolPredictions]:
    """What each model predicts for some items; a pool that names no model has one without a name.

    They show which columns there are and of what kind. One item is enough, but for classes
    without any chances: there all predictions tell how many classes there are.
    """
    return {
        one: pool.predictions(one)
        if is_judged(pool, one, metric)
        else pool.predictions_at([0], one)
        for one in pool.models or ("",)
    }


def is_judged(pool: Pool, model: str, metric: Metric) -> bool:
    """True if a metric counts classes and the pool has no chances of them, only predictions."""
    first = pool.predictions_at([0], model)
    chances = (first.proba, first.surrogate, first.loss_hat)
    return metric.label_kind == "class" and all(one is None for one in chances)


def fitting_model_first(pool: Pool, metric: Metric) -> tuple[str, ...]:
    """The models, those first whose predictions are labels of the kind that a metric counts.

    Beside a judge that rates, a share of passes is predicted by the one that says "pass".
    """
    counted = metric.positive

    def fits(model: str) -> bool:
        if metric.label_kind == "number":
            return pool.predictions_at([0], model).number is not None
        return counted is None or counted in pool.pred_counts(model)

    return tuple(sorted(pool.models or ("",), key=lambda model: not fits(model)))


def settings_of_pool(
    pool: Pool, metrics: Sequence[Metric], slices: Sequence[str]
) -> dict[str, Any]:
    """The settings that a pool determines: its size, content, models, classes and counts."""
    models = fitting_model_first(pool, metrics[0])
    number = pool.predictions_at([0], models[0]).number
    return {
        "fingerprint": pool.fingerprint,
        "pool_size": len(pool),
        "models": models,
        "classes": pool.classes,
        "numeric": _is_numeric(metrics, has_numbers=number is not None),
        "features": pool.features,
        "columns": pool.choices,
        "group": pool.group,
        "n_groups": pool.n_groups,
        "slice_counts": {column: pool.slice_values(column).counts() for column in slices},
        "pred_counts": {one: pool.pred_counts(one) for one in pool.models or ("",)},
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
