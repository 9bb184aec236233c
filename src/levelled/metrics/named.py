"""Metrics by their names: one record each, known to arrays, campaigns, plans and gates alike.

A metric is a combination of ratios of pool means of columns,

    theta = h(sum_p c_p A_p / D_p),    h(x) = x, 1 - x or sqrt(x)

with one part for most, whose D is 1 for an average, and one part for each class of a macro average.
To add a metric, add an entry to `RATIOS` (a ratio of one class) or to `_ENTRIES`.

Classes are text: 1, 1.0 and "1" are the same class.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled import losses
from levelled._check import FloatArray, between, floats, same_length
from levelled._optional import import_attribute
from levelled.errors import InputError, LossError, NotApprovedError
from levelled.labels import (
    ItemValues,
    as_classes,
    as_numbers,
    check_class,
    class_numbers,
    class_text,
    class_texts,
    is_number,
    match_classes,
    refuse_fractions,
)
from levelled.predictions import Categorical, PoolPredictions
from levelled.scores import expected_loss, root_mean_squared_loss

# What only figures need is imported where they are made: a label that is told is checked by its
# metric, and its labeller need not wait for estimators.
if TYPE_CHECKING:
    from levelled.estimators.intervals.limits import Bounds
    from levelled.estimators.record import Estimate
    from levelled.metrics.ratios import Pairs

Needs = Literal["label", "pred", "proba", "number"]
LabelKind = Literal["class", "number"]
Columns = tuple[FloatArray, FloatArray]
Function = TypeVar("Function", bound=Callable[..., Any])
_LARGEST_LOG_LOSS = 700.0  # guard: exp of more than that overflows


class Values(NamedTuple):
    """The losses of drawn items; for a ratio, their numerators and their denominators.

    Those of a metric of several parts are [P, M].
    """

    losses: FloatArray
    denominators: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PossibleLabels:
    """Items of a pool, each with all labels that it may have: classes [C], or numbers [n, J].

    `pred` are the predicted classes, as places in `classes`, or the predicted numbers.
    """

    classes: tuple[str, ...]
    pred: NDArray[Any]
    proba: NDArray[Any] | None = None
    """The model's probabilities of the first classes, [n, C]."""
    numbers: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.pred)


