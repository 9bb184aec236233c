"""Metrics as a campaign uses them, here those that average a loss; others are in `named`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled import losses
from levelled._check import FloatArray, floats, same_length
from levelled.errors import InputError
from levelled.estimators.record import Estimate
from levelled.labels import (
    ItemValues,
    as_classes,
    as_numbers,
    check_class,
    class_numbers,
    class_texts,
    list_names,
    refuse_fractions,
)
from levelled.metrics.pool_averages import complement
from levelled.metrics.ratio import Pairs
from levelled.predictions import PoolPredictions
from levelled.scores import expected_loss, root_mean_squared_loss

Bounds = tuple[float, float]
Needs = Literal["label", "pred", "proba", "number"]


class Values(NamedTuple):
    """The losses of drawn items; for a ratio, their numerators and their denominators."""

    losses: FloatArray
    denominators: FloatArray | None = None


class LabelledItems(NamedTuple):
    """The labels of drawn items, and the predictions that the metric needs."""

    labels: ItemValues
    pred: ItemValues = ()
    proba: ArrayLike = ()
    """Probabilities of `classes`, [M, C]."""
    classes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Metric(ABC):
    """One metric: what it needs, what its losses may be, and how to compute them.

    Made by `parse_metric`; metrics of the same name are equal. Subclasses compute the losses.
    """

    needs: ClassVar[Needs] = "pred"
    """The prediction it needs besides the label: none, any, probabilities, or a number."""
    label_kind: ClassVar[Literal["class", "number"] | None] = "class"
    """The kind of its labels; None for a function of your own, which takes any label."""
    signed: ClassVar[bool] = False
    """Losses may be negative, so that without bounds not even their sign is known beforehand."""

    name: str
    loss: losses.Loss | None = None
    """The loss of `levelled.losses` that it averages, if it is one of these."""
    bounds: Bounds | None = None
    """The least and the largest loss (or ratio), where they are known beforehand."""
    complemented: bool = False
    """The figure is one minus the mean of the losses, as accuracy is."""
    higher_is_better: bool | None = False
    """None where neither is better, as for the share of a class."""
    positive: str | None = None
    """The class it is about."""
    cap: float | None = None
    d_max: float | None = None
    """The largest denominator of an item; None for an average."""
    function: Callable[..., ArrayLike] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def kind(self) -> Literal["average", "ratio"]:
        """A mean of losses, or a ratio of two means."""
        return "average" if self.d_max is None else "ratio"

    @property
    def interval(self) -> Literal["betting", "anytime"]:
        """The interval that stays valid however often one looks; `betting` needs bounds."""
        return "anytime" if self.bounds is None else "betting"

    @property
    def possible(self) -> Bounds:
        """The bounds, or else all that a loss of this kind may be."""
        return self.bounds or (-np.inf if self.signed else 0.0, np.inf)

    def same_loss_as(self, other: "Metric") -> bool:
        """True if both compute the same losses, whatever figure they make of them.

        >>> from levelled.metrics.named import parse_metric
        >>> parse_metric("accuracy").same_loss_as(parse_metric("error"))
        True
        """
        return self == replace(
            other,
            name=self.name,
            complemented=self.complemented,
            higher_is_better=self.higher_is_better,
        )

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as it is kept: a class as text, a number as one; refused if it is neither.

        >>> from levelled.metrics.named import parse_metric
        >>> parse_metric("error").label(1.0), parse_metric("mean").label("4.5")
        ('1', 4.5)
        """
        return self.labels([value], classes)[0]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """Several labels, each as `label` gives it."""
        names = class_texts(values)
        if unknown := set(names).difference(classes or names):
            there = list_names(classes or ())
            raise InputError(f"The label {min(unknown)!r} is none of the classes {there}.")
        return names

    def values(
        self,
        labels: ItemValues,
        pred: ItemValues | None = None,
        proba: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> Values:
        """Losses of drawn items, or numerators and denominators, from labels and predictions.

        >>> from levelled.metrics.named import parse_metric
        >>> parse_metric("error").values(["spam", "ham"], ["spam", "spam"]).losses
        array([0., 1.])
        >>> parse_metric("f1:spam").values(["spam", "ham"], ["spam", "spam"])
        Values(losses=array([2., 0.]), denominators=array([2., 1.]))
        """
        if self.needs == "proba":
            if proba is None or classes is None:
                raise InputError(
                    f"{self.name} needs the probabilities of the classes and their names."
                )
            return self._values(LabelledItems(labels, proba=proba, classes=classes))
        if self.needs == "label":
            return self._values(LabelledItems(labels))
        if pred is None:
            raise InputError(f"{self.name} needs the predictions of the labelled items.")
        same_length(labels=labels, pred=pred)
        return self._values(LabelledItems(labels, pred))

    def pairs(
        self, labels: ItemValues, pred: ItemValues, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """A ratio's values, with what the unlabelled items may still add to them.

        `pred_counts` says how often each class is predicted in the whole pool.

        >>> from levelled.metrics.named import parse_metric
        >>> metric = parse_metric("precision:spam")
        >>> pairs = metric.pairs(["ham"], ["spam"], 10, {"ham": 6, "spam": 4})
        >>> pairs.denominator_mean, pairs.possible
        (0.4, (0.0, 0.75))
        """
        raise InputError(f"{self.name} is an average of losses, not a ratio.")

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """The pool mean of a ratio's denominator, where it follows from the predictions alone."""
        return None

    def from_losses(self, estimate: Estimate) -> Estimate:
        """The figure under the metric's name, from the estimated mean of its losses."""
        return complement(estimate) if self.complemented else estimate

    def require(self, predictions: PoolPredictions) -> None:
        """Refuse a pool that does not hold what the metric needs."""
        if self.needs == "proba" and (predictions.proba is None or predictions.classes is None):
            raise InputError(
                f"{self.name} needs probabilities, and this model has none in the pool: add a "
                f"column proba_<class> for each class, or use error."
            )
        if self.needs != "label" and predictions.pred is None and predictions.proba is None:
            raise InputError(f"{self.name} needs predictions: add a column pred to the pool.")
        if self.needs == "number" and predictions.number is None:
            raise InputError(f"{self.name} needs numbers; this pool predicts classes: use error.")
        if self.needs == "number" and predictions.number is not None:
            as_numbers("A prediction", predictions.number)
        if self.label_kind == "class" and predictions.number is not None:
            refuse_fractions(pred=predictions.number)
        if self.positive is not None and predictions.classes is not None:
            check_class(self.positive, predictions.classes)

    def score(self, predictions: PoolPredictions) -> FloatArray:
        """The interest of each item: sqrt(E[L^2]) as far as anything predicts it, else all ones.

        The first of these that the pool has: a `score`, a `loss_hat`, a surrogate's
        probabilities, the model's own. Ratios and losses of your own take the interest of an
        error. Where the label itself is averaged the interest is its standard deviation, since
        `control` takes care of its mean.

        >>> from levelled.metrics.named import parse_metric
        >>> proba = np.array([[0.91, 0.09], [0.64, 0.36]])
        >>> parse_metric("error").score(PoolPredictions(2, ("a", "b"), proba=proba))
        array([0.3, 0.6])
        """
        if predictions.score is not None:
            return floats("score", predictions.score, ndim=1)
        interest = self._interest(predictions)
        return np.ones(predictions.pool_size) if interest is None else interest

    def control(self, predictions: PoolPredictions) -> FloatArray | None:
        """The expected loss of each item, E[L], for an average; None where nothing predicts it.

        The first of these that the pool has: a `loss_hat`, for `mean` a predicted number, a
        surrogate's probabilities, the model's own.

        >>> from levelled.metrics.named import parse_metric
        >>> predictions = PoolPredictions(1, ("a", "b"), proba=np.array([[0.75, 0.25]]))
        >>> parse_metric("error").control(predictions)
        array([0.25])
        """
        if self.kind == "ratio":
            return None
        if predictions.loss_hat is not None:
            return self._clip(predictions.loss_hat)
        return self._expected(predictions)

    @abstractmethod
    def _values(self, items: LabelledItems) -> Values: ...

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        """The interest of each item in a pool without a `score`."""
        hat = predictions.loss_hat
        return None if hat is None else np.abs(self._clip(hat))

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        """The expected loss of each item in a pool without a `loss_hat`."""
        return None

    def _clip(self, predicted: NDArray[Any]) -> FloatArray:
        """A predicted loss, cut to what the loss may be."""
        return np.clip(predicted.astype(np.float64), *self.possible)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Errors(Metric):
    """The share of predicted classes that are wrong, or right."""

    loss: Literal["zero_one"] = "zero_one"
    bounds: Bounds | None = (0.0, 1.0)

    def _values(self, items: LabelledItems) -> Values:
        wrong = as_classes("labels", items.labels) != as_classes("pred", items.pred)
        return Values(wrong.astype(np.float64))

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            return np.sqrt(self._clip(predictions.loss_hat))  # L^2 = L for 0 and 1
        return predictions.loss_moment(root_mean_squared_loss, self.loss)

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        return predictions.loss_moment(expected_loss, self.loss)


ERROR = Errors(name="error")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProbabilityLosses(Metric):
    """The mean log loss or Brier score of predicted probabilities."""

    needs: ClassVar[Needs] = "proba"

    loss: Literal["log_loss", "brier"]

    def require(self, predictions: PoolPredictions) -> None:
        """Refuse a pool without probabilities, or with ones whose loss may be infinite."""
        Metric.require(self, predictions)  # in a dataclass with slots super() finds another class
        if self.loss == "log_loss" and self.cap is None and predictions.proba is not None:
            n_zero = int(np.count_nonzero(predictions.proba.min(axis=1) == 0))
            if n_zero:
                raise InputError(
                    f"{n_zero} of {predictions.pool_size} items give a class the probability 0, so "
                    f"one label could make the log loss infinite. Declare the most that one item "
                    f"may count, for example log_loss:10."
                )

    def _values(self, items: LabelledItems) -> Values:
        y = class_numbers("labels", as_classes("labels", items.labels), items.classes)
        p = floats("proba", items.proba)
        if self.loss == "brier":
            return Values(losses.brier(y, p))
        return Values(losses.log_loss(y, p, cap=self.cap))

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            return Metric._interest(self, predictions)
        return predictions.loss_moment(root_mean_squared_loss, self.loss, self.cap)

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        return predictions.loss_moment(expected_loss, self.loss, self.cap)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NumberLosses(Metric):
    """The mean squared or absolute error of predicted numbers."""

    needs: ClassVar[Needs] = "number"
    label_kind: ClassVar[Literal["class", "number"] | None] = "number"

    loss: Literal["squared", "absolute"]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as numbers."""
        return [*as_numbers("A label", values).tolist()]

    def _values(self, items: LabelledItems) -> Values:
        loss = losses.squared if self.loss == "squared" else losses.absolute
        return Values(loss(as_numbers("labels", items.labels), as_numbers("pred", items.pred)))
