"""Images, rows of features, labels and devices, checked and in the form a network takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Generator, Tensor

from levelled._check import FloatArray, as_array, between, floats
from levelled.errors import InputError
from levelled.labels import Class, class_names, list_names

__all__ = [
    "Device",
    "Numbers",
    "Scaling",
    "available_device",
    "check_device",
    "check_inputs",
    "check_weights",
    "find_classes",
]

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
        return torch.from_numpy(scaled.astype(np.float32)).to(device)


def check_inputs(X: ArrayLike, *, images: bool, shape: tuple[int, ...] | None = None) -> Numbers:
    """X as finite numbers, [N, H, W, channels] or [N, D]; `images` must be the former.

    `shape` is that of one item in training, if there was any.
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
            f"X must be [N, D], [N, H, W] or [N, H, W, channels]; it is {inputs.shape}."
        )
    if inputs.ndim == 4 and inputs.shape[1] <= _CHANNELS < min(inputs.shape[2:]):
        raise InputError(
            f"Images are [N, H, W] or [N, H, W, channels], but X is {inputs.shape}: its channels "
            f"seem to come first. Move them with np.moveaxis(X, 1, -1)."
        )
    if shape is not None and inputs.shape[1:] != shape:
        raise InputError(
            f"Items of X must have the shape {shape}, as in training; theirs is {inputs.shape[1:]}."
        )
    if 0 in inputs.shape[1:]:
        raise InputError(
            f"Items of X must hold a number or more; the shape of X is {inputs.shape}."
        )
    return inputs


def _numbers(X: ArrayLike) -> Numbers:
    numbers = as_array("X", X)
    if numbers.dtype.kind in "biu":  # whole numbers are finite, and a pool of bytes is not copied
        return numbers
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all():
        return numbers
    return floats("X", numbers)


def check_weights(weights: ArrayLike | None, n_items: int) -> FloatArray:
    """The weight of each item: ones if there are none, else not negative and not all 0."""
    if weights is None:
        return np.ones(n_items)
    checked = floats("sample_weight", weights, ndim=1, largest=_LARGEST)
    if len(checked) != n_items:
        raise InputError(f"sample_weight has {len(checked)} values for {n_items} items of X.")
    if (checked < 0).any() or not checked.any():
        raise InputError(
            f"sample_weight must be 0 or more and not all 0; the least is {checked.min():g}, the "
            f"largest {checked.max():g}."
        )
    return checked


def find_classes(declared: Sequence[Class] | None, *labels: NDArray[Any]) -> NDArray[Any]:
    """The classes in ascending order: those declared, else those in any of the labels."""
    names = np.concatenate(labels) if declared is None else class_names("classes", declared)
    classes = np.unique(names)
    if len(classes) < 2:
        raise InputError(
            f"Two classes or more are needed; there is only {list_names(classes.tolist())}. Name "
            f'those without a label yet as classes, for example classes=["ham", "spam"].'
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
