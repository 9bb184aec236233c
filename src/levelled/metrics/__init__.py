"""Metrics of a model on a pool from labels and predictions, each an `Estimate`.

    metrics.estimate("recall:spam", labels, draws, predictions=pred, pool=pool_pred)
    metrics.mean(ratings, draws, bounds=(1, 5), control=judge, control_mean=judge_mean)
    metrics.f1(labels, pred, draws, positive="spam", pool_pred=pool_pred)
    metrics.per_class("recall", labels, pred, draws)
    metrics.compare(loss_a, loss_b, draws).verdict
    metrics.compare_metric("f1", labels, pred_a, pred_b, draws, positive="spam").verdict
    print(metrics.judge(labels, verdicts, draws, pool_verdicts=all_verdicts, positive="pass"))
    print(metrics.by_slice(losses, draws, slices, pool_slices))
    print(metrics.plan(proba, width=0.02))

`labels` and `pred` are in the order of the draws; classes may be text or numbers. Arguments that
start with `pool_` are in the order of the items and cover the whole pool. A metric that is
undefined so far has the value None, and limits that say what is possible.
"""

from typing import TYPE_CHECKING

from levelled._optional import lazy_names

if TYPE_CHECKING:
    from levelled.metrics.averages import (
        Slice,
        SliceTable,
        accuracy,
        average,
        brier,
        by_slice,
        error,
        log_loss,
        mae,
        mean,
        mse,
        share,
    )
    from levelled.metrics.classification import (
        Confusion,
        balanced_accuracy,
        confusion,
        f1,
        f_beta,
        macro,
        micro,
        per_class,
        precision,
        recall,
        specificity,
    )
    from levelled.metrics.comparison import (
        Comparison,
        Ranking,
        compare,
        compare_all,
        compare_metric,
    )
    from levelled.metrics.curves import Bin, Calibration, auc, calibration
    from levelled.metrics.estimating import estimate
    from levelled.metrics.judging import Decision, JudgeReport, Part, correlation, judge, kappa
    from levelled.metrics.named import figure, register
    from levelled.metrics.planning import Plan, plan
    from levelled.metrics.ratios import ratio

__all__ = [
    "Bin",
    "Calibration",
    "Comparison",
    "Confusion",
    "Decision",
    "JudgeReport",
    "Part",
    "Plan",
    "Ranking",
    "Slice",
    "SliceTable",
    "accuracy",
    "auc",
    "average",
    "balanced_accuracy",
    "brier",
    "by_slice",
    "calibration",
    "compare",
    "compare_all",
    "compare_metric",
    "confusion",
    "correlation",
    "error",
    "estimate",
    "f1",
    "f_beta",
    "figure",
    "judge",
    "kappa",
    "log_loss",
    "macro",
    "mae",
    "mean",
    "micro",
    "mse",
    "per_class",
    "plan",
    "precision",
    "ratio",
    "recall",
    "register",
    "share",
    "specificity",
]

__getattr__ = lazy_names(
    __name__,
    {
        "levelled.metrics.averages": "Slice SliceTable accuracy average brier by_slice error "
        "log_loss mae mean mse share",
        "levelled.metrics.curves": "Bin Calibration auc calibration",
        "levelled.metrics.classification": "Confusion balanced_accuracy confusion f1 f_beta macro "
        "micro per_class precision recall specificity",
        "levelled.metrics.comparison": "Comparison Ranking compare compare_all compare_metric",
        "levelled.metrics.estimating": "estimate",
        "levelled.metrics.named": "figure register",
        "levelled.metrics.judging": "Decision JudgeReport Part correlation judge kappa",
        "levelled.metrics.planning": "Plan plan",
        "levelled.metrics.ratios": "ratio",
    },
)


def __dir__() -> list[str]:
    return [*__all__]
