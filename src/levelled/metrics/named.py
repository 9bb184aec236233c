"""Metrics by their names, as a campaign stores them.

    error  accuracy                    of predicted classes
    log_loss  log_loss:CAP  brier      of predicted probabilities
    mse  mae                           of predicted numbers
    mean  mean:LOW:HIGH  share:CLASS   of the label itself
    precision:CLASS  recall:CLASS  f1:CLASS
    package.module:function            your own: function(labels, predictions) -> losses

Classes are text: 1, 1.0 and "1" are the same class.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

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
_LARGEST_LOG_LOSS = 700.0  # guard: exp of more than that overflows


class Values(NamedTuple):
    """The losses of drawn items; for a ratio, their numerators and their denominators."""

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

    def same_loss_as(self, other: Metric) -> bool:
        """True if both compute the same losses, whatever figure they make of them.

        >>> parse_metric("accuracy").same_loss_as(parse_metric("error"))
        True
        """
        return type(self) is type(other) and self == replace(
            other,
            name=self.name,
            complemented=self.complemented,
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
        """Numerator and denominator [2, n, J] of items for each label that they may have.

        >>> items = PossibleLabels(("ham", "spam"), np.array([1, 0]))
        >>> parse_metric("error").tables(items)[0]
        array([[1., 0.],
               [0., 1.]])
        """
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
        return np.asarray(both.reshape(2, -1, n_labels))

    def pairs(
        self, labels: ItemValues, pred: ItemValues, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """A ratio's values, with what the unlabelled items may still add to them.

        `pred_counts` says how often each class is predicted in the whole pool.

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
        from levelled.metrics.ratios import scaled

        return scaled(estimate, -1.0, 1.0) if self.complemented else estimate

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

    needs: ClassVar[Needs] = "number"
    label_kind: ClassVar[Literal["class", "number"] | None] = "number"

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
    is_ours = head in PLAIN or head in _OF_CLASS
    return head if colon and not is_ours else None


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
        from levelled.estimators.intervals.limits import as_bounds

        low, _, high = rest.partition(":")
        return Mean(name=name, bounds=as_bounds((_number_in(name, low), _number_in(name, high))))
    if head in PLAIN:
        raise InputError(f"{head} takes nothing after a colon; write {head} instead of {name!r}.")
    if colon:
        return _import_losses(name, head, rest, find)
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

    def tables(self, items: PossibleLabels) -> FloatArray:
        """The labels [2, n, J] as numbers within the bounds, and ones."""
        worth = self.worth(items.classes) if items.numbers is None else self._clip(items.numbers)
        assert worth is not None
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
        known = classes is not None and self.positive in classes
        return _indicator("classes", classes or (), self.positive) if known else None


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
        from levelled.metrics.classification import pairs_of

        return pairs_of(self.ratio, self.positive, y, p, pool_size, predicted)

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """For a precision, the share of the pool that is predicted to be of the class."""
        if self.ratio != "precision":
            return None
        return pred_counts.get(self.positive, 0) / pool_size or None

    def _values(self, items: LabelledItems) -> Values:
        from levelled.metrics.classification import terms

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

    def tables(self, items: PossibleLabels) -> FloatArray:
        """The losses [2, n, J]; that of a label which is no known class is taken for the largest.

        The function is never asked about a label that nobody could have told.
        """
        named = tuple(name for name in items.classes if name)
        if len(named) == len(items.classes):
            return Metric.tables(self, items)
        tables = Metric.tables(self, replace(items, classes=named))
        return np.concatenate([tables, tables.max(axis=2, keepdims=True)], axis=2)

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
    "precision": partial(ClassRatio, ratio="precision", d_max=1.0),
    "recall": partial(ClassRatio, ratio="recall", d_max=1.0),
    "f1": partial(ClassRatio, ratio="f1", d_max=2.0),
    "share": Share,
}
"""Metrics of one class, the most usual first."""

_HEADS = [f"{head}:CLASS" for head in _OF_CLASS]
NAMES = (*PLAIN, "log_loss:CAP", "mean:LOW:HIGH", *_HEADS, "package.module:function")
"""The names that `parse_metric` takes."""


def _import_losses(name: str, module: str, attribute: str, find: Find) -> Metric:
    """The function `attribute` of a module as a metric, with the bounds it declares."""
    try:
        function = find(module, attribute)
    except NotApprovedError as unknown:
        raise NotApprovedError(f"{name} cannot be computed. {unknown}") from unknown
    except Exception as wrong:  # the module may raise anything
        if isinstance(wrong, ModuleNotFoundError) and "." not in module:
            raise _unknown(name, f" There is no module {module!r} in this folder.") from wrong
        raise InputError(
            f"The function {name} cannot be imported ({_one_line(wrong)}). Install its package, or "
            f"run the command in the folder of its file."
        ) from wrong
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function of labels, pred.")
    from levelled.estimators.intervals.limits import as_bounds

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
    names = [*PLAIN, *(f"{head}:{name}" for head in _OF_CLASS for name in some)]
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
