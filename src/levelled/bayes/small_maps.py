"""Convolutions of maps so small that a product with their patches is faster.

Images of 16 x 16 pixels leave maps of 6 x 6 for the second convolution, and 2 x 2 after it. There
one batched product and a few sums take half the time of a grouped convolution.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from levelled.bayes.networks import KERNEL

__all__ = ["conv_small_maps"]


def conv_small_maps(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Maps [n, samples * out, H - 4, W - 4] of maps [n, samples * in, H, W]."""
    found: Tensor = _SmallMaps.apply(maps, weight, bias)  # type: ignore[no-untyped-call]
    return found


class _SmallMaps(Function):
    """The gradient is written out: that of overlapping patches costs more than all the rest."""

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
