"""Layers that apply all samples of their weights in one operation.

Weights carry a leading axis of samples: [samples, out, 5, 5, in] of a convolution, [samples, out,
in] of a linear layer, and biases [samples, out]. The first layer has the same inputs for all
samples, so it is one ordinary layer with `samples` times as many outputs. Maps have the channels
of all samples side by side, channels last in memory, where maxima are ten times faster.
"""

import torch
from torch import Tensor
from torch.nn import functional

from levelled.bayes.networks import KERNEL, Network
from levelled.bayes.small_maps import conv_small_maps

__all__ = ["conv", "first_conv", "first_linear", "linear", "pooled", "prepared"]

_SMALL = 4  # places of a map after a convolution, up to which patches beat the grouped one


def prepared(network: Network, inputs: Tensor) -> Tensor:
    """Inputs as the first layer takes them, whatever its weights: patches or rows.

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
        return conv_small_maps(maps, weight, bias)
    kernels = weight.flatten(0, 1).permute(0, 3, 1, 2)
    return functional.conv2d(maps, kernels, bias.reshape(-1), groups=samples)


def pooled(maps: Tensor) -> Tensor:
    """ReLU of the 2x2 maxima."""
    return functional.relu_(functional.max_pool2d(maps, 2))


def first_linear(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Outputs [samples, n, out] of all samples for the same rows [n, in]."""
    samples, out, into = weight.shape
    by_row = weight.reshape(-1, into).t().contiguous()
    found = torch.addmm(bias.reshape(-1), rows, by_row)
    return found.view(-1, samples, out).transpose(0, 1)


def linear(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Outputs [samples, n, out] for rows [samples, n, in]."""
    return torch.baddbmm(bias.unsqueeze(1), rows, weight.transpose(1, 2))