class LabelledItems(NamedTuple):
    """The labels of drawn items, and the predictions that the metric needs."""

    labels: ItemValues
    pred: ItemValues = ()
    proba: ArrayLike = ()
    """Probabilities of `classes`, [M, C]."""
    classes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Metric:
    """One metric: what it needs, what its losses may be, and how to compute them.

    Made by `parse_metric`; metrics of the same name are equal. Subclasses compute the losses.
    """

    name: str
    needs: Needs = "pred"
    """The prediction it needs besides the label: none, any, probabilities, or a number."""
    label_kind: LabelKind | None = "class"
    """The kind of its labels; None for a function of your own, which takes any label."""
    signed: bool = False
    """Losses may be negative, so that without bounds not even their sign is known beforehand."""
    is_indicator: bool = False
    """Every loss is 0 or 1."""
    loss: losses.Loss | None = None
    """The loss of `levelled.losses` that it averages, if it is one of these."""
    bounds: Bounds | None = None
    """The least and the largest loss (or ratio), where they are known beforehand."""
    complemented: bool = False
    """The figure is one minus the mean of the losses, as accuracy is."""
    root: bool = False
    """The figure is the square root of the mean of the losses."""
    higher_is_better: bool | None = False
    """None where neither is better, as for the share of a class."""
    positive: str | None = None
    """The class it is about."""
    cap: float | None = None
    d_max: float | None = None
    """The largest denominator of an item; None for an average."""
    function: Callable[..., ArrayLike] | None = None
    in_slices: bool = True
    """False for a metric whose denominators are of the whole pool."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def is_called(self, name: str) -> bool:
        """True for its name, and for the one that it was registered under."""
        return name == self.name or _registered(name) is self

    @property
    def kind(self) -> Literal["average", "ratio"]:
        """A mean of losses, or a ratio of two means."""
        return "average" if self.d_max is None else "ratio"

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics whose mean it is: itself, or those of the classes of a macro average."""
        return (self,)

    @property
    def is_mean(self) -> bool:
        """True if it averages the label itself, a number."""
        return self.needs == "label" and self.label_kind == "number"

    @property
    def is_share(self) -> bool:
        """True if it is the share of labels that are one class."""
        return self.needs == "label" and self.is_indicator

    @property
    def from_errors(self) -> bool:
        """True if its losses follow from an error of the predicted class."""
        return self.label_kind == "class" and self.needs in ("pred", "proba")

    @property
    def slope(self) -> float:
        """The factor of the mean of the losses in the figure."""
        return -1.0 if self.complemented else 1.0

    @property
    def coefficients(self) -> FloatArray:
        """The factor c_p of each part in the figure."""
        return np.full(len(self.parts), self.slope / len(self.parts))

    def link(self, losses: FloatArray | float) -> FloatArray:
        """The figure, from means of losses, or of the parts.

        >>> parse_metric("rmse").link(4.0), parse_metric("accuracy").link(0.25)
        (array(2.), array(0.75))
        """
        if self.root:
            return np.asarray(np.sqrt(np.maximum(losses, 0.0)))
        return np.asarray(float(self.complemented) + self.slope * np.asarray(losses))

    def of_pool(self, counts: Mapping[str, int], classes: Sequence[str] | None = None) -> Metric:
        """The metric in a pool with so many predictions of each class.

        `classes` are all of them, where they are known. Only metrics over all classes depend on it.
        """
        return self

    @property
    def interval(self) -> Literal["betting", "anytime"]:
        """The interval that stays valid however often one looks; `betting` needs bounds."""
        return "anytime" if self.bounds is None else "betting"

    @property
    def possible(self) -> Bounds:
        """The bounds, or else all that a loss of this kind may be."""
        return self.bounds or (-np.inf if self.signed else 0.0, np.inf)

    def same_loss_as(self, other: Metric) -> bool:
        """True if both compute the same losses, whatever figure they make of them.

        >>> parse_metric("accuracy").same_loss_as(parse_metric("error"))
        True
        """
        return type(self) is type(other) and self == replace(
            other,
            name=self.name,
            complemented=self.complemented,
            root=self.root,
            higher_is_better=self.higher_is_better,
        )

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as it is kept: a class as text, a number as one; refused if it is neither.

        >>> parse_metric("error").label(1.0), parse_metric("mean").label("4.5")
        ('1', 4.5)
        """
        return self.labels([value], classes)[0]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """Several labels, each as `label` gives it."""
        names = class_texts(values)
        return names if classes is None else match_classes(names, classes)

    def values(
        self,
        labels: ItemValues,
        pred: ItemValues | None = None,
        proba: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> Values:
        """Losses of drawn items, or numerators and denominators, from labels and predictions.

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

    def tables(self, items: PossibleLabels) -> FloatArray:
        """Numerators and denominators [2P, n, J] of items for each label that they may have.

        >>> items = PossibleLabels(("ham", "spam"), np.array([1, 0]))
        >>> parse_metric("error").tables(items)[0]
        array([[1., 0.],
               [0., 1.]])
        """
        if self.needs == "proba" and items.proba is not None:
            n, J = items.proba.shape
            names = np.tile(np.array(items.classes[:J], dtype=object), n)
            proba = np.repeat(items.proba, J, axis=0)
            told = LabelledItems(names, proba=proba, classes=items.classes[:J])
            return self._stacked(self._values(told), J)
        if items.numbers is None:
            return _class_tables(self, items.classes)[:, items.pred]
        shape = items.numbers.shape
        pred = np.repeat(items.pred, shape[1])
        return self._stacked(self._values(LabelledItems(items.numbers.ravel(), pred)), shape[1])

    def expect(
        self, items: PossibleLabels, chance: FloatArray, slopes: tuple[float, float] = (1.0, 0.0)
    ) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of slopes . (A, D) of each item, by the chances of its labels.

        >>> items = PossibleLabels(("ham", "spam"), np.array([1]))
        >>> parse_metric("error").expect(items, np.array([[0.2, 0.8]]))
        (array([0.2]), array([0.16]))
        """
        A, D = self.tables(items)
        psi = slopes[0] * A + slopes[1] * D if slopes[1] else slopes[0] * A
        mean = np.einsum("nj,nj->n", chance, psi)
        square = np.einsum("nj,nj,nj->n", chance, psi, psi)
        return mean, np.maximum(square - mean**2, 0)

    def class_tables(self, classes: Sequence[str]) -> FloatArray:
        """Numerator and denominator [2, C, C] of each prediction and label."""
        names = np.array(classes, dtype=object)
        pred, label = (one.ravel() for one in np.meshgrid(names, names, indexing="ij"))
        return self._stacked(self._values(LabelledItems(label, pred)), len(names))

    def _stacked(self, values: Values, n_labels: int) -> FloatArray:
        below = np.ones(1) if values.denominators is None else values.denominators
        both = np.stack(np.broadcast_arrays(values.losses, below))
        return np.asarray(both.reshape(2 * len(self.parts), -1, n_labels))

    def pairs(
        self,
        labels: ItemValues,
        pred: ItemValues,
        pool_size: int,
        pred_counts: Mapping[str, int] | None,
    ) -> Pairs:
        """A ratio's values, with what the unlabelled items may still add to them.

        `pred_counts` says how often each class is predicted in the whole pool, if that is known.

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
        if not self.root:
            return estimate.scaled(self.slope, 1.0) if self.complemented else estimate
        value = None if estimate.value is None else float(self.link(estimate.value))
        low, high = float(self.link(estimate.low)), float(self.link(estimate.high))
        spread = estimate.stderr  # the slope of the root is 1 / (2 root)
        spread = spread / (2 * value) if spread is not None and value else spread
        return replace(estimate, value=value, low=low, high=high, stderr=spread)

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
        classes = None if predictions.open_classes else predictions.classes
        if self.positive is not None and classes is not None:
            check_class(self.positive, classes)

    def score(self, predictions: PoolPredictions) -> FloatArray:
        """The interest of each item: sqrt(E[L^2]) as far as anything predicts it, else all ones.

        The first of these that the pool has: a `score`, a `loss_hat`, a surrogate's
        probabilities, the model's own. Ratios and losses of your own take the interest of an
        error. Where the label itself is averaged the interest is its standard deviation, since
        `control` takes care of its mean.

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

        >>> predictions = PoolPredictions(1, ("a", "b"), proba=np.array([[0.75, 0.25]]))
        >>> parse_metric("error").control(predictions)
        array([0.25])
        """
        if self.kind == "ratio":
            return None
        if predictions.loss_hat is not None:
            return self._clip(predictions.loss_hat)
        return self._expected(predictions)

    def worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """The number that each class counts as, for a mean of labels that are such classes."""
        return None

    def _values(self, items: LabelledItems) -> Values:
        raise NotImplementedError

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
    is_indicator: bool = True

    def _values(self, items: LabelledItems) -> Values:
        wrong = as_classes("labels", items.labels) != as_classes("pred", items.pred)
        return Values(wrong.astype(np.float64))

    def expect(
        self, items: PossibleLabels, chance: FloatArray, slopes: tuple[float, float] = (1.0, 0.0)
    ) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance, without a table of all labels."""
        wrong = 1 - chance[np.arange(len(items)), items.pred]
        return slopes[0] * wrong + slopes[1], slopes[0] ** 2 * wrong * (1 - wrong)

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

    needs: Needs = "proba"

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

    def tables(self, items: PossibleLabels) -> FloatArray:
        """The losses [2, n, C], and ones as their denominators."""
        p = np.asarray(items.proba, dtype=np.float64)
        if self.loss == "brier":
            table = 1 - 2 * p + np.einsum("nc,nc->n", p, p)[:, None]
        else:
            table = -np.log(np.maximum(p, np.exp(-(self.cap or _LARGEST_LOG_LOSS))))
        return np.stack([table, np.ones_like(table)])

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            return Metric._interest(self, predictions)
        return predictions.loss_moment(root_mean_squared_loss, self.loss, self.cap)

    def _expected(self, predictions: PoolPredictions) -> FloatArray | None:
        return predictions.loss_moment(expected_loss, self.loss, self.cap)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NumberLosses(Metric):
    """The mean squared or absolute error of predicted numbers."""

    needs: Needs = "number"
    label_kind: LabelKind | None = "number"

    loss: Literal["squared", "absolute"]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as numbers."""
        return [*as_numbers("A label", values).tolist()]

    def _values(self, items: LabelledItems) -> Values:
        loss = losses.squared if self.loss == "squared" else losses.absolute
        return Values(loss(as_numbers("labels", items.labels), as_numbers("pred", items.pred)))


