"""What a doubling of the labels gained: the model after t/2 draws against the model after t.

Neither model knows the draws after t, so the difference of their losses,

    d(n) = L(before, n) - L(after, n),    n not among the first t draws,

is a fixed function of the items that were left then, and its mean over them is the gain. Two
upper limits are at hand, and the smaller one counts. One is certain: where the models answer
alike d is 0 whatever the label, and elsewhere at most the largest d that any label could give.
The other is the betting interval of the draws since, which holds for every number of them at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.estimators import betting_interval, lure
from levelled.learning.scoring import blocks
from levelled.learning.state import LearnerState
from levelled.models import Model, Predictions, PredictionTask, Rows, take

__all__ = ["Doubling", "Gained", "gained"]


@dataclass(frozen=True, slots=True, eq=False)
class Doubling:
    """Two models, trained on the first t/2 and t draws, and what is to be compared."""

    before: Model
    after: Model
    t: int
    task: PredictionTask
    bound: float
    """Losses are cut there."""

    def losses(self, X: Rows, labels: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """What the two models lose on labelled rows."""
        before, after = self.answers(X)
        return self.cut(labels, before), self.cut(labels, after)

    def answers(self, X: Rows) -> tuple[Predictions, Predictions]:
        """What the two models say of each row."""
        return self.task.predictions(self.before, X), self.task.predictions(self.after, X)

    def cut(self, labels: NDArray[Any], answers: Predictions) -> FloatArray:
        """What answers cost, cut at the bound."""
        return np.minimum(self.task.losses(labels, answers), self.bound)


@dataclass(frozen=True, slots=True)
class Gained:
    """R_LURE of d from the draws since, or None if there are none, and its upper limit."""

    value: float | None
    high: float
    n_later: int


def gained(doubling: Doubling, X_pool: Rows, state: LearnerState, *, level: float) -> Gained:
    """What a doubling gained over the items that were left after it.

    The limit holds for all numbers of draws at once with probability `level`.
    """
    M, t, draws = state.n_settled, doubling.t, state.draws
    left = draws.pool_size - t
    differences = _differences(doubling, X_pool, state)
    unknown = np.delete(_headroom(doubling, X_pool), draws.index[:M])
    certain = float((differences.sum() + unknown.sum()) / left)
    if not len(differences):
        return Gained(None, certain, 0)
    q, most = draws.probability[t:M], (draws.design or {}).get("max_weight")
    _, high = betting_interval(
        differences,
        q,
        left,
        (-doubling.bound, doubling.bound),
        2 * level - 1,  # it has two sides, and one is wanted
        design=None if most is None else {"max_weight": most[t:M] * draws.pool_size / left},
    )
    value = float(np.mean(lure.weights(q, left) * differences))
    return Gained(value, min(certain, high), M - t)


def _differences(doubling: Doubling, X_pool: Rows, state: LearnerState) -> FloatArray:
    """d of each later draw; an item that cannot be labelled gains nothing."""
    settled, t = state.settled(), doubling.t
    later = settled.places >= t
    found = np.zeros(state.n_settled - t)
    if later.any():
        before, after = doubling.losses(take(X_pool, settled.rows[later]), settled.labels[later])
        found[settled.places[later] - t] = before - after
    return found


def _headroom(doubling: Doubling, X_pool: Rows) -> FloatArray:
    """The largest d of each row of the pool, whatever its label.

    Of numbers, a loss that is cut at B changes by no more than its steepest slope, 2 sqrt(B) or
    1, times the change of the answer.
    """
    classes, bound = doubling.task.classes, doubling.bound
    if classes is not None:
        n_out = 2 * len(classes)
        return np.concatenate([_over_classes(doubling, rows) for rows in blocks(X_pool, n_out)])
    slope = 2 * np.sqrt(bound) if doubling.task.loss == "squared" else 1.0
    changes = [np.subtract(*doubling.answers(rows)) for rows in blocks(X_pool, 2)]
    return np.minimum(slope * np.abs(np.concatenate(changes)), bound)


def _over_classes(doubling: Doubling, rows: Rows) -> FloatArray:
    """The largest d over the classes that are known.

    A class nobody has met yet cannot beat them all: the probabilities of both models sum to
    one, so that some class gained at least as much.
    """
    before, after = doubling.answers(rows)
    most = np.zeros(len(before))
    assert doubling.task.classes is not None
    for one in doubling.task.classes:
        labels = np.full(len(most), one)
        np.maximum(most, doubling.cut(labels, before) - doubling.cut(labels, after), out=most)
    return most
