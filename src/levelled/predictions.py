"""Predictions for a whole pool, known before anybody labels an item."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.labels import class_text
from levelled.losses import Loss, Reals

__all__ = ["Categorical", "Numbers", "PoolPredictions", "as_verdicts", "spread_chances"]
__all__ += ["verdict_chances"]

Numbers = NDArray[np.floating[Any]] | NDArray[np.integer[Any]]

_BLOCK = 65_536
"""Items computed at once, so that intermediate results need little memory."""

MOST_CLASSES = 10_000
"""More classes than this are not counted: each count is kept in the log."""
_MOST_VERDICTS = 50
"""More classes than this are no verdicts."""
_AGREEMENT = 0.75  # study constants: 7/8 -2%, 1/2 0 of the variance
"""The chance that a verdict agrees with the label, unless its class is frequent: a first guess.
GPT-4 agrees with people on 66% of pairs with ties, on 85% without (Zheng et al., 2023, table 5)."""


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Categorical:
    """One of a few values for each item: `values[codes[n]]` is that of item n.

    >>> country = Categorical(("de", "fr"), np.array([1, 0, 1], dtype=np.int32))
    >>> country.of([0, 1]), country.counts()
    (['fr', 'de'], {'de': 1, 'fr': 2})
    >>> np.asarray(country)
    array(['fr', 'de', 'fr'], dtype='<U2')
    """

    values: tuple[str, ...]
    codes: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, rows: ArrayLike) -> list[str]:
        """The values of some items."""
        return [self.values[code] for code in self.codes[np.asarray(rows, dtype=np.int64)]]

    def at(self, rows: ArrayLike) -> "Categorical":
        """The same for some items."""
        return Categorical(self.values, self.codes[np.asarray(rows, dtype=np.int64)])

    def counts(self) -> dict[str, int]:
        """The number of items with each value."""
        counts = np.bincount(self.codes, minlength=len(self.values))
        return dict(zip(self.values, counts.tolist(), strict=True))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(np.array(self.values, dtype=np.str_)[self.codes], dtype=dtype)


@dataclass(frozen=True, slots=True, eq=False)
class PoolPredictions:
    """One model's predictions for every item, and the columns of the pool that guide the draws.

    `pred` is a class or a number an item; `proba` and `surrogate` are probabilities [N, C] of
    `classes`, the model's own and those of a second model. `score` is the interest of each item
    as the pool file gives it, `loss_hat` a predicted loss (for `mean`: a predicted label).
    `features` are numbers [N, D] that describe the items, NaN where one is missing.
    """

    pool_size: int
    classes: tuple[str, ...] | None = None
    pred: Categorical | Numbers | None = None
    proba: Reals | None = None
    surrogate: Reals | None = None
    score: Reals | None = None
    loss_hat: Reals | None = None
    features: Reals | None = None
    open_classes: bool = False
    """True if nobody declared the classes, so that a label may be another one."""

    def __post_init__(self) -> None:
        for name in ("pred", "proba", "surrogate", "score", "loss_hat", "features"):
            column = getattr(self, name)
            if column is not None and len(column) != self.pool_size:
                raise InputError(
                    f"{name} must have one value for each of the {self.pool_size} items; it has "
                    f"{len(column)}."
                )

    def __len__(self) -> int:
        return self.pool_size

    @property
    def number(self) -> Numbers | None:
        """The predictions, if they are numbers."""
        return None if isinstance(self.pred, Categorical) else self.pred

    @property
    def class_index(self) -> NDArray[np.integer[Any]] | None:
        """The predicted class of each item as its position in `classes`, if these are known."""
        if isinstance(self.pred, Categorical) and self.classes is not None:
            return self.pred.codes
        return None

    @property
    def label_proba(self) -> Reals | None:
        """The probability of each class: a second model's where there is one."""
        return self.proba if self.surrogate is None else self.surrogate

    def of(self, rows: ArrayLike) -> list[str | int | float] | None:
        """The predictions for some items."""
        at = np.asarray(rows, dtype=np.int64)
        if isinstance(self.pred, Categorical):
            return [*self.pred.of(at)]
        return None if self.pred is None else self.pred[at].tolist()

    def counts(self) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        if isinstance(self.pred, Categorical):
            return self.pred.counts() if len(self.pred.values) <= MOST_CLASSES else {}
        if self.pred is None:
            return {}
        values, counts = np.unique(self.pred, return_counts=True)
        if len(values) > MOST_CLASSES:
            return {}
        return {class_text(v): n for v, n in zip(values.tolist(), counts.tolist(), strict=True)}

    def loss_moment(
        self, moment: Callable[..., FloatArray], loss: Loss, cap: float | None = None
    ) -> FloatArray | None:
        """A moment of each item's loss if its label has the probabilities `label_proba`.

        `moment` is `expected_loss` or `root_mean_squared_loss` of `levelled.scores`. A `zero_one`
        loss is that of the predicted class, or of the most probable one where none is predicted.
        The result is None where the pool has no such predictions or probabilities.

        >>> from levelled.scores import expected_loss
        >>> predictions = PoolPredictions(1, ("a", "b"), proba=np.array([[0.75, 0.25]]))
        >>> predictions.loss_moment(expected_loss, "zero_one")
        array([0.25])
        """
        pred: NDArray[Any] | None = self.proba
        if loss == "zero_one" and self.class_index is not None:
            pred = self.class_index
        chances = self.label_proba
        if pred is None or chances is None:
            return None
        return self._in_blocks(lambda at: moment(pred[at], chances[at], loss=loss, cap=cap))

    def label_mean(self, worth: FloatArray | None) -> FloatArray | None:
        """E[y] of each item's label, if each class is worth a number and has a probability.

        >>> predictions = PoolPredictions(1, ("1", "5"), proba=np.array([[0.75, 0.25]]))
        >>> predictions.label_mean(np.array([1.0, 5.0]))
        array([2.])
        """
        chances = self.label_proba
        if chances is None or worth is None:
            return None
        return self._in_blocks(lambda at: chances[at].astype(np.float64) @ worth)

    def label_sd(self, worth: FloatArray | None) -> FloatArray | None:
        """The standard deviation of each item's label, sqrt(E[y^2] - E[y]^2), likewise."""
        mean = self.label_mean(worth)
        square = self.label_mean(None if worth is None else worth**2)
        if mean is None or square is None:
            return None
        return np.sqrt(np.maximum(square - mean**2, 0))

    def _in_blocks(self, compute: Callable[[slice], FloatArray]) -> FloatArray:
        values = np.empty(self.pool_size)
        for start in range(0, self.pool_size, _BLOCK):
            at = slice(start, min(start + _BLOCK, self.pool_size))
            values[at] = compute(at)
        return values


