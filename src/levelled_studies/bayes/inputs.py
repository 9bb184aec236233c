"""Images, rows of features, labels and devices, checked and in the form a network takes."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from torch import Generator, Tensor

from levelled._check import FloatArray, as_array, between, floats
from levelled.errors import InputError
from levelled.labels import Class, class_names, list_names

Device = str | torch.device
Numbers = NDArray[Any]

_ROUNDING = 1e-13  # of a number: what a few operations are off by
_LARGEST = 1e15  # gradients go with it, and float32 has no room for the squares of larger ones
_CHANNELS = 4  # of an image; what has so few rows, but more of all else, has its axes swapped


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Inputs less `mean`, divided by `std`: a number each, or one for each column or channel."""

    mean: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, inputs: Numbers) -> "Scaling":
        """The scaling after which these inputs have mean 0 and variance 1.

        Tables [N, D] by column, images [N, H, W, channels] by channel. Columns
        that vary by rounding alone, or not at all, are only centred.
        """
        axes = tuple(range(inputs.ndim - 1))
        low, high = (end(axis=axes).astype(np.float64) for end in (inputs.min, inputs.max))
        varies = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        std = inputs.std(axis=axes, dtype=np.float64)
        return cls(inputs.mean(axis=axes, dtype=np.float64), np.where(varies, std, 1.0))

    @classmethod
    def by(cls, given: tuple[float, float]) -> "Scaling":
        """The scaling by a given mean and standard deviation, such as those of a whole data set."""
        try:
            mean, std = given
        except (TypeError, ValueError) as wrong:
            raise InputError(f"scaling must be (mean, std); it is {given!r}.") from wrong
        spread = between("The standard deviation of scaling", std, 0, np.inf, open_=True)
        return cls(
            np.asarray(between("The mean of scaling", mean, -np.inf, np.inf)), np.asarray(spread)
        )

    def tensor(self, inputs: Numbers, device: Device) -> Tensor:
        """The scaled inputs, as a network takes them: float32."""
        scaled = (inputs - self.mean) / self.std
        farthest = np.abs(scaled).max(initial=0)
        if farthest > _LARGEST:
            raise InputError(
                f"X lies up to {farthest:g} standard deviations from its mean in training; more "
                f"than {_LARGEST:g} are too many for float32. Correct those values, or scale them."
            )
        # Copied by torch, which aligns its memory: how a product rounds depends on the address.
        return torch.from_numpy(scaled).to(device, torch.float32)


def check_inputs(
    X: ArrayLike, *, images: bool, shape: tuple[int, ...] | None = None, name: str = "network"
) -> Numbers:
    """X as finite numbers, [N, H, W, channels] or [N, D]; `images` must be the former.

    `shape` is that of one item in training, if there was any; `name` is that of the model.
    """
    inputs = _numbers(X)
    inputs = inputs[..., None] if inputs.ndim == 3 else inputs
    if images and inputs.ndim != 4:
        raise InputError(
            f"X must hold images, [N, H, W] or [N, H, W, channels]; its shape is {inputs.shape}. "
            f'For rows of features take network="mlp".'
        )
    if inputs.ndim not in (2, 4):
        raise InputError(
            f"X must be [N, D], [N, H, W] or [N, H, W, channels]; its shape is {inputs.shape}. "
            f"Reshape your data: X.reshape(1, -1) is one item, X.reshape(-1, 1) one feature."
        )
    if inputs.ndim == 4 and inputs.shape[1] <= _CHANNELS < min(inputs.shape[2:]):
        raise InputError(
            f"Images are [N, H, W] or [N, H, W, channels], but X is {inputs.shape}: its channels "
            f"seem to come first. Move them with np.moveaxis(X, 1, -1)."
        )
    if shape is not None and inputs.ndim == 2 and len(shape) == 1 and inputs.shape[1:] != shape:
        raise InputError(
            f"X has {inputs.shape[1]} features, but {name} is expecting {shape[0]} features as "
            f"input, as in training."
        )
    if shape is not None and inputs.shape[1:] != shape:
        raise InputError(
            f"Items of X must have the shape {shape}, as in training; theirs is {inputs.shape[1:]}."
        )
    if 0 in inputs.shape[1:]:
        raise InputError(
            f"X has {math.prod(inputs.shape[1:])} feature(s) (shape={inputs.shape}) while a "
            f"minimum of 1 is required."
        )
    return inputs


