"""A metric: what all of them say of themselves, and what each kind has to say.

A metric turns the labels of drawn items into losses, or into the numerators and denominators of
a ratio. Before there is a label it says how interesting each item of the pool is and, where
something predicts it, which loss to expect.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, floats
from levelled.errors import InputError
from levelled.estimators.record import Estimate
from levelled.metrics.averages import complement
from levelled.metrics.classes import Items, check_class
from levelled.metrics.known import PoolPredictions
from levelled.metrics.labelled import Labelled, Values, class_label
from levelled.metrics.ratio import Pairs

__all__ = ["Bounds", "Metric", "Needs"]

Base = Literal[
    "error", "log_loss", "brier", "mse", "mae", "mean", "share", "precision", "recall", "f1", "own"
]
Bounds = tuple[float, float]
Needs = Literal["label", "pred", "proba", "number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(ABC):
    """What a metric needs, what its losses may be, and how they come about; made by `parse`.

    A kind of metric (see `kinds`) tells the values of labelled items, and what a pool lets one
    expect of them; the rest is the same for all.
    """

    needs: ClassVar[Needs] = "pred"
    """What it needs besides the label: nothing, a prediction, probabilities, a number."""
    least: ClassVar[float] = 0.0
    """The least loss of its kind, where no bounds are known."""
    label_kind: ClassVar[Literal["number", "class"] | None] = "class"
    """What a label must be; None where only the loss function can tell."""

    name: str
    base: Base
    bounds: Bounds | None = None
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
    def interval(self) -> Literal["betting", "anytime"]:
        """The interval that may be watched: finite-sample where bounds are known."""
        return "anytime" if self.bounds is None else "betting"

    @property
    def sign_unknown(self) -> bool:
        """True where losses may be negative, so that no lower limit is known beforehand."""
        return self.least < 0

    def same_loss_as(self, other: "Metric") -> bool:
        """True where both metrics give every item the same loss, whatever they are called."""
        return _loss_of(self) == _loss_of(other)

    def labels(self, values: Sequence[object], classes: Sequence[str] | None = None) -> list[Any]:
        """Several labels as they count, each checked by `label`."""
        return [self.label(value, classes) for value in values]

    def label(self, value: object, classes: Sequence[str] | None = None) -> object:
        """One label as it counts: a class as text, a number as one; refused if it is neither.

        >>> from levelled.metrics.named import parse
        >>> parse("error").label(1.0), parse("mean").label("4.5")
        ('1', 4.5)
        """
        return class_label(value, classes)

    def values(
        self,
        labels: Items,
        pred: Items | None = None,
        proba: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> Values:
        """Losses of drawn items, or numerators and denominators, from labels and predictions.

        >>> from levelled.metrics.named import parse
        >>> parse("error").values(["spam", "ham"], ["spam", "spam"]).losses
        array([0., 1.])
        >>> parse("f1:spam").values(["spam", "ham"], ["spam", "spam"])
        Values(losses=array([2., 0.]), denominators=array([2., 1.]))
        """
        return self._values(Labelled(labels, pred, proba, classes))

    def pairs(
        self, labels: Items, pred: Items, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """A ratio's values, with what the unlabelled items may still add to them.

        `pred_counts` says how often each class is predicted in the whole pool.

        >>> from levelled.metrics.named import parse
        >>> pairs = parse("precision:spam").pairs(["ham"], ["spam"], 10, {"ham": 6, "spam": 4})
        >>> pairs.denominator_mean, pairs.possible
        (0.4, (0.0, 0.75))
        """
        raise InputError(f"{self.name} is an average of losses, not a ratio.")

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """The pool mean of a ratio's denominator, where the predictions alone tell it."""
        return None

    def reported(self, found: Estimate) -> Estimate:
        """The figure under the metric's name, from the estimated mean of its losses."""
        return complement(found) if self.complemented else found

    def require(self, known: PoolPredictions) -> None:
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
            check_class(self.positive, known.classes)

    def score(self, known: PoolPredictions) -> FloatArray:
        """The interest of each item: sqrt(E[L^2]) as far as anything tells it, else all ones.

        The first of these that the pool has: a `score`, a `loss_hat`, a surrogate's
        probabilities, the model's own. Ratios and losses of your own take the interest of an
        error. Where the label itself is averaged the interest is its standard deviation, since
        `control` takes care of its mean.

        >>> from levelled.metrics.named import parse
        >>> proba = np.array([[0.91, 0.09], [0.64, 0.36]])
        >>> parse("error").score(PoolPredictions(2, ("a", "b"), proba=proba))
        array([0.3, 0.6])
        """
        if known.score is not None:
            return floats("score", known.score, ndim=1)
        found = self._interest(known)
        return np.ones(known.pool_size) if found is None else found

    def control(self, known: PoolPredictions) -> FloatArray | None:
        """The loss to expect of each item, E[L], for an average; None where nothing tells it.

        The first of these that the pool has: a `loss_hat`, for `mean` a predicted number, a
        surrogate's probabilities, the model's own.

        >>> from levelled.metrics.named import parse
        >>> parse("error").control(PoolPredictions(1, ("a", "b"), proba=np.array([[0.75, 0.25]])))
        array([0.25])
        """
        if self.kind == "ratio":
            return None
        return self._expected(known) if known.loss_hat is None else self._cut(known.loss_hat)

    @abstractmethod
    def _values(self, given: Labelled) -> Values: ...

    @abstractmethod
    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        """The interest of each item where no `score` decrees it."""

    def _expected(self, known: PoolPredictions) -> FloatArray | None:
        """The loss to expect of each item where no `loss_hat` predicts it."""
        return None

    @property
    def _possible(self) -> Bounds:
        return self.bounds or (self.least, np.inf)

    def _cut(self, predicted: NDArray[Any]) -> FloatArray:
        """A predicted loss cut to what the loss may be."""
        return np.clip(predicted.astype(np.float64), *self._possible)

    def _size(self, predicted: NDArray[Any]) -> FloatArray:
        """How large a predicted loss is, whatever its sign."""
        return np.abs(self._cut(predicted))


def _loss_of(metric: Metric) -> tuple[object, ...]:
    return metric.base, metric.bounds, metric.cap, metric.positive, metric.function
