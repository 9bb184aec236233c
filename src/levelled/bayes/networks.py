"""Which layers a network has; what its weights are is the posterior's business.

    "cnn"   5x5 convolutions without padding to 16 and 32 channels, each followed by a 2x2
            maximum and ReLU; 128 units with ReLU; one output a class
    "mlp"   50 units with ReLU; one output a class

The networks of Farquhar, Gal and Rainforth (2021), appendix C.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from levelled._check import choice
from levelled.errors import InputError

__all__ = ["KERNEL", "NETWORKS", "Layer", "Network", "build_network"]

NETWORKS = ("cnn", "mlp")
KERNEL = 5
_CHANNELS = (16, 32)
_POOL = 2


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution with weights [out, 5, 5, in] or a linear map with [out, in], and biases."""

    weight: tuple[int, ...]

    @property
    def is_conv(self) -> bool:
        """Whether it is a convolution."""
        return len(self.weight) > 2

    @property
    def n_out(self) -> int:
        """Channels or units that come out of it, which is also the number of biases."""
        return self.weight[0]

    @property
    def fan_in(self) -> int:
        """Numbers that go into one output."""
        return math.prod(self.weight[1:])


@dataclass(frozen=True, slots=True)
class Network:
    """Layers in order, for inputs [H, W, channels] or [features]."""

    input_shape: tuple[int, ...]
    layers: tuple[Layer, ...]

    @property
    def sizes(self) -> list[int]:
        """How many numbers each tensor holds: weights, biases, weights of the next layer..."""
        return [size for layer in self.layers for size in (layer.n_out * layer.fan_in, layer.n_out)]

    @property
    def n_weights(self) -> int:
        """Weights and biases in all."""
        return sum(self.sizes)

    def shaped(self, flat: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Weights, biases, weights of the next layer... out of tensors [samples, size] of each."""
        shapes = [shape for layer in self.layers for shape in (layer.weight, (layer.n_out,))]
        return tuple(each.view(-1, *shape) for each, shape in zip(flat, shapes, strict=True))

    def he(self, generator: torch.Generator) -> Tensor:
        """Initial weights [n_weights]: normal, variance 2 / fan_in (He et al., 2015); biases 0."""
        flat = torch.zeros(self.n_weights, device=generator.device)
        weights = torch.split(flat, self.sizes)[::2]
        for layer, weight in zip(self.layers, weights, strict=True):
            weight.normal_(0, math.sqrt(2 / layer.fan_in), generator=generator)
        return flat


def build_network(kind: str, input_shape: Sequence[int], n_classes: int) -> Network:
    """The layers of "cnn" or "mlp" for inputs of this shape.

    >>> build_network("cnn", (28, 28, 1), 10).n_weights
    80202
    """
    shape = tuple(input_shape)
    if choice("network", kind, NETWORKS) == "mlp":
        return Network(shape, _linear(math.prod(shape), 50, n_classes))
    height, width, depth = shape
    layers = []
    for channels in _CHANNELS:
        layers.append(Layer((channels, KERNEL, KERNEL, depth)))
        height, width = ((side - KERNEL + 1) // _POOL for side in (height, width))
        depth = channels
    if height < 1 or width < 1:
        raise InputError(
            f"Images of {shape[0]} x {shape[1]} pixels are too small for two 5 x 5 convolutions "
            f"with 2 x 2 maxima: 16 x 16 are needed, and channels come last, [N, H, W, channels]. "
            f'Enlarge or pad them, or take network="mlp".'
        )
    return Network(shape, (*layers, *_linear(height * width * depth, 128, n_classes)))


def _linear(*widths: int) -> tuple[Layer, ...]:
    return tuple(Layer((out, into)) for into, out in pairwise(widths))
