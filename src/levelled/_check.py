"""Checks of arguments: each returns the checked value or raises an `InputError`."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled.errors import InputError, InputTypeError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
LARGEST = 1e100
"""A larger loss, label or prediction cannot be squared and summed."""


def floats(
    name: str,
    values: ArrayLike,
    *,
    ndim: int | None = None,
    finite: bool = True,
    largest: float | None = None,
) -> FloatArray:
    """Return `values` as a float64 array, refusing what is not a number, or too large a one."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(f"{name} has masked values: leave those items out, or fill them in.")
    try:
        array = np.asarray(values)
        # Text, dates and complex numbers would be turned into numbers without a word.
        if array.dtype.kind not in "biufO" and array.size:
            raise TypeError(f"they are of type {array.dtype}")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as wrong:
        kind = InputTypeError if isinstance(wrong, TypeError) else InputError
        raise kind(f"{name} must be an array of numbers: {wrong}.") from wrong
    if ndim is not None and array.ndim != ndim:
        axes = "one axis" if ndim == 1 else f"{ndim} axes"
        raise InputError(f"{name} must have {axes}; it has shape {array.shape}.")
    if finite and not np.isfinite(array).all():
        n_bad = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(f"{name} must be finite; {n_bad} of {array.size} are NaN or infinite.")
    if largest is not None and array.size and np.abs(array).max() > largest:
        raise InputError(
            f"{name} must not exceed {largest:g}, or squares would overflow; the largest is "
            f"{np.abs(array).max():g}. Measure it in larger units."
        )
    return array


def as_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array of their own type, refusing ragged lists."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be an array: {wrong}.") from wrong


def whole(name: str, value: Any, *, least: int) -> int:  # noqa: ANN401
    """Return `value` as an int of at least `least`."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise InputError(f"{name} must be a whole number; it is {value!r}.") from wrong
    if number != value or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number; it is {value!r}.")
    if number < least:
        raise InputError(f"{name} must be at least {least}; it is {number}.")
    return number


def between(name: str, value: float, low: float, high: float, *, open_: bool = False) -> float:
    """Return `value` as a float in [low, high], or in (low, high) if `open_`."""
    try:
        number = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be a number; it is {value!r}.") from wrong
    if low < number < high or (not open_ and number in (low, high)):
        return number
    kind = "strictly between" if open_ else "between"
    raise InputError(f"{name} must be {kind} {low:g} and {high:g}; it is {value!r}.")


def check_order(index: IntArray, **columns: object) -> None:
    """Refuse pandas columns whose own index has the rows of `index` in another order.

    Values go by position, in the order of `index`; a Series that was sorted by row would give
    every item the value of another one. An index 0, 1, 2, ... is that of no rows in particular.
    """
    for name, values in columns.items():
        if not hasattr(values, "to_numpy"):
            continue
        rows = np.asarray(getattr(values, "index", None))
        if rows.dtype.kind not in "iuf" or not np.array_equal(np.sort(rows), np.sort(index)):
            continue
        if not (np.array_equal(rows, index) or np.array_equal(rows, np.arange(len(rows)))):
            raise InputError(
                f"The own index of {name}, a {type(values).__name__} of pandas, has the drawn rows "
                f"in another order, and values go by position: put it in the order of the draws, "
                f"{name}.loc[index]."
            )


def same_length(**arrays: Sequence[Any] | NDArray[Any]) -> None:
    """Refuse arguments that should go item by item but differ in length."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"One value a draw is needed everywhere: {listed}.")


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}; it is {value!r}.")
    return value


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown name: the known one that is most like it, or nothing.

    >>> f"no campaign 'span'{suggest('span', ['ham', 'spam'])}"
    "no campaign 'span': did you mean 'spam'?"
    """
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""
