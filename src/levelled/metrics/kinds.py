"""The kinds of averages, one small record each: its losses, and what a pool says of them.

A new metric of a kind that is here is one more entry in `named`; another kind is one more record.
Ratios are in `class_ratio`, losses of your own in `own`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from levelled import losses
from levelled._check import FloatArray, floats
from levelled.errors import InputError
from levelled.metrics.classes import as_classes, class_numbers
from levelled.metrics.known import PoolPredictions, label_mean, label_spread, loss_moment
from levelled.metrics.labelled import Labelled, Values, is_class, numbers, within
from levelled.metrics.metric import Bounds, Metric, Needs
from levelled.scores import expected_loss, root_mean_squared_loss

__all__ = ["Errors", "Mean", "NumberLosses", "ProbabilityLosses", "Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Metric):
    """Predicted classes that are wrong."""

    base: Literal["error"] = "error"
    bounds: Bounds | None = (0.0, 1.0)

    def _values(self, given: Labelled) -> Values:
        pred = given.answers(self.name)
        wrong = as_classes("labels", given.labels) != as_classes("pred", pred)
        return Values(wrong.astype(np.float64))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        if known.loss_hat is not None:
            return np.sqrt(self._size(known.loss_hat))  # L^2 = L for 0 and 1
        return loss_moment(root_mean_squared_loss, known, "zero_one")

    def _expected(self, known: PoolPredictions) -> FloatArray | None:
        return loss_moment(expected_loss, known, "zero_one")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityLosses(Metric):
    """What predicted probabilities cost."""

    needs: ClassVar[Needs] = "proba"

    base: Literal["log_loss", "brier"]

    def require(self, known: PoolPredictions) -> None:
        """Refuse a pool without probabilities, or with ones that may cost infinitely much."""
        Metric.require(self, known)  # in a dataclass with slots super() finds another class
        if self.base == "log_loss" and self.cap is None and known.proba is not None:
            n_zero = int(np.count_nonzero(known.proba.min(axis=1) == 0))
            if n_zero:
                raise InputError(
                    f"{n_zero} of {known.pool_size} items give a class the probability 0, so one "
                    f"label could make the log loss infinite. Declare the most that one item may "
                    f"count, for example log_loss:10."
                )

    def _values(self, given: Labelled) -> Values:
        if given.proba is None or given.classes is None:
            raise InputError(f"{self.name} needs the probabilities of the classes and their names.")
        y = class_numbers("labels", as_classes("labels", given.labels), given.classes)
        p = floats("proba", given.proba)
        if self.base == "brier":
            return Values(losses.brier(y, p))
        return Values(losses.log_loss(y, p, cap=self.cap))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        if known.loss_hat is not None:
            return self._size(known.loss_hat)
        return loss_moment(root_mean_squared_loss, known, self.base, self.cap)

    def _expected(self, known: PoolPredictions) -> FloatArray | None:
        return loss_moment(expected_loss, known, self.base, self.cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLosses(Metric):
    """How far predicted numbers lie from the labels."""

    needs: ClassVar[Needs] = "number"
    label_kind: ClassVar[Literal["number", "class"] | None] = "number"

    base: Literal["mse", "mae"]

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as a number."""
        return float(numbers("A label", [value])[0])

    def _values(self, given: Labelled) -> Values:
        pred = given.answers(self.name)
        loss = losses.squared if self.base == "mse" else losses.absolute
        return Values(loss(numbers("labels", given.labels), numbers("pred", pred)))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        return None if known.loss_hat is None else self._size(known.loss_hat)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Metric):
    """The label itself, a number."""

    needs: ClassVar[Needs] = "label"
    least: ClassVar[float] = -np.inf
    label_kind: ClassVar[Literal["number", "class"] | None] = "number"

    base: Literal["mean"] = "mean"
    higher_is_better: bool | None = None

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as a number within the bounds."""
        return float(within(self.name, numbers("A label", [value]), self._possible)[0])

    def _values(self, given: Labelled) -> Values:
        return Values(within(self.name, numbers("labels", given.labels), self._possible))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        return label_spread(known, _as_numbers(known.classes))

    def _expected(self, known: PoolPredictions) -> FloatArray | None:
        if known.number is not None:
            return self._cut(known.number)
        mean = label_mean(known, _as_numbers(known.classes))
        return None if mean is None else self._cut(mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Metric):
    """Labels that are one class."""

    needs: ClassVar[Needs] = "label"

    base: Literal["share"] = "share"
    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = None
    positive: str

    def _values(self, given: Labelled) -> Values:
        return Values(is_class("labels", given.labels, self.positive))

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        if known.loss_hat is not None:
            chance = self._cut(known.loss_hat)
            return np.sqrt(chance * (1 - chance))
        return label_spread(known, self._worth(known.classes))

    def _expected(self, known: PoolPredictions) -> FloatArray | None:
        mean = label_mean(known, self._worth(known.classes))
        return None if mean is None else self._cut(mean)

    def _worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """What a label of each class adds to the share."""
        if classes is None:
            return None
        return np.array([float(name == self.positive) for name in classes])


def _as_numbers(classes: Sequence[str] | None) -> FloatArray | None:
    """What a label of each class adds to the mean, where classes are numbers."""
    try:
        return None if classes is None else floats("classes", [float(name) for name in classes])
    except ValueError:
        return None
