"""Labels and the names of classes, however people and files write them.

Two ways of comparing classes are in use. Functions on arrays keep the type: text never equals a
number (`class_names`, `class_numbers`). Campaigns and files compare text: 1, 1.0 and "1" are the
same class (`class_text`, `as_classes`).
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import LARGEST, BoolArray, FloatArray, IntArray, as_array, floats
from levelled.errors import InputError

Label = str | int | float | bool
"""A person's label of an item: the name of a class, or a number."""
Class = Label
"""A class, by the label that names it."""
Id = str | int
"""The id of an item."""
_MANY = 20
"""Different predicted numbers up to which they are taken for classes without a warning."""
_TRUTH = {
    **dict.fromkeys(("0", "false", "no", "n", "f", "fail"), False),
    **dict.fromkeys(("1", "true", "yes", "y", "t", "pass"), True),
}
"""Words for false and true."""
ItemValues = Sequence[Any] | NDArray[Any]
"""Labels or predictions, one an item, as somebody wrote them."""


def class_names(name: str, values: ArrayLike) -> NDArray[Any]:
    """`values` as an array of text or of numbers, one an item."""
    array = as_array(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} must have one axis; it has shape {array.shape}.")
    if array.dtype.kind in "OT" and all(isinstance(value, str) for value in array):
        array = array.astype(str)
    elif array.dtype.kind == "O" and all(type(value) in (int, float) for value in array):
        array = np.array(array.tolist())
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InputError(f"{name} must have no gaps; {np.isnan(array).sum()} are NaN.")
    if array.dtype.kind not in "biufU":
        raise InputError(f"{name} must be text or numbers; it is an array of {array.dtype}.")
    return array


def class_numbers(name: str, values: ArrayLike, classes: Sequence[Class]) -> IntArray:
    """`values` as positions in `classes`, refusing those that are none of them.

    >>> class_numbers("labels", ["spam", "ham"], ["ham", "spam"])
    array([1, 0])
    """
    # Distinct values are few: a dict finds these, whatever the number of items.
    distinct, place = np.unique(class_names(name, values), return_inverse=True)
    position = {known: number for number, known in enumerate(classes)}
    numbers = np.array([position.get(value, -1) for value in distinct.tolist()], dtype=np.int64)
    if (numbers < 0).any():
        other = distinct.tolist()[int(np.argmin(numbers))]
        raise InputError(
            f"{name} has {other!r}, which is none of the classes {list_names(classes)}. Correct "
            f"the spelling, or add it to classes."
        )
    return numbers[place.reshape(-1)] if len(distinct) else np.empty(0, dtype=np.int64)


def check_same_kind(**columns: NDArray[Any]) -> None:
    """Refuse to compare columns of text with columns of numbers."""
    text = {name: values.dtype.kind == "U" for name, values in columns.items() if len(values)}
    if len(set(text.values())) > 1:
        kinds = ", ".join(
            f"{name} holds {'text' if is_text else 'numbers'}" for name, is_text in text.items()
        )
        raise InputError(
            f"Text never equals a number, so every prediction would count as wrong: {kinds}. "
            f"Write all the same way."
        )


def refuse_fractions(**columns: NDArray[Any]) -> None:
    """Refuse numbers with fractions as classes: they are quantities, and hardly two are equal.

    >>> refuse_fractions(labels=np.array([1.0, 2.0]), pred=np.array(["1.5", "2"]))
    """
    for name, values in columns.items():
        if values.dtype.kind == "f" and (values % 1 != 0).any():
            raise InputError(
                f"Classes are compared here, and {name} holds numbers such as "
                f"{values[values % 1 != 0][0]:g}: use mse or mae, or write the classes as text."
            )


def quantity_notes(
    risk: float | None, labels: Sequence[Any] | NDArray[Any], pred: Sequence[Any] | NDArray[Any]
) -> tuple[str, ...]:
    """A warning where classes look like quantities: many different numbers, most of them wrong.

    `risk` is the estimated share of wrong predictions.

    >>> quantity_notes(1.0, np.arange(30), np.arange(30) + 1)[0][:41]
    'most predictions differ from their labels'
    >>> quantity_notes(0.1, np.arange(30), np.arange(30)), quantity_notes(1.0, [1, 2], [2, 1])
    ((), ())
    """
    if risk is None or risk <= 0.5:
        return ()
    numbers = {value for column in (labels, pred) for value in class_texts(column)}
    if len(set(class_texts(pred))) <= _MANY or not all(map(is_number, numbers)):
        return ()
    return (
        "most predictions differ from their labels, and all are numbers: if they are quantities, "
        "use mse or mae",
    )


def is_class(labels: NDArray[Any], name: Class) -> BoolArray:
    """True where the label is this class, refusing one that no such label can be."""
    if len(labels) and (labels.dtype.kind == "U") != isinstance(name, str):
        raise InputError(f"{name!r} can be none of the labels, which hold {labels.dtype}.")
    return np.asarray(labels == name)


def as_classes(name: str, values: ItemValues) -> NDArray[np.str_]:
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


