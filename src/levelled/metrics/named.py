"""Metrics by their names, as a campaign stores them.

    error  accuracy                    of predicted classes
    log_loss  log_loss:CAP  brier      of predicted probabilities
    mse  mae                           of predicted numbers
    mean  mean:LOW:HIGH  share:CLASS   of the label itself
    precision:CLASS  recall:CLASS  f1:CLASS
    package.module:function            your own: function(labels, predictions) -> losses

Classes are text: 1, 1.0 and "1" are the same class.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, floats
from levelled._optional import import_attribute
from levelled.errors import InputError, LossError
from levelled.estimators.intervals.logical import as_bounds
from levelled.labels import ItemValues, as_classes, as_numbers, check_class, class_text, is_number
from levelled.metrics.classification import pairs_of, terms
from levelled.metrics.metric import (
    ERROR,
    Bounds,
    Errors,
    LabelledItems,
    Metric,
    Needs,
    NumberLosses,
    ProbabilityLosses,
    Values,
)
from levelled.metrics.ratio import Pairs
from levelled.predictions import PoolPredictions

__all__ = ["NAMES", "PLAIN", "ClassRatio", "Mean", "Metric", "OwnLosses", "Share", "parse_metric"]

NAMES = (
    "error",
    "accuracy",
    "log_loss",
    "log_loss:CAP",
    "brier",
    "mse",
    "mae",
    "mean",
    "mean:LOW:HIGH",
    "share:CLASS",
    "precision:CLASS",
    "recall:CLASS",
    "f1:CLASS",
    "package.module:function",
)
"""The names that `parse_metric` takes."""


def parse_metric(name: str, *, classes: Sequence[str] | None = None) -> Metric:
    """The metric of this name, one of `NAMES`; `classes` are those it may be about.

    A function of your own may have the attributes `bounds`, the least and the largest loss,
    and `higher_is_better`. Without bounds its interval is asymptotic.

    >>> parse_metric("f1:spam").needs, parse_metric("log_loss:10").bounds
    ('pred', (0.0, 10.0))
    >>> parse_metric("accuracy")
    Errors('accuracy')
    """
    name = str(name).strip()
    head, colon, rest = name.partition(":")
    if head in PLAIN and not colon:
        return PLAIN[head]
    if head in _OF_CLASS:
        if not rest:
            raise InputError(
                f"{head} is about one class: write {head}:CLASS, for example {head}:spam."
            )
        positive = class_text(rest)
        if classes is not None:
            check_class(positive, classes)
        return _OF_CLASS[head](name=name, positive=positive)
    if head == "log_loss":
        cap = between(f"The cap of {name}", _number_in(name, rest), 0, 1000, open_=True)
        return ProbabilityLosses(name=name, loss="log_loss", bounds=(0.0, cap), cap=cap)
    if head == "mean":
        low, _, high = rest.partition(":")
        return Mean(name=name, bounds=as_bounds((_number_in(name, low), _number_in(name, high))))
    if head in PLAIN:
        raise InputError(f"{head} takes nothing after a colon; write {head} instead of {name!r}.")
    if colon:
        return _import_losses(name, head, rest)
    raise _unknown(name)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Mean(Metric):
    """The mean of the label itself, a number."""

    needs: ClassVar[Needs] = "label"
    label_kind: ClassVar[Literal["class", "number"] | None] = "number"
    signed: ClassVar[bool] = True

    higher_is_better: bool | None = None

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as numbers within the bounds."""
        return [*_within_bounds(self, as_numbers("A label", values)).tolist()]

    def _values(self, items: LabelledItems) -> Values:
        return Values(_within_bounds(self, as_numbers("labels", items.labels)))

    def worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """The number of each class, within the bounds, if all classes are numbers."""
        numbers = _numbers_of(classes)
        return None if numbers is None else self._clip(numbers)

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        return predictions.label_sd(self.worth(predictions.classes))

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        mean = predictions.number
        if mean is None:
            mean = predictions.label_mean(self.worth(predictions.classes))
        return None if mean is None else self._clip(mean)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Share(Metric):
    """The share of labels that are one class."""

    needs: ClassVar[Needs] = "label"

    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = None
    positive: str

    def _values(self, items: LabelledItems) -> Values:
        return Values(_indicator("labels", items.labels, self.positive))

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            chance = self._clip(predictions.loss_hat)
            return np.sqrt(chance * (1 - chance))
        return predictions.label_sd(self._worth(predictions.classes))

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        mean = predictions.label_mean(self._worth(predictions.classes))
        return None if mean is None else self._clip(mean)

    def _worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """1 for the class itself, 0 for the others."""
        return None if classes is None else _indicator("classes", classes, self.positive)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClassRatio(Metric):
    """Precision, recall, specificity or F1 of one class: a ratio of two pool means."""

    ratio: Literal["precision", "recall", "specificity", "f1"]
    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = True
    positive: str
    d_max: float

    def pairs(
        self, labels: ItemValues, pred: ItemValues, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        y, p = self._indicators(labels, pred)
        predicted = pred_counts.get(self.positive, 0)
        unlabelled = predicted - int(p.sum())
        if not 0 <= unlabelled <= pool_size - len(labels):
            raise InputError(
                f"pred_counts do not fit {len(labels)} labels of a pool of {pool_size}: they leave "
                f"{unlabelled} unlabelled items predicted {self.positive!r}."
            )
        return pairs_of(self.ratio, self.positive, y, p, pool_size, predicted)

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """For a precision, the share of the pool that is predicted to be of the class."""
        if self.ratio != "precision":
            return None
        return pred_counts.get(self.positive, 0) / pool_size or None

    def _values(self, items: LabelledItems) -> Values:
        return Values(*terms(self.ratio, *self._indicators(items.labels, items.pred), 1.0))

    def _indicators(self, labels: ItemValues, pred: ItemValues) -> tuple[FloatArray, FloatArray]:
        y = _indicator("labels", labels, self.positive)
        return y, _indicator("pred", pred, self.positive)

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        return ERROR._interest(predictions)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnLosses(Metric):
    """The mean of a loss of your own, a function of labels and predictions."""

    label_kind: ClassVar[Literal["class", "number"] | None] = None
    signed: ClassVar[bool] = True

    function: Callable[..., ArrayLike]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as they are: the function decides what it takes."""
        return [*values]

    def _values(self, items: LabelledItems) -> Values:
        n = len(items.labels)
        try:
            returned = self.function(np.asarray(items.labels), np.asarray(items.pred))
        except Exception as wrong:  # the function may raise anything
            raise InputError(f"{self.name} failed on {n} labels: {_one_line(wrong)}.") from wrong
        values = floats(f"What {self.name} returns", returned)
        if values.shape != (n,):
            raise InputError(
                f"{self.name} must return one number a label, {n} here; it returned an array of "
                f"shape {values.shape}."
            )
        return Values(_within_bounds(self, values))

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            return Metric._interest(self, predictions)
        return ERROR._interest(predictions)


PLAIN: dict[str, Metric] = {
    "error": ERROR,
    "accuracy": Errors(name="accuracy", complemented=True, higher_is_better=True),
    "log_loss": ProbabilityLosses(name="log_loss", loss="log_loss"),
    "brier": ProbabilityLosses(name="brier", loss="brier", bounds=(0.0, 2.0)),
    "mse": NumberLosses(name="mse", loss="squared"),
    "mae": NumberLosses(name="mae", loss="absolute"),
    "mean": Mean(name="mean"),
}
"""Metrics that take nothing after their name."""

_OF_CLASS: dict[str, Callable[..., Metric]] = {
    "share": Share,
    "precision": partial(ClassRatio, ratio="precision", d_max=1.0),
    "recall": partial(ClassRatio, ratio="recall", d_max=1.0),
    "f1": partial(ClassRatio, ratio="f1", d_max=2.0),
}
"""Metrics of one class."""


def _import_losses(name: str, module: str, attribute: str) -> Metric:
    """The function `attribute` of a module as a metric, with the bounds it declares."""
    try:
        function = import_attribute(module, attribute)
    except Exception as wrong:  # the module may raise anything
        if isinstance(wrong, ModuleNotFoundError) and "." not in module:
            raise _unknown(name, f" There is no module {module!r} in this folder.") from wrong
        raise InputError(
            f"The function {name} cannot be imported ({_one_line(wrong)}). Install its package, or "
            f"run the command in the folder of its file."
        ) from wrong
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function of labels, pred.")
    bounds = getattr(function, "bounds", None)
    return OwnLosses(
        name=name,
        bounds=None if bounds is None else as_bounds(bounds),
        higher_is_better=bool(getattr(function, "higher_is_better", False)),
        function=function,
    )


def _within_bounds(metric: Metric, values: FloatArray) -> FloatArray:
    """The losses as they are, unless one breaks the declared bounds."""
    low, high = metric.possible
    outside = values[(values < low) | (values > high)]
    if outside.size:
        raise LossError(
            f"{metric.name} is declared to lie between {low:g} and {high:g}, and {outside[0]:g} "
            f"does not."
        )
    return values


def _indicator(name: str, values: ItemValues, positive: str) -> FloatArray:
    """1 where the class is this one, however it is written, else 0."""
    return (as_classes(name, values) == positive).astype(np.float64)


def _numbers_of(classes: Sequence[str] | None) -> FloatArray | None:
    """The classes as numbers, if all of them are."""
    try:
        return None if classes is None else floats("classes", [float(name) for name in classes])
    except ValueError:
        return None


def _number_in(name: str, text: str) -> float:
    if not is_number(text):
        raise InputError(
            f"{name!r} must hold numbers after the colon, as in log_loss:10 or mean:1:5."
        )
    return float(text)


def _unknown(name: str, hint: str = "") -> InputError:
    head = name.partition(":")[0]
    near = difflib.get_close_matches(head, [other.partition(":")[0] for other in NAMES], n=1)
    hint = f" Did you mean {near[0]}?" if near else hint
    return InputError(f"There is no metric {name!r}.{hint} Metrics are {', '.join(NAMES)}.")


def _one_line(wrong: Exception) -> str:
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
