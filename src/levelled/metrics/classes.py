"""Classes: written as text, counted as numbers, labels checked against predictions once."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.losses import class_names

__all__ = [
    "Answers",
    "Class",
    "Items",
    "as_classes",
    "check_class",
    "class_names",
    "class_numbers",
    "class_text",
    "indicator",
    "shown",
]

Class = str | int | float | bool
Items = Sequence[Any] | NDArray[Any]
"""Labels or predictions, one an item, as somebody wrote them."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What people said of the drawn items and what the model said, as numbers of `classes`.

    `pool` is what the model says of every item of the pool, where that is known.
    """

    classes: tuple[Class, ...]
    declared: bool
    """Whether the classes were given, or only seen."""
    label: IntArray
    pred: IntArray
    pool: IntArray | None

    @classmethod
    def of(
        cls,
        labels: ArrayLike,
        pred: ArrayLike,
        draws: Draws,
        classes: Sequence[Class] | None,
        pool_pred: ArrayLike | None,
    ) -> "Answers":
        """Check the arguments that all metrics of classes share."""
        check_draws(draws)
        given = {"labels": class_names("labels", labels), "pred": class_names("pred", pred)}
        same_length(**given, draws=draws.index)
        if pool_pred is not None:
            given["pool_pred"] = class_names("pool_pred", pool_pred)
        _check_same_kind(given)
        known = tuple(_seen(given)) if classes is None else _distinct(classes)
        codes = {name: class_numbers(name, values, known) for name, values in given.items()}
        pool = codes.get("pool_pred")
        if pool is not None:
            _check_pool(codes["pred"], pool, draws)
        return cls(known, classes is not None, codes["labels"], codes["pred"], pool)

    def number_of(self, name: Class) -> int:
        """The number of a class, or -1 for one that may exist but has not been seen.

        One that nobody predicted of the whole pool, nor gave as a label, is taken for misspelt;
        `classes` declares it.
        """
        if name in self.classes:
            return self.classes.index(name)
        other_kind = any(isinstance(name, str) != isinstance(known, str) for known in self.classes)
        if self.declared or other_kind or self.pool is not None:
            raise InputError(
                f"{name!r} is none of the classes, which are {shown(self.classes)}."
                f"{_meant(name, self.classes)} Correct the spelling, or declare it in classes."
            )
        return -1


def class_numbers(name: str, values: ArrayLike, classes: Sequence[Class]) -> IntArray:
    """`values` as places in `classes`, refusing those that are none of them.

    >>> class_numbers("labels", ["spam", "ham"], ["ham", "spam"])
    array([1, 0])
    """
    found, at = np.unique(class_names(name, values), return_inverse=True)
    place = {known: number for number, known in enumerate(classes)}
    numbers = np.array([place.get(value, -1) for value in found.tolist()], dtype=np.int64)
    if (numbers < 0).any():
        other = found.tolist()[int(np.argmin(numbers))]
        raise InputError(
            f"{name} has {other!r}, which is none of the classes {shown(classes)}. Correct the "
            f"spelling, or add it to classes."
        )
    return numbers[at.reshape(-1)] if len(found) else np.empty(0, dtype=np.int64)


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


def check_class(name: str, classes: Sequence[str]) -> None:
    """Refuse a name that is none of the classes."""
    if name not in classes:
        raise InputError(f"There is no class {name!r}; the classes are {shown(classes)}.")


def indicator(numbers: IntArray, number: int) -> FloatArray:
    """1 where the class is this one, else 0."""
    return (numbers == number).astype(np.float64)


def shown(classes: Sequence[Class]) -> str:
    """A few classes in words.

    >>> shown(["ham", "spam"])
    "'ham', 'spam'"
    """
    told = ", ".join(repr(name) for name in classes[:6])
    return told if len(classes) <= 6 else f"{told} and {len(classes) - 6} more"


def _meant(name: Class, classes: Sequence[Class]) -> str:
    near = difflib.get_close_matches(str(name), [str(known) for known in classes], n=1)
    return f" Is {near[0]!r} meant?" if near else ""


def _seen(given: dict[str, NDArray[Any]]) -> list[Class]:
    known: set[Class] = set()
    for values in given.values():
        known.update(np.unique(values).tolist())
    return sorted(known)


def _distinct(classes: Sequence[Class]) -> tuple[Class, ...]:
    known = tuple(class_names("classes", classes).tolist())
    if len(set(known)) != len(known) or not known:
        raise InputError(f"classes must be distinct names, one or more; they are {shown(known)}.")
    return known


def _check_same_kind(given: dict[str, NDArray[Any]]) -> None:
    text = {name: values.dtype.kind == "U" for name, values in given.items() if len(values)}
    if len(set(text.values())) > 1:
        told = ", ".join(
            f"{name} holds {'text' if is_ else 'numbers'}" for name, is_ in text.items()
        )
        raise InputError(f"Text never equals a number: {told}. Write all the same way.")


def _check_pool(pred: IntArray, pool: IntArray, draws: Draws) -> None:
    if len(pool) != draws.pool_size:
        raise InputError(
            f"pool_pred must have one prediction for each of the {draws.pool_size} items of the "
            f"pool; it has {len(pool)}."
        )
    differ = np.flatnonzero(pool[draws.index] != pred)
    if differ.size:
        raise InputError(
            f"pool_pred and pred differ at {differ.size} of {len(pred)} drawn items, the first is "
            f"item {draws.index[differ[0]]}. pool_pred goes by item, pred by draw: "
            f"pred = pool_pred[draws.index]."
        )
