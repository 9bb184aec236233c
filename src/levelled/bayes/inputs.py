"""Images, rows of features and labels as a network takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from levelled._check import FloatArray, as_array, between, floats
from levelled.bayes.devices import Device
from levelled.errors import InputError
from levelled.labels import Class, class_names, list_names

__all__ = ["Numbers", "Scaling", "check_inputs", "check_weights", "known_classes"]

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
        """So that these inputs have mean 0 and variance 1.

        Tables [N, D] by column, images [N, H, W, channels] by channel. What varies by rounding
        alone, or not at all, is only centred.
        """
        axes = tuple(range(inputs.ndim - 1))
        low, high = (end(axis=axes).astype(np.float64) for end in (inputs.min, inputs.max))
        varies = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        std = inputs.std(axis=axes, dtype=np.float64)
        return cls(inputs.mean(axis=axes, dtype=np.float64), np.where(varies, std, 1.0))

    @classmethod
    def by(cls, given: tuple[float, float]) -> "Scaling":
        """With numbers known beforehand, such as those of a whole data set."""
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

    `shape` is that of one item in training, if that has been.
    """
    found = _numbers(X)
    found = found[..., None] if found.ndim == 3 else found
    if images and found.ndim != 4:
        raise InputError(
            f"X must hold images, [N, H, W] or [N, H, W, channels]; its shape is {found.shape}. "
            f'For rows of features take network="mlp".'
        )
    if found.ndim not in (2, 4):
        raise InputError(
            f"X must be [N, D], [N, H, W] or [N, H, W, channels]; it is {found.shape}."
        )
    if found.ndim == 4 and found.shape[1] <= _CHANNELS < min(found.shape[2:]):
        raise InputError(
            f"Images are [N, H, W] or [N, H, W, channels], but X is {found.shape}: its channels "
            f"seem to come first. Move them with np.moveaxis(X, 1, -1)."
        )
    if shape is not None and found.shape[1:] != shape:
        raise InputError(
            f"Items of X must have the shape {shape}, as in training; theirs is {found.shape[1:]}."
        )
    if 0 in found.shape[1:]:
        raise InputError(f"Items of X must hold a number or more; the shape of X is {found.shape}.")
    return found


def _numbers(X: ArrayLike) -> Numbers:
    found = as_array("X", X)
    if found.dtype.kind in "biu":  # whole numbers are finite, and a pool of bytes is not copied
        return found
    if found.dtype.kind == "f" and np.isfinite(found).all():
        return found
    return floats("X", found)


def check_weights(weights: ArrayLike | None, n_items: int) -> FloatArray:
    """The weight of each item: ones if there are none, else not negative and not all 0."""
    if weights is None:
        return np.ones(n_items)
    found = floats("sample_weight", weights, ndim=1, largest=_LARGEST)
    if len(found) != n_items:
        raise InputError(f"sample_weight has {len(found)} values for {n_items} items of X.")
    if (found < 0).any() or not found.any():
        raise InputError(
            f"sample_weight must be 0 or more and not all 0; the least is {found.min():g}, the "
            f"largest {found.max():g}."
        )
    return found


def known_classes(declared: Sequence[Class] | None, *labels: NDArray[Any]) -> NDArray[Any]:
    """The classes in ascending order: those declared, else those met in any of the labels."""
    met = np.concatenate(labels) if declared is None else class_names("classes", declared)
    found = np.unique(met)
    if len(found) < 2:
        raise InputError(
            f"Two classes or more are needed; there is only {list_names(found.tolist())}. Name "
            f'those without a label yet as classes, for example classes=["ham", "spam"].'
        )
    return found