Find = Callable[[str, str], Any]
"""Returns what a module, by its name, has under another name."""


@lru_cache(maxsize=100)
def _class_tables(metric: Metric, classes: tuple[str, ...]) -> FloatArray:
    return metric.class_tables(classes)


def own_module(name: str) -> str | None:
    """The module in the name of a metric of one's own; None for metrics of Levelled.

    >>> own_module("mine.losses:large_error"), own_module("recall:spam"), own_module("error")
    ('mine.losses', None, None)
    """
    head, colon, _ = str(name).strip().partition(":")
    return head if colon and head not in _heads() else None


def parse_metric(
    name: str, *, classes: Sequence[str] | None = None, find: Find = import_attribute
) -> Metric:
    """The metric of this name, one of `NAMES`; `classes` are those it may be about.

    A function of your own may have the attributes `bounds`, the least and the largest loss,
    and `higher_is_better`. Without bounds its interval is asymptotic. `find` gets it from its
    module: by default the module is imported, so the name must come from the user.

    >>> parse_metric("f1:spam").needs, parse_metric("log_loss:10").bounds
    ('pred', (0.0, 10.0))
    >>> parse_metric("accuracy")
    Errors('accuracy')
    """
    name = str(name).strip()
    head, colon, rest = name.partition(":")
    if name in PLAIN:
        return PLAIN[name]
    if head not in _heads():
        if found := _registered(name):
            return found
        if colon:
            return _import_losses(name, head, rest, find)
        raise _unknown(name)
    pattern = next((one for one in _ENTRIES if one.startswith(f"{head}:")), None)
    if pattern is None:
        raise InputError(f"{head} takes nothing after a colon; write {head} instead of {name!r}.")
    keys = pattern.split(":")[1:]
    words = dict(zip(keys, rest.split(":", len(keys) - 1), strict=False))
    if "CLASS" in keys and not words.get("CLASS"):
        example = pattern.replace("CLASS", "spam").replace("BETA", "2")
        raise InputError(f"{head} is about one class: write {pattern}, for example {example}.")
    if "CLASS" in words and classes is not None:
        check_class(class_text(words["CLASS"]), classes)
    return _ENTRIES[pattern](name=name, **_fields(name, words, keys))


