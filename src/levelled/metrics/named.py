"""A metric by its name, as a campaign writes it down.

    error  accuracy                    of predicted classes
    log_loss  log_loss:CAP  brier      of predicted probabilities
    mse  mae                           of predicted numbers
    mean  mean:LOW:HIGH  share:CLASS   of the label itself
    precision:CLASS  recall:CLASS  f1:CLASS
    package.module:function            your own: function(labels, predictions) -> losses

A metric turns the labels of drawn items into losses, or into the numerators and denominators of
a ratio. Before there is a label it says how interesting each item of the pool is and, where
something predicts it, which loss to expect. Classes are text: 1, 1.0 and "1" are the same class.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled import losses
from levelled._check import FloatArray, between, floats, same_length
from levelled.errors import InputError, LossError
from levelled.estimators.problem import checked_pair
from levelled.estimators.record import Estimate
from levelled.losses import Loss
from levelled.metrics.averages import complement
from levelled.metrics.classes import class_numbers, shown
from levelled.metrics.classification import terms
from levelled.metrics.ratio import Pairs
from levelled.scores import expected_loss, root_mean_squared_loss

__all__ = ["NAMES", "Known", "Metric", "Values", "as_classes", "class_text", "parse"]

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
"""What `parse` understands."""

Base = Literal[
    "error", "log_loss", "brier", "mse", "mae", "mean", "share", "precision", "recall", "f1", "own"
]
Needs = Literal["label", "pred", "proba", "number"]
Items = Sequence[Any] | NDArray[Any]
Reals = NDArray[np.floating[Any]]
Wholes = NDArray[np.integer[Any]]

_NEEDS: dict[Base, Needs] = {
    "log_loss": "proba",
    "brier": "proba",
    "mse": "number",
    "mae": "number",
    "mean": "label",
    "share": "label",
}
"""What a metric needs of the model, where that is not a prediction of any kind."""

_SEEN = {"precision": "prediction", "recall": "label", "f1": "label or prediction"}
"""What must have been seen of a class for the ratio to be defined."""

_BLOCK = 65_536
"""Items of a pool taken at once, so that what lies between costs no memory to speak of."""


class Values(NamedTuple):
    """The losses of drawn items; for a ratio, their numerators and their denominators."""

    losses: FloatArray
    denominators: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Known:
    """What is known of the items of a pool before anybody labels them, one value an item.

    `answer` is the predicted class as its place in `classes`, `number` a predicted number;
    `proba` and `surrogate` are probabilities [N, C], the model's own and those of a second model;
    `score` is interest by decree, `loss_hat` a predicted loss (for `mean`: a predicted label).
    """

    n_pool: int
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
            if column is not None and len(column) != self.n_pool:
                raise InputError(
                    f"{name} must have one value for each of the {self.n_pool} items; it has "
                    f"{len(column)}."
                )

    @property
    def chances(self) -> Reals | None:
        """The probability of each class: a second model's where there is one."""
        return self.proba if self.surrogate is None else self.surrogate


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric needs, what its losses may be, and how they come about; made by `parse`."""

    name: str
    base: Base
    bounds: tuple[float, float] | None = None
    """The least and the largest loss (or ratio), where they are known beforehand."""
    complemented: bool = False
    """Whether the figure is one minus the mean of the losses, as accuracy is."""
    higher_is_better: bool | None = False
    """None where neither is better, as for the share of a class."""
    positive: str | None = None
    """The class it is about."""
    cap: float | None = None
    d_max: float | None = None
    """The largest denominator of an item; None for an average."""
    function: Callable[..., ArrayLike] | None = None

    @property
    def kind(self) -> Literal["average", "ratio"]:
        """A mean of losses, or a ratio of two means."""
        return "average" if self.d_max is None else "ratio"

    @property
    def needs(self) -> Needs:
        """What it needs besides the label: nothing, a prediction, probabilities, a number."""
        return _NEEDS.get(self.base, "pred")

    @property
    def interval(self) -> Literal["betting", "anytime"]:
        """The interval that may be watched: finite-sample where bounds are known."""
        return "anytime" if self.bounds is None else "betting"

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as it counts: a class as text, a number as one; refused if it is neither.

        >>> parse("error").label(1.0), parse("mean").label("4.5")
        ('1', 4.5)
        """
        if self.base == "own":
            return value
        if self.base == "mean":
            return float(self._allowed(_numbers("A label", [value]))[0])
        if self.needs == "number":
            return float(_numbers("A label", [value])[0])
        name = class_text(value)
        if classes is not None and name not in classes:
            raise InputError(f"The label {name!r} is none of the classes {shown(classes)}.")
        return name

    def require(self, known: Known) -> None:
        """Refuse a pool that does not hold what the metric needs."""
        if self.needs == "proba" and (known.proba is None or known.classes is None):
            raise InputError(
                f"{self.name} needs probabilities, and this model has none in the pool: add a "
                f"column proba_<class> for each class, or use error."
            )
        if self.needs != "label" and not known.predicted:
            raise InputError(f"{self.name} needs predictions: add a column pred to the pool.")
        if self.needs == "number" and known.number is None:
            raise InputError(
                f"{self.name} needs numbers as predictions, and those of this pool are classes. "
                f"For classes use error."
            )
        if self.positive is not None and known.classes is not None:
            _check_class(self.positive, known.classes)
        if self.base == "log_loss" and self.cap is None and known.proba is not None:
            n_zero = int(np.count_nonzero(known.proba.min(axis=1) == 0))
            if n_zero:
                raise InputError(
                    f"{n_zero} of {known.n_pool} items give a class the probability 0, so one "
                    f"label could make the log loss infinite. Declare the most that one item may "
                    f"count, for example log_loss:10."
                )

    def values(
        self,
        labels: Items,
        pred: Items | None = None,
        proba: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> Values:
        """Losses of drawn items, or numerators and denominators, from labels and predictions.

        >>> parse("error").values(["spam", "ham"], ["spam", "spam"]).losses
        array([0., 1.])
        >>> parse("f1:spam").values(["spam", "ham"], ["spam", "spam"])
        Values(losses=array([2., 0.]), denominators=array([2., 1.]))
        """
        if self.base == "mean":
            return Values(self._allowed(_numbers("labels", labels)))
        if self.base == "share":
            return Values((as_classes("labels", labels) == self.positive).astype(np.float64))
        if self.needs == "proba":
            return Values(self._of_probabilities(labels, proba, classes))
        if pred is None:
            raise InputError(f"{self.name} needs the predictions of the labelled items.")
        same_length(labels=labels, pred=pred)
        if self.needs == "number":
            loss = losses.squared if self.base == "mse" else losses.absolute
            return Values(loss(_numbers("labels", labels), _numbers("pred", pred)))
        if self.function is not None:
            return Values(self._own(self.function, labels, pred))
        label, answer = as_classes("labels", labels), as_classes("pred", pred)
        if self.kind == "average":
            return Values((label != answer).astype(np.float64))
        y, p = ((names == self.positive).astype(np.float64) for names in (label, answer))
        return Values(*self._terms(y, p))

    def pairs(
        self, labels: Items, pred: Items, n_pool: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """A ratio's values, with what the unlabelled items may still add to them.

        `pred_counts` says how often each class is predicted in the whole pool.

        >>> pairs = parse("precision:spam").pairs(["ham"], ["spam"], 10, {"ham": 6, "spam": 4})
        >>> pairs.denominator_mean, pairs.possible
        (0.4, (0.0, 0.75))
        """
        found = self.values(labels, pred)
        if found.denominators is None or self.positive is None:
            raise InputError(f"{self.name} is an average of losses, not a ratio.")
        left, unlabelled = n_pool - len(labels), pred_counts.get(self.positive, 0)
        unlabelled -= int(np.count_nonzero(as_classes("pred", pred) == self.positive))
        if not 0 <= unlabelled <= left:
            raise InputError(
                f"pred_counts do not fit {len(labels)} labels of a pool of {n_pool}: they leave "
                f"{unlabelled} unlabelled items predicted {self.positive!r}."
            )
        unseen = [(unlabelled, self._outcomes(1.0)), (left - unlabelled, self._outcomes(0.0))]
        what = f"{_SEEN[self.base]} {self.positive!r}"
        mean = self.denominator_mean(pred_counts, n_pool)
        return Pairs(found.losses, found.denominators, unseen, what, mean)

    def denominator_mean(self, pred_counts: Mapping[str, int], n_pool: int) -> float | None:
        """The pool mean of a ratio's denominator, where the predictions alone tell it."""
        if self.base != "precision" or self.positive is None:
            return None
        return pred_counts.get(self.positive, 0) / n_pool or None

    def reported(self, found: Estimate) -> Estimate:
        """The figure under the metric's name, from the estimated mean of its losses."""
        return complement(found) if self.complemented else found

    def score(self, known: Known) -> FloatArray:
        """The interest of each item: sqrt(E[L^2]) as far as anything tells it, else all ones.

        The first of these that the pool has: a `score`, a `loss_hat`, a surrogate's
        probabilities, the model's own. Ratios and losses of your own take the interest of an
        error. Where the label itself is averaged the interest is its standard deviation, since
        `control` takes care of its mean.

        >>> parse("error").score(Known(2, ("a", "b"), proba=np.array([[0.91, 0.09], [0.64, 0.36]])))
        array([0.3, 0.6])
        """
        if known.score is not None:
            return floats("score", known.score, ndim=1)
        if self.needs == "label":
            return self._spread(known)
        if known.loss_hat is not None:
            expected = np.abs(self._cut(known.loss_hat))
            zero_one = self.base == "error" or self.kind == "ratio"
            return np.sqrt(expected) if zero_one else expected  # L^2 = L for 0 and 1
        found = self._by_loss(root_mean_squared_loss, known)
        return np.ones(known.n_pool) if found is None else found

    def control(self, known: Known) -> FloatArray | None:
        """The loss to expect of each item, E[L], for an average; None where nothing tells it.

        The first of these that the pool has: a `loss_hat`, for `mean` a predicted number, a
        surrogate's probabilities, the model's own.

        >>> parse("error").control(Known(1, ("a", "b"), proba=np.array([[0.75, 0.25]])))
        array([0.25])
        """
        if self.kind == "ratio":
            return None
        if known.loss_hat is not None:
            return self._cut(known.loss_hat)
        if self.base == "mean" and known.number is not None:
            return self._cut(known.number)
        if self.needs == "label":
            expected = self._label_moment(known, 1)
            return None if expected is None else self._cut(expected)
        return None if self.base == "own" else self._by_loss(expected_loss, known)

    def _by_loss(self, moment: Callable[..., FloatArray], known: Known) -> FloatArray | None:
        """A moment of the loss under the chances of the classes, where these are known."""
        of_proba: dict[Base, Loss] = {"log_loss": "log_loss", "brier": "brier"}
        loss = of_proba.get(self.base, "zero_one")
        answer: NDArray[Any] | None = known.proba
        if loss == "zero_one" and known.answer is not None:
            answer = known.answer
        chances = known.chances
        if self.needs == "number" or answer is None or chances is None:
            return None
        return _in_blocks(
            known.n_pool, lambda at: moment(answer[at], chances[at], loss=loss, cap=self.cap)
        )

    def _label_moment(self, known: Known, power: int) -> FloatArray | None:
        """E[y^power] of the label itself, where its classes have chances and are numbers."""
        chances, worth = known.chances, self._worth(known.classes)
        if chances is None or worth is None:
            return None
        return _in_blocks(known.n_pool, lambda at: chances[at].astype(np.float64) @ worth**power)

    def _worth(self, classes: Sequence[str] | None) -> FloatArray | None:
        """What a label of each class adds to the mean."""
        if classes is None:
            return None
        if self.base == "share":
            return np.array([float(name == self.positive) for name in classes])
        try:
            return floats("classes", [float(name) for name in classes])
        except ValueError:
            return None

    def _spread(self, known: Known) -> FloatArray:
        """The standard deviation of the label, or ones."""
        if known.loss_hat is not None and self.base == "share":
            chance = self._cut(known.loss_hat)
            return np.sqrt(chance * (1 - chance))
        mean, square = (self._label_moment(known, power) for power in (1, 2))
        if mean is None or square is None:
            return np.ones(known.n_pool)
        return np.sqrt(np.maximum(square - mean**2, 0))

    def _cut(self, predicted: NDArray[Any]) -> FloatArray:
        """A predicted loss cut to what the loss may be."""
        least = -np.inf if self.base in ("mean", "own") else 0.0
        return np.clip(predicted.astype(np.float64), *(self.bounds or (least, np.inf)))

    def _allowed(self, found: FloatArray) -> FloatArray:
        """Losses as they are, unless one breaks the bounds."""
        low, high = self.bounds or (-np.inf, np.inf)
        outside = found[(found < low) | (found > high)]
        if outside.size:
            raise LossError(
                f"{self.name} is declared to lie between {low:g} and {high:g}, and "
                f"{outside[0]:g} does not."
            )
        return found

    def _of_probabilities(
        self, labels: Items, proba: ArrayLike | None, classes: Sequence[str] | None
    ) -> FloatArray:
        if proba is None or classes is None:
            raise InputError(f"{self.name} needs the probabilities of the classes and their names.")
        y = class_numbers("labels", as_classes("labels", labels), classes)
        p = floats("proba", proba)
        if self.base == "brier":
            return losses.brier(y, p)
        return losses.log_loss(y, p, cap=self.cap)

    def _own(self, function: Callable[..., ArrayLike], labels: Items, pred: Items) -> FloatArray:
        try:
            returned = function(np.asarray(labels), np.asarray(pred))
        except Exception as wrong:  # it is somebody else's function
            raise InputError(
                f"{self.name} failed on {len(labels)} labels: {_one_line(wrong)}."
            ) from wrong
        found = floats(f"What {self.name} returns", returned)
        if found.shape != (len(labels),):
            raise InputError(
                f"{self.name} must return one number a label, {len(labels)} here; it returned an "
                f"array of shape {found.shape}."
            )
        return self._allowed(found)

    def _terms(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.base == "precision" or self.base == "recall":
            return terms(self.base, y, p, 1.0)
        return terms("f1", y, p, 1.0)

    def _outcomes(self, predicted: float) -> list[tuple[float, float]]:
        """The pairs that an item with this prediction may turn out as."""
        A, D = self._terms(np.array([0.0, 1.0]), np.full(2, predicted))
        return [*zip(A.tolist(), D.tolist(), strict=True)]


def parse(name: str, *, classes: Sequence[str] | None = None) -> Metric:
    """The metric of this name, one of `NAMES`; `classes` are those it may be about.

    A function of your own may have the attributes `bounds`, the least and the largest loss,
    without which only an asymptotic interval may be watched, and `higher_is_better`.

    >>> parse("f1:spam").needs, parse("log_loss:10").bounds, parse("accuracy").interval
    ('pred', (0.0, 10.0), 'betting')
    """
    name = str(name).strip()
    head, colon, rest = name.partition(":")
    if head in _PLAIN and not colon:
        return _PLAIN[head]
    if head in ("share", "precision", "recall", "f1"):
        return _of_class(name, classes)
    if head == "log_loss":
        cap = _part_number(name, rest)
        cap = between(f"The cap of {name}", cap, 0, 1000, open_=True)
        return Metric(name, "log_loss", (0.0, cap), cap=cap)
    if head == "mean":
        low, _, high = rest.partition(":")
        bounds = checked_pair((_part_number(name, low), _part_number(name, high)))
        return Metric(name, "mean", bounds, higher_is_better=None)
    if head in _PLAIN:
        raise InputError(f"{head} takes nothing after a colon; write {head} instead of {name!r}.")
    if colon:
        return _of_function(name, head, rest)
    raise _unknown(name)


_PLAIN = {
    "error": Metric("error", "error", (0.0, 1.0)),
    "accuracy": Metric("accuracy", "error", (0.0, 1.0), complemented=True, higher_is_better=True),
    "log_loss": Metric("log_loss", "log_loss"),
    "brier": Metric("brier", "brier", (0.0, 2.0)),
    "mse": Metric("mse", "mse"),
    "mae": Metric("mae", "mae"),
    "mean": Metric("mean", "mean", higher_is_better=None),
}


def as_classes(name: str, values: Items) -> NDArray[np.str_]:
    """Classes as text, one an item, however they are written.

    >>> as_classes("labels", [1, 2.0, True, "spam"]).tolist()
    ['1', '2', 'true', 'spam']
    """
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InputError(f"{name} must have one axis; it has shape {values.shape}.")
        if values.dtype.kind in "iu":
            return values.astype(np.str_)
        values = values.tolist()
    return np.array([class_text(value) for value in values], dtype=np.str_)


def class_text(value: object) -> str:
    """A class as text: whole numbers without a point, truth values as JSON writes them.

    >>> class_text(1.0), class_text("01"), class_text(True), class_text("True")
    ('1', '01', 'true', 'true')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.lower() if value in ("True", "False") else value  # as Python writes to CSV
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and np.isfinite(value):
        return str(int(value)) if value == int(value) else repr(value)
    raise InputError(f"A class is text or a number; {value!r} is neither.")


def _of_class(name: str, classes: Sequence[str] | None) -> Metric:
    head, _, rest = name.partition(":")
    if not rest:
        raise InputError(f"{head} is about one class: write {head}:CLASS, for example {head}:spam.")
    about = class_text(rest)
    if classes is not None:
        _check_class(about, classes)
    bounds = (0.0, 1.0)
    if head == "share":
        return Metric(name, "share", bounds, higher_is_better=None, positive=about)
    if head == "f1":
        return Metric(name, "f1", bounds, higher_is_better=True, positive=about, d_max=2.0)
    base: Base = "precision" if head == "precision" else "recall"
    return Metric(name, base, bounds, higher_is_better=True, positive=about, d_max=1.0)


def _of_function(name: str, module: str, attribute: str) -> Metric:
    """Somebody's own loss, with what it declares about itself."""
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as wrong:  # somebody else's module may raise anything
        if isinstance(wrong, ModuleNotFoundError) and "." not in module:
            raise _unknown(name) from wrong
        raise InputError(
            f"The function {name} cannot be imported ({_one_line(wrong)}). Install its package, or "
            f"put its folder on PYTHONPATH."
        ) from wrong
    if not callable(found):
        raise InputError(f"{name} is a {type(found).__name__}, not a function of labels, pred.")
    bounds = getattr(found, "bounds", None)
    return Metric(
        name,
        "own",
        None if bounds is None else checked_pair(bounds),
        higher_is_better=bool(getattr(found, "higher_is_better", False)),
        function=found,
    )


def _unknown(name: str) -> InputError:
    head = name.partition(":")[0]
    near = difflib.get_close_matches(head, [known.partition(":")[0] for known in NAMES], n=1)
    told = f" Did you mean {near[0]}?" if near else ""
    return InputError(f"There is no metric {name!r}.{told} Metrics are {', '.join(NAMES)}.")


def _check_class(name: str, classes: Sequence[str]) -> None:
    if name not in classes:
        raise InputError(f"There is no class {name!r}; the classes are {shown(classes)}.")


def _part_number(name: str, text: str) -> float:
    if not _is_number(text):
        raise InputError(
            f"{name!r} must hold numbers after the colon, as in log_loss:10 or mean:1:5."
        )
    return float(text)


def _numbers(name: str, values: Items) -> FloatArray:
    """Labels or predictions as numbers; text that says a number is one."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return floats(name, values, ndim=1)
    for value in values:
        if not _is_number(value):
            raise InputError(f"{name} must be a number; {value!r} is none.")
    return np.array([float(value) for value in values])


def _is_number(value: object) -> bool:
    try:
        return bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _in_blocks(n_pool: int, compute: Callable[[slice], FloatArray]) -> FloatArray:
    found = np.empty(n_pool)
    for start in range(0, n_pool, _BLOCK):
        at = slice(start, min(start + _BLOCK, n_pool))
        found[at] = compute(at)
    return found


def _one_line(wrong: Exception) -> str:
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