def class_texts(values: Iterable[object]) -> list[str]:
    """Classes as text, each by `class_text`; an array of text would lose a NUL at its end."""
    return [class_text(value) for value in values]


def truth_of(name: str) -> bool | None:
    """The truth value that a word in any spelling stands for; None for other words.

    >>> truth_of("Yes"), truth_of(" 0.0"), truth_of("spam")
    (True, False, None)
    """
    word = name.strip().casefold()
    return _TRUTH.get(class_text(float(word)) if is_number(word) else word)


def are_truth_values(classes: Sequence[str]) -> bool:
    """True if two classes are words for true and false."""
    return len(classes) == 2 and {*map(truth_of, classes)} == {False, True}


def with_opposite(names: tuple[str, ...]) -> tuple[str, ...]:
    """A word for true or false that stands alone with its opposite, other names as they are.

    >>> with_opposite(("pass",)), with_opposite(("spam",))
    (('fail', 'pass'), ('spam',))
    """
    words = [*_TRUTH]
    if len(names) != 1 or names[0] not in words:
        return names
    half = len(words) // 2
    return tuple(sorted((names[0], words[(words.index(names[0]) + half) % len(words)])))


def refuse_mixed_words(names: Sequence[str]) -> None:
    """Refuse classes that are several words for true and false, such as 0, 1, true and false."""
    if len(names) > 2 and all(truth_of(name) is not None for name in names):
        raise InputError(
            f"The predictions are {list_names(names, 12)}, which are several words for true and "
            f"false: write them the same way everywhere, or name the classes with --classes."
        )


def match_classes(
    names: Sequence[str],
    classes: Sequence[str],
    *,
    loose: bool = False,
    is_open: bool = False,
    as_written: bool = False,
) -> list[str]:
    """Labels in the spelling of the classes; refuses those that are none of them.

    Parameters
    ----------
    names, classes : The labels, as `class_text` writes them, and the classes. Where these are words
        for true and false, other such words mean the same; numbers are compared as numbers.
    loose : True if capitals, and blanks at the ends, do not count.
    is_open : True if others are taken as they are, unless they differ only in capitals or blanks.
    as_written : True if words for true and false, and numbers, are not compared by their meaning.

    >>> match_classes(["True", "no", "1.0"], ["0", "1"]), match_classes([" A"], ["a"], loose=True)
    (['1', '0', '1'], ['a'])
    """
    both = with_opposite(tuple(classes))
    truth = {truth_of(one): one for one in both} if are_truth_values(both) else {}
    found = {name: name for name in classes}
    for name in sorted({*names} - {*classes}):
        by_number = is_number(name) and not as_written
        alike = [one for one in classes if one.strip().casefold() == name.strip().casefold()]
        if by_number:
            alike = [one for one in classes if is_number(one) and float(one) == float(name)]
        if not as_written and truth_of(name) in truth:
            found[name] = truth[truth_of(name)]
        elif len(alike) == 1 and (loose or by_number):
            found[name] = alike[0]
        elif is_open and not alike:
            found[name] = name
        else:
            raise InputError(_why_no_class(name, classes, alike))
    return [found[name] for name in names]


def _why_no_class(name: str, classes: Sequence[str], alike: Sequence[str]) -> str:
    plain = {one.strip().casefold(): one for one in (*classes, *alike)}
    near = [] if is_number(name) else get_close_matches(name.strip().casefold(), plain, 1)
    hint = f": did you mean {plain[near[0]]!r}?" if near else "."
    loose = "--normalise ignores capitals and blanks, " if alike else ""
    return (
        f"The label {name!r:.80} is none of the classes {list_names(classes, 12)}{hint} For a new "
        f"campaign, {loose}--classes names other classes, and --open-classes takes any label."
    )


def check_class(name: str, classes: Sequence[str]) -> None:
    """Refuse a name that is none of the classes."""
    if name not in classes:
        raise InputError(f"There is no class {name!r}; the classes are {list_names(classes)}.")


def as_numbers(name: str, values: ItemValues) -> FloatArray:
    """Labels or predictions as numbers, also where text writes them.

    >>> as_numbers("labels", [1, "4.5"])
    array([1. , 4.5])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        numbers = floats(name, values, ndim=1)
    else:
        for value in values:
            if not is_number(value):
                raise InputError(f"{name} must be a number; {value!r} is none.")
        numbers = np.array([float(value) for value in values])
    if huge := [*numbers[np.abs(numbers) > LARGEST]]:
        raise InputError(
            f"{name} must be at most {LARGEST:g} in size, since losses are squared and summed; "
            f"{huge[0]:g} is more. Use a larger unit."
        )
    return numbers


def is_number(value: object) -> bool:
    """True for a finite number, and for text that writes one."""
    try:
        return bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def list_names(names: Sequence[Class], most: int = 6) -> str:
    """Names in quotes, the first `most` of them, for a message.

    >>> list_names(["ham", "spam"]), list_names(["a", "b", "c"], most=1)
    ("'ham', 'spam'", "'a' and 2 more")
    """
    text = ", ".join(repr(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"
