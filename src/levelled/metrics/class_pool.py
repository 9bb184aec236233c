"""A pool of predicted classes, and the items that represent it."""

from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.labels import class_texts
from levelled.losses import Reals
from levelled.metrics.doubt import LEAST
from levelled.metrics.metric import Metric
from levelled.predictions import Categorical, PoolPredictions

_GROUPS, _ENTRIES = 800, 100_000
"""A pool is represented by at most so many of its items, with at most so many probabilities."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPool:
    """Predicted classes of a pool, and what is said of the true ones."""

    classes: tuple[str, ...]
    pred: IntArray
    label: Reals | None
    """Probabilities of the true class, where there are any."""
    proba: Reals | None

    @classmethod
    def of(cls, predictions: PoolPredictions) -> "ClassPool":
        """The classes that a pool predicts; it may do so without probabilities."""
        label, pred = predictions.label_proba, predictions.pred
        if predictions.classes is not None and predictions.class_index is not None:
            classes, index = predictions.classes, predictions.class_index
        elif isinstance(pred, Categorical):
            classes, index = pred.values, pred.codes
        else:
            values, index = np.unique(np.asarray(pred), return_inverse=True)
            classes = tuple(class_texts(values.tolist()))
        if len(classes) < 2:
            classes = (*classes, "")
        return cls(classes, index.astype(np.int64), label, predictions.proba)

    @property
    def wrong(self) -> FloatArray:
        """The chance of each item to be predicted wrongly."""
        if self.label is None:
            return np.zeros(len(self.pred))
        right = self.label[np.arange(len(self.pred)), self.pred].astype(np.float64)
        return np.clip(1 - right, 0, 1)

    def log_proba(self, rows: IntArray) -> FloatArray:
        """The logarithms of the true classes' probabilities, none of them too small."""
        if self.label is not None:
            return np.log(np.maximum(self.label[rows].astype(np.float64), LEAST))
        certain = np.full((len(rows), len(self.classes)), np.log(LEAST))
        certain[np.arange(len(rows)), self.pred[rows]] = 0.0
        return certain

    def tables(self, metric: Metric, rows: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """The losses [G, C] of some items for each possible label, and a ratio's denominators."""
        pred = [self.classes[at] for at in self.pred[rows]]
        proba = None if self.proba is None else self.proba[rows]
        values = [
            metric.values([name] * len(rows), pred, proba, self.classes) for name in self.classes
        ]
        losses = np.stack([each.losses for each in values], axis=1)
        D = [each.denominators for each in values if each.denominators is not None]
        return losses, np.stack(D, axis=1) if D else None

    def representatives(self, weights: FloatArray, metric: Metric) -> tuple[IntArray, FloatArray]:
        """Rows that represent the pool for a metric, and the number of items each stands for."""
        positive = np.array([name == metric.positive for name in self.classes])[self.pred]
        return representatives(weights, np.sqrt(self.wrong), positive, len(self.classes))


def representatives(
    weights: FloatArray, score: FloatArray, part: BoolArray, n_classes: int = 1
) -> tuple[IntArray, FloatArray]:
    """Rows that represent a pool, and the number of items that each of them stands for.

    Items of each `part` are sorted by their weight and score and cut into runs, which hold about
    the same number of items, of likely errors (the score) and of items of a rare part.
    """
    N, most = len(weights), max(min(_GROUPS, _ENTRIES // n_classes), 100)
    order = np.lexsort((score, weights, part))
    if most >= N:
        return order, np.ones(N)
    inside = part[order]
    size = 1 / N + score[order] / max(float(score.sum()), LEAST) + inside / max(inside.sum(), 1)
    place = np.minimum((np.cumsum(size) / size.sum() * most).astype(np.int64), most - 1)
    starts = np.flatnonzero(np.diff(2 * place + inside, prepend=-1))
    ends = np.append(starts[1:], N)
    return order[(starts + ends) // 2], (ends - starts).astype(np.float64)
