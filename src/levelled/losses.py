"""Losses of predictions: exact for known labels, expected for labels that are not known yet.

A loss takes labels y and predictions, one of each an item:

    zero_one   1[y != pred]                  pred: the predicted label
    log_loss   -log p_y                      pred: probabilities p, one a class
    brier      sum_c (p_c - 1[y = c])^2      pred: probabilities p, one a class
    squared    (y - pred)^2                  pred: a number
    absolute   |y - pred|                    pred: a number

Before the label is known, its distribution gives `expected`, E[L], and `root_mean_square`,
sqrt(E[L^2]). That distribution may be the model's own or, better, a second model's; the
prediction is always that of the model under test.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, as_array, between, choice, floats, same_length
from levelled.errors import InputError, LossError
from levelled.labels import check_same_kind, class_names

__all__ = [
    "Loss",
    "Normal",
    "absolute",
    "brier",
    "expected",
    "log_loss",
    "root_mean_square",
    "squared",
    "zero_one",
]

Loss = Literal["zero_one", "log_loss", "brier", "squared", "absolute"]
Reals = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Normal:
    """A normal distribution of each item's label: its mean and standard deviation.

    >>> Normal([0.5, 2.0], [1.0, 0.1]).sd
    array([1. , 0.1])
    """

    mean: FloatArray
    sd: FloatArray

    def __post_init__(self) -> None:
        mean, sd = floats("mean", self.mean, ndim=1), floats("sd", self.sd, ndim=1)
        same_length(mean=mean, sd=sd)
        if (sd < 0).any():
            raise InputError(f"A standard deviation is at least 0; the smallest is {sd.min()}.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "sd", sd)

    def __len__(self) -> int:
        return len(self.mean)


def zero_one(labels: ArrayLike, pred: ArrayLike) -> FloatArray:
    """1 where the predicted label is wrong, 0 where it is right. Labels may be text.

    >>> zero_one(["spam", "ham"], ["spam", "spam"])
    array([0., 1.])
    """
    label, predicted = class_names("labels", labels), class_names("pred", pred)
    same_length(labels=label, pred=predicted)
    check_same_kind(labels=label, pred=predicted)
    return (label != predicted).astype(np.float64)


def log_loss(labels: ArrayLike, proba: ArrayLike, *, cap: float | None = None) -> FloatArray:
    """Minus the log of the probability [N, C] that the label (a class index) was given.

        L = -log p_y,    or min(-log p_y, cap)

    With a `cap` the loss is bounded by it, which a probability of 0 makes necessary.

    >>> log_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]]).round(3)
    array([0.693, 1.386])
    >>> log_loss([1], [[1.0, 0.0]], cap=10)
    array([10.])
    """
    p = distributions("proba", proba)
    y = class_indices("labels", labels, n_classes=p.shape[1])
    same_length(labels=y, proba=p)
    return _minus_log(p[np.arange(len(y)), y], cap)


def brier(labels: ArrayLike, proba: ArrayLike) -> FloatArray:
    """Squared distance between the probabilities [N, C] and the label (a class index), in [0, 2].

        L = sum_c (p_c - 1[y = c])^2

    For two classes this is twice the (1 - p_y)^2 that some libraries call the Brier score.

    >>> brier([0, 1], [[0.5, 0.5], [0.75, 0.25]])
    array([0.5  , 1.125])
    """
    p = distributions("proba", proba).astype(np.float64)
    y = class_indices("labels", labels, n_classes=p.shape[1])
    same_length(labels=y, proba=p)
    p[np.arange(len(y)), y] -= 1
    return np.minimum(np.einsum("nc,nc->n", p, p), 2)  # sums of p may be rounded above one


def squared(labels: ArrayLike, pred: ArrayLike) -> FloatArray:
    """Squared error.

    >>> squared([1.0, 2.0], [1.5, 0.0])
    array([0.25, 4.  ])
    """
    with np.errstate(over="ignore"):
        return _representable(_errors(floats("labels", labels, ndim=1), pred) ** 2)


def absolute(labels: ArrayLike, pred: ArrayLike) -> FloatArray:
    """Absolute error.

    >>> absolute([1.0, 2.0], [1.5, 0.0])
    array([0.5, 2. ])
    """
    with np.errstate(over="ignore"):
        return _representable(np.abs(_errors(floats("labels", labels, ndim=1), pred)))


def expected(
    pred: ArrayLike, label: ArrayLike | Normal, *, loss: Loss, cap: float | None = None
) -> FloatArray:
    """E[L] of each prediction, for a label of which only the distribution is known.

    Parameters
    ----------
    pred : The predictions: class indices for `zero_one`, probabilities [N, C] or numbers [N].
    label : The distribution of the label: the probability of each class [N, C]; for `squared` and
        `absolute` a `Normal`, or equally likely values [N, K].
    loss : The name of the loss.
    cap : That of `log_loss`.

    >>> expected([0, 0], [[0.9, 0.1], [0.4, 0.6]], loss="zero_one")
    array([0.1, 0.6])
    >>> expected([1.0], Normal([3.0], [0.5]), loss="squared")
    array([4.25])
    """
    return _moment(loss, pred, label, cap, power=1)


def root_mean_square(
    pred: ArrayLike, label: ArrayLike | Normal, *, loss: Loss, cap: float | None = None
) -> FloatArray:
    """sqrt(E[L^2]) of each prediction, for a label of which only the distribution is known.

    Drawing in proportion to this root gives a risk estimate the least variance.

    Parameters
    ----------
    pred, label, loss, cap : As for `expected`.

    >>> root_mean_square([0, 0], [[0.91, 0.09], [0.64, 0.36]], loss="zero_one")
    array([0.3, 0.6])
    >>> root_mean_square([1.0], Normal([1.0], [2.0]), loss="squared").round(3)
    array([6.928])
    """
    return np.sqrt(_moment(loss, pred, label, cap, power=2))


def distributions(name: str, values: ArrayLike) -> Reals:
    """Return `values` as probabilities [N, C], refusing rows that are no distribution."""
    p = reals(name, values, axes="NC")
    check_distributions(name, p)
    return p


def reals(name: str, values: ArrayLike, *, axes: str) -> Reals:
    """Return `values` as floating-point numbers of their own width, the last axis being classes.

    The values themselves are checked by `check_distributions`, block by block if they are many.
    """
    array = as_array(name, values)
    if array.dtype not in (np.float16, np.float32, np.float64):
        array = floats(name, array, finite=False)
    if array.ndim != len(axes) or array.shape[-1] < 2:
        raise InputError(
            f"{name} must have the axes [{', '.join(axes)}], the last being two classes or more; "
            f"it has shape {array.shape}. For one probability p an item write [1 - p, p]."
        )
    return array


def check_distributions(name: str, rows: Reals) -> None:
    """Refuse negative probabilities and rows that do not sum to one; the rest is in [0, 1]."""
    if not rows.size:
        return
    low = rows.min()
    if not low >= 0:  # also where one is NaN
        raise InputError(
            f"{name} must be probabilities; the smallest is {low:.6g}. Turn logits into "
            f"probabilities with a softmax first."
        )
    n_classes = rows.shape[-1]
    with np.errstate(over="ignore"):
        sums = rows.reshape(-1, n_classes) @ np.ones(n_classes, np.result_type(rows, np.float32))
    off = np.abs(sums - 1)
    # float64 may have been float32 until it was written to a file.
    if off.max() > {2: 1e-2, 4: 1e-4, 8: 1e-5}[rows.itemsize]:
        raise InputError(
            f"{name} must sum to one over the classes; a row sums to {sums[off.argmax()]:.6g}. "
            f"Divide each row by its sum if that is what you mean."
        )


def class_indices(name: str, values: ArrayLike, *, n_classes: int) -> IntArray:
    """Return `values` as indices of classes, 0 to n_classes - 1."""
    index = as_array(name, values)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iub"):
        raise InputError(
            f"{name} must be class indices, whole numbers on one axis; it is an array of "
            f"{index.dtype} with shape {index.shape}."
        )
    index = index.astype(np.int64)
    outside = index[(index < 0) | (index >= n_classes)]
    if outside.size:
        raise InputError(
            f"{name} must be class indices from 0 to {n_classes - 1}, one for each column of the "
            f"probabilities; {outside.size} are not, the first is {outside[0]}."
        )
    return index


def _moment(
    loss: Loss, pred: ArrayLike, label: ArrayLike | Normal, cap: float | None, power: int
) -> FloatArray:
    choice("loss", loss, get_args(Loss))
    if cap is not None and loss != "log_loss":
        raise InputError(f"cap bounds the log_loss; {loss} takes none.")
    if loss in ("squared", "absolute"):
        degree = 2 * power if loss == "squared" else power
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(label, Normal):
                bias = np.abs(_errors(label.mean, pred))
                return _representable(_normal_moment(bias, label.sd, degree))
            values = floats("label", label, ndim=2)
            if not values.shape[1]:
                raise InputError(
                    f"label needs a value or more an item; its shape is {values.shape}."
                )
            return _representable(np.mean(np.abs(_errors(values, pred)) ** degree, axis=1))
    if isinstance(label, Normal):
        raise InputError(f"{loss} is a loss of classes: label must be their probabilities [N, C].")
    chance = distributions("label", label).astype(np.float64)
    table = _loss_of_each_label(loss, pred, chance, cap)
    return np.einsum("nc,nc->n", chance, table**power)


def _loss_of_each_label(
    loss: Loss, pred: ArrayLike, chance: FloatArray, cap: float | None
) -> FloatArray:
    """The loss of the prediction under each label [N, C]; 0 where that label has no chance."""
    n_classes = chance.shape[1]
    if loss == "zero_one":
        predicted = class_indices("pred", pred, n_classes=n_classes)
        same_length(pred=predicted, label=chance)
        return (predicted[:, None] != np.arange(n_classes)).astype(np.float64)
    p = distributions("pred", pred).astype(np.float64)
    if p.shape != chance.shape:
        raise InputError(f"pred has shape {p.shape} and label {chance.shape}: make them equal.")
    if loss == "brier":
        return np.clip(np.einsum("nc,nc->n", p, p)[:, None] - 2 * p + 1, 0, 2)
    return _minus_log(np.where(chance > 0, p, 1.0), cap)


def _minus_log(p: Reals, cap: float | None) -> FloatArray:
    if cap is not None:  # -log of the smallest float is 745
        cap = between("cap", cap, 0, 1000)
    impossible = p == 0
    if impossible.any() and cap is None:
        raise LossError(
            f"The log loss is infinite where a label that can occur has probability 0 "
            f"({np.count_nonzero(impossible)} of {p.size}). Declare a bound, for example cap=10, "
            f"or keep the probabilities above 0."
        )
    # Rounding may leave p just above 1; a loss just below 0 would make all losses signed.
    loss = 0.0 - np.log(np.where(impossible, 1.0, np.minimum(p, 1)), dtype=np.float64)
    return loss if cap is None else np.where(impossible, cap, np.minimum(loss, cap))


def _normal_moment(bias: FloatArray, sd: FloatArray, degree: int) -> FloatArray:
    """E|label - pred|^degree of normal labels, for degree 1, 2 or 4."""
    if degree == 2:
        return bias**2 + sd**2
    if degree == 4:
        return bias**4 + 6 * bias**2 * sd**2 + 3 * sd**4
    from scipy.special import erf

    spread = np.where(sd > 0, sd, 1.0)
    z = bias / spread / np.sqrt(2)
    folded = spread * np.sqrt(2 / np.pi) * np.exp(-(z**2)) + bias * erf(z)
    return np.where(sd > 0, folded, bias)


def _errors(label: FloatArray, pred: ArrayLike) -> FloatArray:
    """label - pred, where label may have a second axis."""
    predicted = floats("pred", pred, ndim=1)
    same_length(labels=label, pred=predicted)
    return (label.T - predicted).T


def _representable(losses: FloatArray) -> FloatArray:
    n_lost = np.count_nonzero(~np.isfinite(losses))
    if n_lost:
        raise LossError(
            f"{n_lost} of {losses.size} losses are too large for a floating-point number. Measure "
            f"labels and predictions in a larger unit."
        )
    return losses