def figure(name: str) -> Metric:
    """The metric of this name: its columns, and how they make the figure.

    >>> figure("f1:spam").values(["spam", "ham"], ["spam", "spam"])
    Values(losses=array([2., 0.]), denominators=array([2., 1.]))
    """
    return parse_metric(name)


def _fields(name: str, words: Mapping[str, str], keys: Sequence[str]) -> dict[str, Any]:
    """The fields that the words after the colons of a name set."""
    found: dict[str, Any] = {}
    number = {key: _number_in(name, words.get(key, "")) for key in keys if key != "CLASS"}
    if "CLASS" in words:
        found["positive"] = class_text(words["CLASS"])
    if "BETA" in number:
        found["beta"] = between(f"The beta of {name}", number["BETA"], 0, 1e6, open_=True)
    if "CAP" in number:
        found["cap"] = between(f"The cap of {name}", number["CAP"], 0, 1000, open_=True)
        found["bounds"] = (0.0, found["cap"])
    if "LOW" in number:
        from levelled.estimators.intervals.limits import as_bounds

        found["bounds"] = as_bounds((number["LOW"], number["HIGH"]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Mean(Metric):
    """The mean of the label itself, a number."""

    needs: Needs = "label"
    label_kind: LabelKind | None = "number"
    signed: bool = True

    higher_is_better: bool | None = None

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as numbers within the bounds."""
        return [*_within_bounds(self, as_numbers("A label", values)).tolist()]

    def _values(self, items: LabelledItems) -> Values:
        return Values(_within_bounds(self, as_numbers("labels", items.labels)))

    def tables(self, items: PossibleLabels) -> FloatArray:
        """The labels [2, n, J] as numbers within the bounds, and ones."""
        worth = np.asarray(
            self.worth(items.classes) if items.numbers is None else self._clip(items.numbers)
        )
        table = np.broadcast_to(worth, (len(items), worth.shape[-1]))
        return np.stack([table, np.ones_like(table)])

    def worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """The number of each class, within the bounds, if all classes are numbers."""
        if classes is None or not all(map(is_number, classes)):
            return None
        return self._clip(np.array([float(name) for name in classes]))

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

    needs: Needs = "label"
    is_indicator: bool = True

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
        known = classes is not None and self.positive in classes
        return _indicator("classes", classes or (), self.positive) if known else None


class RatioTerms(NamedTuple):
    """A ratio of one class: what an item adds to A and D, and what must be seen to define it."""

    columns: Callable[[FloatArray, FloatArray, float], Columns]
    """A and D from y = 1 where the label is the class, p = 1 where the prediction is, and beta."""
    needed: str

    def outcomes(
        self, predictions: Sequence[float], beta: float = 1.0
    ) -> list[tuple[float, float]]:
        """The pairs (A, D) that an item with one of these predictions p may have."""
        y, p = np.tile([0.0, 1.0], len(predictions)), np.repeat(predictions, 2)
        A, D = self.columns(y, p, beta)
        return [*zip(A.tolist(), D.tolist(), strict=True)]

    def pairs(
        self,
        positive: object,
        y: FloatArray,
        p: FloatArray,
        pool_size: int,
        predicted: int | None = None,
        beta: float = 1.0,
    ) -> Pairs:
        """The values of drawn items, with what the unlabelled items may still add to them.

        `predicted` is the number of items in the pool that are predicted to be of the class.
        """
        from levelled.metrics.ratios import Pairs

        left, what = pool_size - len(y), self.needed.format(positive)
        if predicted is None:
            unseen = [(left, self.outcomes((0.0, 1.0), beta))]
            return Pairs(*self.columns(y, p, beta), unseen, what)
        n = predicted - int(p.sum())
        unseen = [(n, self.outcomes((1.0,), beta)), (left - n, self.outcomes((0.0,), beta))]
        share = predicted / pool_size if self is RATIOS["precision"] and predicted else None
        return Pairs(*self.columns(y, p, beta), unseen, what, share)


RATIOS: dict[str, RatioTerms] = {
    "precision": RatioTerms(lambda y, p, b: (y * p, p), "prediction {!r}"),
    "recall": RatioTerms(lambda y, p, b: (y * p, y), "label {!r}"),
    "f1": RatioTerms(lambda y, p, b: (2 * y * p, y + p), "label or prediction {!r}"),
    "specificity": RatioTerms(lambda y, p, b: ((1 - y) * (1 - p), 1 - y), "label other than {!r}"),
    "f_beta": RatioTerms(
        lambda y, p, b: ((1 + b**2) * y * p, b**2 * y + p), "label or prediction {!r}"
    ),
}
"""Metrics of one class that are ratios, the most usual first."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClassRatio(Metric):
    """Precision, recall, specificity or F of one class: a ratio of two pool means."""

    ratio: str
    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = True
    positive: str
    beta: float = 1.0

    def __post_init__(self) -> None:
        every = np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])
        most = RATIOS[self.ratio].columns(*every, self.beta)[1].max()
        object.__setattr__(self, "d_max", float(most))

    def pairs(
        self,
        labels: ItemValues,
        pred: ItemValues,
        pool_size: int,
        pred_counts: Mapping[str, int] | None,
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        y, p = self._indicators(labels, pred)
        predicted = None if pred_counts is None else pred_counts.get(self.positive, 0)
        unlabelled = 0 if predicted is None else predicted - int(p.sum())
        if not 0 <= unlabelled <= pool_size - len(labels):
            raise InputError(
                f"pred_counts do not fit {len(labels)} labels of a pool of {pool_size}: they leave "
                f"{unlabelled} unlabelled items predicted {self.positive!r}."
            )
        ratio = RATIOS[self.ratio]
        return ratio.pairs(self.positive, y, p, pool_size, predicted, self.beta)

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """For a precision, the share of the pool that is predicted to be of the class."""
        if self.ratio != "precision":
            return None
        return pred_counts.get(self.positive, 0) / pool_size or None

    def _values(self, items: LabelledItems) -> Values:
        y, p = self._indicators(items.labels, items.pred)
        return Values(*RATIOS[self.ratio].columns(y, p, self.beta))

    def _indicators(self, labels: ItemValues, pred: ItemValues) -> tuple[FloatArray, FloatArray]:
        y = _indicator("labels", labels, self.positive)
        return y, _indicator("pred", pred, self.positive)

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        return ERROR._interest(predictions)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClassMean(Metric):
    """The plain mean over all classes of a ratio of each: a macro average."""

    ratio: str
    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = True
    d_max: float | None = 1.0
    classes: tuple[str, ...] = ()
    """None before the pool is known."""

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The ratio of each class."""
        if not self.classes:
            raise InputError(f"{self.name} needs the classes of the pool.")
        return tuple(
            ClassRatio(name=f"{self.ratio}:{one}", ratio=self.ratio, positive=one)
            for one in self.classes
        )

    def of_pool(self, counts: Mapping[str, int], classes: Sequence[str] | None = None) -> Metric:
        """The mean over these classes, or over those that are predicted."""
        return replace(self, classes=tuple(counts if classes is None else classes))

    def _values(self, items: LabelledItems) -> Values:
        each = [part._values(items) for part in self.parts]
        return Values(*(np.stack(column) for column in zip(*each, strict=True)))

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        return ERROR._interest(predictions)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Kappa(Metric):
    """Cohen's kappa of one judge, whose verdicts in the pool are known.

        1 - kappa = mean(1[label != verdict]) / mean(1 - j_label)

    j_k is the share of verdicts k in the whole pool. The ratio may exceed 1, and kappa be negative;
    divided by the largest that it may be it is a ratio with 0 <= A <= D.

    `positive` is one of two verdicts; with more of them it is None.
    """

    bounds: Bounds | None = (0.0, 1.0)
    complemented: bool = True
    higher_is_better: bool | None = True
    d_max: float | None = 1.0
    in_slices: bool = False
    shares: tuple[tuple[str, float], ...] = ()
    """The verdicts of the pool, and the share of each; none before the pool is known."""

    @classmethod
    def of(cls, counts: Mapping[str, int], positive: str | None = None) -> Kappa:
        """The kappa of a judge with so many verdicts of each class in the pool."""
        used = {name: n for name, n in counts.items() if n}
        if len(used) < 2:
            raise InputError(
                f"Every verdict is {next(iter(used), 'missing')!r}, so kappa is 0 whatever the "
                f"labels: leave it out."
            )
        total = sum(used.values())
        shares = tuple((name, n / total) for name, n in used.items())
        one = positive if len(used) == 2 and positive in used else None
        return cls(name="kappa", positive=one, d_max=_largest(shares), shares=shares)

    def of_pool(self, counts: Mapping[str, int], classes: Sequence[str] | None = None) -> Metric:
        """The kappa of a model with so many predictions of each class."""
        return Kappa.of(counts, max(counts, default=None))

    @property
    def slope(self) -> float:
        """Minus the largest value of 1 - kappa."""
        return -_largest(self.shares)

    def pairs(
        self,
        labels: ItemValues,
        pred: ItemValues,
        pool_size: int,
        pred_counts: Mapping[str, int] | None,
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        from levelled.metrics.ratios import Pairs

        wrong, expected = self._values(LabelledItems(labels, pred))
        assert expected is not None
        chance = {name: self._expected_part(share) for name, share in self.shares}
        left = pool_size - len(labels)
        if self.positive is None:
            outcomes = [(a, d) for d in (*chance.values(), -self.slope) for a in (0.0, 1.0)]
            return Pairs(wrong, expected, [(left, outcomes)], "label", is_share=False)
        (other,) = (name for name in chance if name != self.positive)
        both = [(label, chance[label]) for label in (other, self.positive)]
        predicted = int(np.count_nonzero(as_classes("pred", pred) == self.positive))
        unlabelled = max((pred_counts or {}).get(self.positive, 0) - predicted, 0)
        unseen = [
            (n, [(float(label != verdict), d) for label, d in both])
            for n, verdict in ((unlabelled, self.positive), (left - unlabelled, other))
        ]
        return Pairs(wrong, expected, unseen, "label", is_share=False)

    def _values(self, items: LabelledItems) -> Values:
        if not self.shares:
            raise InputError(f"{self.name} needs the predictions of the whole pool.")
        labels, pred = as_classes("labels", items.labels), as_classes("pred", items.pred)
        shares = dict(self.shares)
        expected = [self._expected_part(shares.get(one, 0.0)) for one in labels.tolist()]
        return Values((labels != pred).astype(np.float64), np.array(expected, dtype=np.float64))

    def _expected_part(self, share: float) -> float:
        """The denominator of an item whose label is a verdict with this share: at least 1."""
        return max(-self.slope * (1 - share), 1.0)  # rounding may leave a little less

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        return ERROR._interest(predictions)


def _largest(shares: Sequence[tuple[str, float]]) -> float:
    """The largest value of 1 - kappa: all labels are the most frequent verdict, and wrong."""
    return 1 / min(1 - share for _, share in shares)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnLosses(Metric):
    """The mean of a loss of your own, a function of labels and predictions."""

    label_kind: LabelKind | None = None
    signed: bool = True

    function: Callable[..., ArrayLike]

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """The labels as they are: the function decides what it takes."""
        return [*values]

    def tables(self, items: PossibleLabels) -> FloatArray:
        """The losses [2, n, J]; that of a label which is no known class is taken for the largest.

        The function is never asked about a label that nobody could have told.
        """
        named = tuple(name for name in items.classes if name)
        if len(named) == len(items.classes):
            return Metric.tables(self, items)
        tables = Metric.tables(self, replace(items, classes=named))
        return np.concatenate([tables, tables.max(axis=2, keepdims=True)], axis=2)

    def pairs(
        self,
        labels: ItemValues,
        pred: ItemValues,
        pool_size: int,
        pred_counts: Mapping[str, int] | None,
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        if self.d_max is None:
            return Metric.pairs(self, labels, pred, pool_size, pred_counts)
        from levelled.metrics.ratios import Pairs

        A, D = self._values(LabelledItems(labels, pred)) if len(labels) else (np.zeros(0),) * 2
        assert D is not None
        ends = [(0.0, 0.0), (0.0, self.d_max), (self.d_max, self.d_max)]
        return Pairs(A, D, [(pool_size - len(labels), ends)], "denominator above 0")

    def _values(self, items: LabelledItems) -> Values:
        n = len(items.labels)
        given = np.asarray(items.proba if self.needs == "proba" else items.pred)
        try:
            returned = self.function(np.asarray(items.labels), given)
        except Exception as wrong:  # the function may raise anything
            raise InputError(f"{self.name} failed on {n} labels: {_one_line(wrong)}.") from wrong
        both = returned if isinstance(returned, tuple) and self.d_max is not None else (returned,)
        values = [floats(f"What {self.name} returns", one) for one in both]
        if any(one.shape != (n,) for one in values) or (len(values) == 2) != bool(self.d_max):
            raise InputError(
                f"{self.name} must return one number a label, {n} here, or numerators and "
                f"denominators with most= declared; it returned an array of shape "
                f"{np.shape(returned)}."
            )
        if len(values) == 1:
            return Values(_within_bounds(self, values[0]))
        A, D = values
        if not np.all((A >= 0) & (A <= D) & (float(self.d_max or 0) >= D)):
            raise LossError(
                f"{self.name} must return 0 <= numerator <= denominator <= {self.d_max:g} (most)."
            )
        return Values(A, D)

    def _interest(self, predictions: PoolPredictions) -> FloatArray | None:
        if predictions.loss_hat is not None:
            return Metric._interest(self, predictions)
        return ERROR._interest(predictions)


_ENTRIES: dict[str, Callable[..., Metric]] = {
    "error": Errors,
    "accuracy": partial(Errors, complemented=True, higher_is_better=True),
    "log_loss": partial(ProbabilityLosses, loss="log_loss"),
    "brier": partial(ProbabilityLosses, loss="brier", bounds=(0.0, 2.0)),
    "mse": partial(NumberLosses, loss="squared"),
    "mae": partial(NumberLosses, loss="absolute"),
    "rmse": partial(NumberLosses, loss="squared", root=True),
    "mean": Mean,
    "macro_f1": partial(ClassMean, ratio="f1"),
    "macro_precision": partial(ClassMean, ratio="precision"),
    "macro_recall": partial(ClassMean, ratio="recall"),
    "balanced_accuracy": partial(ClassMean, ratio="recall"),
    # Over all classes micro precision, recall and F are the accuracy.
    "micro_f1": partial(Errors, complemented=True, higher_is_better=True),
    "kappa": Kappa,
    "log_loss:CAP": partial(ProbabilityLosses, loss="log_loss"),
    "mean:LOW:HIGH": Mean,
    **{f"{one}:CLASS": partial(ClassRatio, ratio=one) for one in RATIOS if one != "f_beta"},
    "f_beta:BETA:CLASS": partial(ClassRatio, ratio="f_beta"),
    "share:CLASS": Share,
}
"""The metrics by the pattern of their names, the most usual first."""

PLAIN = {name: make(name=name) for name, make in _ENTRIES.items() if ":" not in name}
"""Metrics that take nothing after their name."""

NAMES = (*_ENTRIES, "package.module:function")
"""The names that `parse_metric` takes."""

_REGISTERED: dict[str, Metric] = {}
"""Metrics of one's own, by the name that they were registered under."""


def register(
    name: str,
    *,
    bounds: tuple[float, float] | None = None,
    higher_is_better: bool = False,
    needs: Needs = "pred",
    most: float | None = None,
) -> Callable[[Function], Function]:
    """Register a function as a metric, which arrays, campaigns, plans and gates then know.

    The function takes labels and predictions and returns one value an item, whose pool mean is the
    metric; or the numerator and the denominator of each item, whose pool means are divided. A
    campaign records it as module:name, so that another process finds it by importing the module.

    Parameters
    ----------
    name : The name of the metric.
    bounds : The least and the largest value of an item; without them intervals are asymptotic.
    higher_is_better : True where a larger value is the better one.
    needs : The predictions that the function takes: "label" (none), "pred", "proba" or "number".
    most : The largest denominator of an item, for a function that returns two values; then
        0 <= numerator <= denominator.

    >>> @register("too_low", bounds=(0, 1))
    ... def too_low(labels, predictions):
    ...     return labels > predictions
    >>> parse_metric("too_low").values([1, 2], [1, 1]).losses
    array([0., 1.])
    """
    if not name.isidentifier() or name in _heads():
        raise InputError(f"A metric cannot be registered as {name!r}: choose a name of its own.")

    def add(function: Function) -> Function:
        limits = (0.0, 1.0) if most is not None else bounds
        full = f"{function.__module__}:{name}"
        _REGISTERED[name] = _own(full, function, limits, higher_is_better, needs, most)
        return function

    return add


def _own(
    name: str,
    function: Callable[..., ArrayLike],
    bounds: tuple[float, float] | None,
    higher_is_better: bool,
    needs: Needs = "pred",
    most: float | None = None,
) -> Metric:
    from levelled.estimators.intervals.limits import as_bounds

    return OwnLosses(
        name=name,
        needs=needs,
        bounds=None if bounds is None else as_bounds(bounds),
        higher_is_better=higher_is_better,
        function=function,
        d_max=most,
    )


def _heads() -> set[str]:
    return {pattern.partition(":")[0] for pattern in _ENTRIES}


def _registered(name: str) -> Metric | None:
    """The metric that was registered under this name, or recorded under module:name."""
    found = _REGISTERED.get(name.partition(":")[2] or name)
    return (
        found if found is not None and name in (found.name.partition(":")[2], found.name) else None
    )


def _import_losses(name: str, module: str, attribute: str, find: Find) -> Metric:
    """The function `attribute` of a module as a metric, with the bounds it declares."""
    try:
        function = find(module, attribute)
    except NotApprovedError as unknown:
        raise NotApprovedError(f"{name} cannot be computed. {unknown}") from unknown
    except Exception as wrong:  # the module may raise anything
        if found := _registered(name):  # under another name than that of its function
            return found
        if isinstance(wrong, ModuleNotFoundError) and "." not in module:
            raise _unknown(name, f" There is no module {module!r} in this folder.") from wrong
        raise InputError(
            f"The function {name} cannot be imported ({_one_line(wrong)}). Install its package, or "
            f"run the command in the folder of its file; import {module} where it is registered."
        ) from wrong
    if found := _registered(name):
        return found
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function of labels, pred.")
    better = bool(getattr(function, "higher_is_better", False))
    return _own(name, function, getattr(function, "bounds", None), better)


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


def _number_in(name: str, text: str) -> float:
    if not is_number(text):
        raise InputError(
            f"{name!r} must hold numbers after the colon, as in log_loss:10 or mean:1:5."
        )
    return float(text)


def _unknown(name: str, hint: str = "") -> InputError:
    head = name.partition(":")[0]
    near = difflib.get_close_matches(head, [*_heads(), *_REGISTERED], n=1)
    hint = f" Did you mean {near[0]}?" if near else hint
    return InputError(f"There is no metric {name!r}.{hint} Metrics are {', '.join(NAMES)}.")


def _one_line(wrong: Exception) -> str:
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]


def fitting_metrics(predictions: PoolPredictions, most_classes: int = 20) -> list[str]:
    """The names of the metrics that a pool can estimate, the most usual first.

    Metrics of one class are named for each class, where there are at most `most_classes`.

    >>> import pyarrow as pa
    >>> from levelled.sources import open_pool
    >>> fitting_metrics(open_pool(pa.table({"id": [1, 2], "pred": [0.5, 2.5]})).predictions())
    ['mse', 'mae', 'rmse', 'mean']
    """
    classes = _classes(predictions)
    some = classes if len(classes) <= most_classes else ()
    heads = [one.removesuffix("CLASS") for one in _ENTRIES if re.fullmatch(r"\w+:CLASS", one)]
    names = [*PLAIN, *(f"{head}{name}" for head in heads for name in some)]
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
