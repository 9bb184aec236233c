"""A loss of somebody's own: a function of labels and predictions, called with care."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats
from levelled.errors import InputError
from levelled.metrics.known import PoolPredictions, loss_moment
from levelled.metrics.labelled import Labelled, Values, within
from levelled.metrics.metric import Metric
from levelled.scores import root_mean_squared_loss

__all__ = ["OwnLosses", "one_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLosses(Metric):
    """What somebody's own function makes of labels and predictions."""

    least: ClassVar[float] = -np.inf
    label_kind: ClassVar[Literal["number", "class"] | None] = None

    base: Literal["own"] = "own"
    function: Callable[..., ArrayLike]

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as it is: only the function knows what it may be."""
        return value

    def _values(self, given: Labelled) -> Values:
        labels, pred = given.labels, given.answers(self.name)
        try:
            returned = self.function(np.asarray(labels), np.asarray(pred))
        except Exception as wrong:  # it is somebody else's function
            raise InputError(
                f"{self.name} failed on {len(labels)} labels: {one_line(wrong)}."
            ) from wrong
        found = floats(f"What {self.name} returns", returned)
        if found.shape != (len(labels),):
            raise InputError(
                f"{self.name} must return one number a label, {len(labels)} here; it returned an "
                f"array of shape {found.shape}."
            )
        return Values(within(self.name, found, self._possible))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        if known.loss_hat is not None:
            return self._size(known.loss_hat)
        return loss_moment(root_mean_squared_loss, known, "zero_one")


def one_line(wrong: Exception) -> str:
    """An error of somebody else's code, as a line of ours tells it."""
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
