"""What is known of a pool before anybody labels it, and what it says of labels and losses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.losses import Loss

__all__ = ["PoolPredictions", "label_mean", "label_spread", "loss_moment"]

Reals = NDArray[np.floating[Any]]
Wholes = NDArray[np.integer[Any]]

_BLOCK = 65_536
"""Items of a pool taken at once, so that what lies between costs no memory to speak of."""


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class PoolPredictions:
    """What is known of the items of a pool before anybody labels them, one value an item.

    `answer` is the predicted class as its place in `classes`, `number` a predicted number;
    `proba` and `surrogate` are probabilities [N, C], the model's own and those of a second model;
    `score` is interest by decree, `loss_hat` a predicted loss (for `mean`: a predicted label).
    """

    pool_size: int
    classes: tuple[str, ...] | None = None
    predicted: bool = False
    """Whether there are predictions of any kind."""
    answer: Wholes | None = None
    number: Reals | Wholes | None = None
    proba: Reals | None = None
    surrogate: Reals | None = None
    score: Reals | None = None
    loss_hat: Reals | None = None

    def __post_init__(self) -> None:
        for name in ("answer", "number", "proba", "surrogate", "score", "loss_hat"):
            column = getattr(self, name)
            if column is not None and len(column) != self.pool_size:
                raise InputError(
                    f"{name} must have one value for each of the {self.pool_size} items; it has "
                    f"{len(column)}."
                )

    @property
    def chances(self) -> Reals | None:
        """The probability of each class: a second model's where there is one."""
        return self.proba if self.surrogate is None else self.surrogate


def loss_moment(
    moment: Callable[..., FloatArray], known: PoolPredictions, loss: Loss, cap: float | None = None
) -> FloatArray | None:
    """A moment of the loss of each item under the chances of its classes; None if unknown.

    `moment` is one of `scores`. A `zero_one` loss is that of the predicted class, and of the
    most probable one where none is named.

    >>> from levelled.scores import expected_loss
    >>> known = PoolPredictions(1, ("a", "b"), proba=np.array([[0.75, 0.25]]))
    >>> loss_moment(expected_loss, known, "zero_one")
    array([0.25])
    """
    answer: NDArray[Any] | None = known.proba
    if loss == "zero_one" and known.answer is not None:
        answer = known.answer
    chances = known.chances
    if answer is None or chances is None:
        return None
    return _in_blocks(
        known.pool_size, lambda at: moment(answer[at], chances[at], loss=loss, cap=cap)
    )


def label_mean(known: PoolPredictions, worth: FloatArray | None) -> FloatArray | None:
    """E[y] of the label of each item, where its classes have chances and are worth a number.

    >>> known = PoolPredictions(1, ("1", "5"), proba=np.array([[0.75, 0.25]]))
    >>> label_mean(known, np.array([1.0, 5.0]))
    array([2.])
    """
    chances = known.chances
    if chances is None or worth is None:
        return None
    return _in_blocks(known.pool_size, lambda at: chances[at].astype(np.float64) @ worth)


def label_spread(known: PoolPredictions, worth: FloatArray | None) -> FloatArray | None:
    """The standard deviation of the label of each item, sqrt(E[y^2] - E[y]^2), likewise."""
    mean = label_mean(known, worth)
    square = label_mean(known, None if worth is None else worth**2)
    if mean is None or square is None:
        return None
    return np.sqrt(np.maximum(square - mean**2, 0))


def _in_blocks(pool_size: int, compute: Callable[[slice], FloatArray]) -> FloatArray:
    found = np.empty(pool_size)
    for start in range(0, pool_size, _BLOCK):
        at = slice(start, min(start + _BLOCK, pool_size))
        found[at] = compute(at)
    return found
