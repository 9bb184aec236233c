"""The layers of a network, and the operations that apply all samples of their weights at once.

    "cnn"   5x5 convolutions without padding to 16 and 32 channels, each followed by a 2x2
            maximum and ReLU; 128 units with ReLU; one output a class
    "mlp"   50 units with ReLU; one output a class

The networks of Farquhar, Gal and Rainforth (2021), appendix C.2. Their weights come from a
posterior and carry a leading axis of samples: [samples, out, 5, 5, in] of a convolution,
[samples, out, in] of a linear layer, and biases [samples, out]. The first layer has the same
inputs for all samples, so it is one ordinary layer with `samples` times as many outputs. Maps
have the channels of all samples side by side, channels last in memory, where maxima are ten
times faster.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from levelled._check import choice
from levelled.errors import InputError

NETWORKS = ("cnn", "mlp")
KERNEL = 5
_CHANNELS = (16, 32)
_POOL = 2
_SMALL = 4  # positions of a map after a convolution, up to which patches are faster


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution with weights [out, 5, 5, in] or a linear map with [out, in], and biases."""

    weight: tuple[int, ...]

    @property
    def is_conv(self) -> bool:
        """True for a convolution."""
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
        """The size of each tensor: weights, biases, weights of the next layer..."""
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
        return Network(shape, _linear_layers(math.prod(shape), 50, n_classes))
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
    return Network(shape, (*layers, *_linear_layers(height * width * depth, 128, n_classes)))


def _linear_layers(*widths: int) -> tuple[Layer, ...]:
    return tuple(Layer((out, into)) for into, out in pairwise(widths))


def prepare(network: Network, inputs: Tensor) -> Tensor:
    """Inputs as the first layer takes them: patches of images, or rows.

    The patches of an image are [H - 4, W - 4, 25 * channels].
    """
    if not network.layers[0].is_conv:
        return inputs.reshape(len(inputs), -1)
    windows = inputs.unfold(1, KERNEL, 1).unfold(2, KERNEL, 1).movedim(3, -1)
    return windows.reshape(*windows.shape[:3], -1)


def first_conv(patches: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Maps [n, samples * out, H - 4, W - 4] of all samples for the same patches."""
    n, height, width, size = patches.shape
    # By row, because the gradient takes the order of this matrix, and is slower by column.
    by_row = weight.reshape(-1, size).t().contiguous()
    rows = torch.addmm(bias.reshape(-1), patches.view(-1, size), by_row)
    return rows.view(n, height, width, -1).permute(0, 3, 1, 2)


def conv(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolve the maps [n, samples * in, H, W] of each sample with its own weights."""
    samples = len(weight)
    if (maps.shape[2] - KERNEL + 1) * (maps.shape[3] - KERNEL + 1) <= _SMALL:
        convolved: Tensor = _SmallMaps.apply(maps, weight, bias)  # type: ignore[no-untyped-call]
        return convolved
    kernels = weight.flatten(0, 1).permute(0, 3, 1, 2)
    return functional.conv2d(maps, kernels, bias.reshape(-1), groups=samples)


def pool(maps: Tensor) -> Tensor:
    """ReLU of the 2x2 maxima."""
    return functional.relu_(functional.max_pool2d(maps, 2))


def first_linear(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Outputs [samples, n, out] of all samples for the same rows [n, in]."""
    samples, out, into = weight.shape
    by_row = weight.reshape(-1, into).t().contiguous()
    outputs = torch.addmm(bias.reshape(-1), rows, by_row)
    return outputs.view(-1, samples, out).transpose(0, 1)


def linear(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Outputs [samples, n, out] for rows [samples, n, in]."""
    return torch.baddbmm(bias.unsqueeze(1), rows, weight.transpose(1, 2))


class _SmallMaps(Function):
    """Convolution of maps so small that a product with their patches is faster.

    Images of 16 x 16 pixels leave maps of 6 x 6 for the second convolution, and 2 x 2 after it.
    There one batched product and a few sums take half the time of a grouped convolution. The
    gradient is written out: that of overlapping patches costs more than all the rest.
    """

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ANN401
        samples, out = bias.shape
        n, _, *sides = maps.shape
        by_sample = maps.permute(0, 2, 3, 1).reshape(n, *sides, samples, -1)
        windows = by_sample.unfold(1, KERNEL, 1).unfold(2, KERNEL, 1).permute(3, 0, 1, 2, 5, 6, 4)
        height, width = windows.shape[2:4]
        patches = windows.reshape(samples, n * height * width, -1)
        ctx.save_for_backward(patches, weight)
        ctx.shape = by_sample.shape
        rows = torch.baddbmm(bias.unsqueeze(1), patches, weight.flatten(2).transpose(1, 2))
        return _as_maps(rows.view(samples, n, height, width, out))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ANN401
        patches, weight = ctx.saved_tensors
        samples, out = weight.shape[:2]
        n, _, height, width = grad.shape
        by_sample = grad.permute(0, 2, 3, 1).reshape(n, height, width, samples, out)
        rows = by_sample.permute(3, 0, 1, 2, 4).reshape(samples, -1, out)
        of_weight = torch.bmm(rows.transpose(1, 2), patches).view_as(weight)
        of_patches = torch.bmm(rows, weight.flatten(2))
        of_patches = of_patches.view(samples, n, height, width, *weight.shape[2:])
        of_maps = grad.new_zeros(ctx.shape)
        for i in range(height):
            for j in range(width):
                place = of_maps[:, i : i + KERNEL, j : j + KERNEL]
                place.add_(of_patches[:, :, i, j].permute(1, 2, 3, 0, 4))
        return of_maps.flatten(3).permute(0, 3, 1, 2), of_weight, rows.sum(dim=1)


def _as_maps(rows: Tensor) -> Tensor:
    """[samples, n, H, W, out] as [n, samples * out, H, W], channels last."""
    return rows.permute(1, 2, 3, 0, 4).flatten(3).permute(0, 3, 1, 2)