def as_verdicts(pred: Categorical | Numbers | None) -> Categorical | None:
    """The predicted class of each item, if there are two or a few; whole numbers are classes.

    >>> as_verdicts(np.array([0, 1, 1])).values
    ('0', '1')
    """
    if pred is None:
        return None
    if not isinstance(pred, Categorical):
        numbers, codes = np.unique(pred, return_inverse=True)
        if len(numbers) > _MOST_VERDICTS or (numbers != np.floor(numbers)).any():
            return None
        pred = Categorical(tuple(map(class_text, numbers.tolist())), codes)
    few = len(pred.values) <= _MOST_VERDICTS
    return pred if few and np.count_nonzero(np.bincount(pred.codes)) > 1 else None


def verdict_chances(verdicts: Categorical) -> FloatArray:
    """The probabilities [N, C] of the labels, if judge and labels have each class about as often.

        P(wrong | verdict k) = 1/4 min(1, (1 - j_k) / j_k),    j_k the share of verdicts k

    A frequent class then loses no more items than the others gain: a detector that fires once in
    a hundred cannot miss a quarter of all that it passes over. The other classes are as likely as
    their shares.

    >>> one_in_five = Categorical(("no", "yes"), np.array([0, 0, 0, 0, 1]))
    >>> verdict_chances(one_in_five)[-2:]
    array([[0.9375, 0.0625],
           [0.25  , 0.75  ]])
    """
    counts = np.bincount(verdicts.codes, minlength=len(verdicts.values))
    return np.asarray(verdict_table(counts.astype(np.float64))[verdicts.codes])


def verdict_table(counts: FloatArray) -> FloatArray:
    """The probabilities [C, C] of the labels that go with each verdict, by their `counts`."""
    tiny = np.finfo(float).tiny
    share = counts / max(float(counts.sum()), tiny)
    rest = 1 - share
    wrong = (1 - _AGREEMENT) * np.minimum(1, rest / np.maximum(share, tiny))
    table = share * (wrong / np.maximum(rest, tiny))[:, None]
    np.fill_diagonal(table, 1 - wrong)
    return np.asarray(table)


def spread_chances(
    pred: Categorical, confidence: FloatArray, counts: Mapping[str, int]
) -> NDArray[np.float32]:
    """The probabilities [N, C] of the labels, if each predicted class has its confidence.

    The others share the rest, in proportion to their `counts` in the pool, or evenly without any.

    >>> verdicts = Categorical(("a", "b", "c"), np.array([0, 1]))
    >>> spread_chances(verdicts, np.array([0.5, 1.0]), {"a": 4, "b": 3, "c": 1})
    array([[0.5  , 0.375, 0.125],
           [0.   , 1.   , 0.   ]], dtype=float32)
    """
    share = np.array([counts.get(name, 0) for name in pred.values], dtype=np.float64)
    apart = 1 - np.eye(len(share))
    others = share * apart
    others[others.sum(axis=1) == 0] = 1  # the predicted class gets its own below
    others /= (others * apart).sum(axis=1, keepdims=True)
    chances = others.astype(np.float32)[pred.codes] * (1 - confidence[:, None]).astype(np.float32)
    chances[np.arange(len(pred)), pred.codes] = confidence
    return np.asarray(chances)
