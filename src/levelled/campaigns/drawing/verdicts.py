"""Verdicts: predicted classes without probabilities, such as those of a judge or a detector."""

from dataclasses import replace

from levelled.metrics.named import Metric
from levelled.predictions import PoolPredictions, as_verdicts, verdict_chances


def only_verdicts(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if all that predicts the classes a metric is about is a verdict on each item."""
    more = (predictions.proba, predictions.surrogate, predictions.loss_hat)
    if metric.label_kind != "class" or any(column is not None for column in more):
        return False
    return as_verdicts(predictions.pred) is not None


def with_chances(predictions: PoolPredictions) -> PoolPredictions:
    """Verdicts with the chance of each label that they suggest before there are any labels."""
    verdicts = as_verdicts(predictions.pred)
    assert verdicts is not None
    return replace(
        predictions, classes=verdicts.values, pred=verdicts, surrogate=verdict_chances(verdicts)
    )
