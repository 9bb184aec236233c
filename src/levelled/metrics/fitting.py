"""The metrics that a pool has the predictions for."""

from levelled.errors import InputError
from levelled.metrics.named import PLAIN, parse_metric
from levelled.predictions import Categorical, PoolPredictions

_OF_A_CLASS = ("precision", "recall", "f1", "share")


def fitting_metrics(predictions: PoolPredictions, most_classes: int = 20) -> list[str]:
    """The names of the metrics that a pool can estimate, the most usual first.

    Metrics of one class are named for each class, where there are at most `most_classes`.

    >>> import pyarrow as pa
    >>> from levelled.sources import open_pool
    >>> fitting_metrics(open_pool(pa.table({"id": [1, 2], "pred": [0.5, 2.5]})).predictions())
    ['mse', 'mae', 'mean']
    """
    classes = _classes(predictions)
    some = classes if len(classes) <= most_classes else ()
    names = [*PLAIN, *(f"{head}:{name}" for head in _OF_A_CLASS for name in some)]
    return [name for name in names if _fits(name, predictions)]


def _classes(predictions: PoolPredictions) -> tuple[str, ...]:
    """The classes that are named, or else those that are predicted."""
    if predictions.classes is not None:
        return predictions.classes
    pred = predictions.pred
    return tuple(pred.counts()) if isinstance(pred, Categorical) else ()


def _fits(name: str, predictions: PoolPredictions) -> bool:
    metric = parse_metric(name)
    if metric.label_kind == "number" and _classes(predictions):
        return False
    try:
        metric.require(predictions)
    except InputError:
        return False
    return True