def _numbers(X: ArrayLike) -> Numbers:
    if hasattr(X, "tocsr"):
        raise InputError(
            f"Sparse data is not supported, and X is a {type(X).__name__}: make it dense, "
            f"X.toarray()."
        )
    numbers = as_array("X", X)
    if numbers.dtype.kind == "c":
        raise InputError(
            "Complex data not supported: X holds complex numbers. Make their real and imaginary "
            "parts features of their own."
        )
    if numbers.dtype.kind in "biu":  # whole numbers are finite, and a pool of bytes is not copied
        return numbers
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all():
        return numbers
    return floats("X", numbers)


def feature_names(X: ArrayLike) -> NDArray[np.object_] | None:
    """The names of the columns of a frame, if all of them are text."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.array([*columns], dtype=object)


def check_names(X: ArrayLike, trained: NDArray[np.object_] | None) -> None:
    """Refuse a frame whose columns have other names than in training, or another order."""
    names = feature_names(X)
    if names is None or trained is None or np.array_equal(names, trained):
        return
    at = int(np.argmax(names != trained))
    raise InputError(
        f"The feature names should match those that were passed during fit: column {at} is "
        f"{names[at]!r}, and was {trained[at]!r} in training."
    )


def check_labels(y: ArrayLike | None) -> NDArray[Any]:
    """Labels as text or whole numbers, one an item; one column of them is taken with a warning."""
    if y is None:
        raise InputError("A classifier requires y to be passed, but the target y is None.")
    column = as_array("y", y)
    if column.ndim == 2 and column.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: write y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        column = column[:, 0]
    labels = class_names("y", column)
    if labels.dtype.kind == "f":
        quantities = labels[np.isinf(labels) | (labels != np.floor(labels))]
        if len(quantities):
            raise InputError(
                f"Unknown label type: y holds continuous numbers such as {quantities[0]:g}, and a "
                f"classifier learns classes: write them as text, or take a regressor."
            )
    return labels


def check_weights(weights: ArrayLike | None, n_items: int) -> FloatArray:
    """The weight of each item: ones if there are none, else not negative and not all 0."""
    if weights is None:
        return np.ones(n_items)
    checked = floats("sample_weight", weights, ndim=1, largest=_LARGEST)
    if len(checked) != n_items:
        raise InputError(f"sample_weight has {len(checked)} values for {n_items} items of X.")
    if (checked < 0).any() or not checked.any():
        raise InputError(
            f"sample_weight must be zero or more and not all zero; the least is "
            f"{checked.min():g}, the largest {checked.max():g}."
        )
    return checked


def find_classes(declared: Sequence[Class] | None, *labels: NDArray[Any]) -> NDArray[Any]:
    """The classes in ascending order: those declared, else those in any of the labels."""
    names = np.concatenate(labels) if declared is None else class_names("classes", declared)
    classes = np.unique(names)
    if len(classes) < 2:
        raise InputError(
            f"Two classes or more are needed; there is only one class, "
            f"{list_names(classes.tolist())}. Name those without a label yet as classes, for "
            f'example classes=["ham", "spam"].'
        )
    return classes


def check_device(device: object) -> Device:
    """The device, if this machine has it, with random numbers and float64.

    >>> check_device("cpu")
    'cpu'
    """
    if not isinstance(device, Device):
        raise InputError(f'device must be a name such as "cpu" or "cuda"; it is {device!r}.')
    try:
        Generator(device)
        torch.empty(0, dtype=torch.float64, device=device)
    except (AssertionError, RuntimeError, TypeError) as wrong:
        raise InputError(
            f"device {str(device)!r} cannot be used here: torch {torch.__version__} has none on "
            f'this machine, or none with float64. Take device="cpu".'
        ) from wrong
    return device


def available_device(device: object) -> Device:
    """The device, or "cpu" on a machine without it."""
    try:
        return check_device(device)
    except InputError:
        return "cpu"
