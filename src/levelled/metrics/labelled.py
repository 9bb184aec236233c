"""Drawn items with their labels, and the losses that a metric makes of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, floats, same_length
from levelled.errors import InputError, LossError
from levelled.metrics.classes import Items, as_classes, class_text, shown

__all__ = [
    "Labelled",
    "Values",
    "class_label",
    "is_class",
    "is_number",
    "numbers",
    "within",
]


class Values(NamedTuple):
    """The losses of drawn items; for a ratio, their numerators and their denominators."""

    losses: FloatArray
    denominators: FloatArray | None = None


class Labelled(NamedTuple):
    """The labels of drawn items, and what was predicted of the same items."""

    labels: Items
    pred: Items | None = None
    proba: ArrayLike | None = None
    """Probabilities of `classes`, [M, C]."""
    classes: Sequence[str] | None = None

    def answers(self, name: str) -> Items:
        """The predictions, one a label, without which the metric `name` cannot be."""
        if self.pred is None:
            raise InputError(f"{name} needs the predictions of the labelled items.")
        same_length(labels=self.labels, pred=self.pred)
        return self.pred


def class_label(value: object, classes: Sequence[str] | None) -> str:
    """One label as the text of a class, of those that there are."""
    name = class_text(value)
    if classes is not None and name not in classes:
        raise InputError(f"The label {name!r} is none of the classes {shown(classes)}.")
    return name


def numbers(name: str, values: Items) -> FloatArray:
    """Labels or predictions as numbers; text that says a number is one.

    >>> numbers("labels", [1, "4.5"])
    array([1. , 4.5])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return floats(name, values, ndim=1)
    for value in values:
        if not is_number(value):
            raise InputError(f"{name} must be a number; {value!r} is none.")
    return np.array([float(value) for value in values])


def is_number(value: object) -> bool:
    """Whether it is a finite number, or text that says one."""
    try:
        return bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def is_class(name: str, values: Items, positive: str) -> FloatArray:
    """1 where the class is this one, however it is written, else 0.

    >>> is_class("labels", [1, "1", 0], "1")
    array([1., 1., 0.])
    """
    return (as_classes(name, values) == positive).astype(np.float64)


def within(name: str, found: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    """Losses of the metric `name` as they are, unless one breaks its bounds."""
    low, high = bounds
    outside = found[(found < low) | (found > high)]
    if outside.size:
        raise LossError(
            f"{name} is declared to lie between {low:g} and {high:g}, and {outside[0]:g} does not."
        )
    return found
