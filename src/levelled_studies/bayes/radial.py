"""Radial posteriors over weights: Farquhar, Osborne and Gal (2020), arXiv:1907.00865."""

from typing import Any

import torch
from torch import Generator, Tensor
from torch.autograd import Function
from torch.nn import functional

from levelled_studies.bayes.networks import Network, conv, first_conv, first_linear, linear, pool
from levelled_studies.bayes.posterior import WeightSample


class RadialPosterior:
    """Weights that lie around their means in a uniform direction, at a normal distance.

        w = mu + sigma * radius * direction,    sigma = log(1 + exp(rho))

    `direction` is uniform on the unit sphere of a whole tensor of weights, or of biases, and
    `radius` one standard normal number for it, so that samples stay as near the means in many
    dimensions as in one. `theta` [2, n_weights] holds mu and rho. The prior of each weight is
    N(0, prior_scale^2), and the penalty is `kl_scale` times the KL divergence from it, up to a
    constant:

        KL = E[sum w^2] / (2 prior_scale^2) - sum log sigma

    The expectation is the mean over the drawn weights; the entropy is exact.
    """

    shared = True

    def __init__(
        self, network: Network, theta: Tensor, *, prior_scale: float, kl_scale: float
    ) -> None:
        self.network = network
        self.theta = theta
        self.prior_scale = prior_scale
        self.kl_scale = kl_scale

    def draw(self, n_samples: int, n_inputs: int, generator: Generator) -> WeightSample:
        """Weights and biases of each layer in turn, the same for all inputs."""
        noise = radial_noise(n_samples, self.network.sizes, generator, dtype=self.theta.dtype)
        precision = self.kl_scale / (self.prior_scale**2 * n_samples)
        *flat, penalty = _Weights.apply(  # type: ignore[no-untyped-call]
            self.theta, precision, self.kl_scale, *noise
        )
        return WeightSample(self.network.shaped(flat), penalty)

    def logits(self, draw: WeightSample, inputs: Tensor) -> Tensor:
        """Outputs [n_samples, n_inputs, classes] of networks with the drawn weights."""
        weight, bias, *deeper = draw.tensors
        if self.network.layers[0].is_conv:
            maps = pool(first_conv(inputs, weight, bias))
            weight, bias, *deeper = deeper
            maps = pool(conv(maps, weight, bias))
            rows = maps.reshape(len(inputs), len(weight), -1).transpose(0, 1)
            weight, bias, *deeper = deeper
            rows = functional.relu_(linear(rows, weight, bias))
        else:
            rows = functional.relu_(first_linear(inputs, weight, bias))
        return linear(rows, *deeper)


def radial_noise(
    n_samples: int,
    sizes: list[int],
    generator: Generator,
    *,
    dtype: torch.dtype = torch.float32,
) -> list[Tensor]:
    """A uniform direction times a standard normal radius, [n_samples, size] for each size."""
    at = generator.device
    flat = torch.randn(n_samples * sum(sizes), generator=generator, device=at, dtype=dtype)
    radius = torch.randn(len(sizes), n_samples, 1, generator=generator, device=at, dtype=dtype)
    parts = torch.split(flat, [n_samples * size for size in sizes])
    noise = [part.view(n_samples, -1) for part in parts]
    for each, length in zip(noise, radius, strict=True):
        each.mul_(length / torch.linalg.vector_norm(each, dim=1, keepdim=True))
    return noise


class _Weights(Function):
    """Weights, tensor by tensor, and their penalty, with gradients in as few passes as possible.

    Gradients are written out, because autograd would take as long for them as for the network.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        theta: Tensor,
        precision: float,
        kl_scale: float,
        *noise: Tensor,
    ) -> tuple[Tensor, ...]:
        mu, sigma = theta[0], functional.softplus(theta[1])
        sizes = [each.shape[1] for each in noise]
        weights = tuple(
            torch.addcmul(mean, spread, each)
            for mean, spread, each in zip(
                torch.split(mu, sizes), torch.split(sigma, sizes), noise, strict=True
            )
        )
        ctx.precision, ctx.kl_scale, ctx.sizes = precision, kl_scale, sizes
        ctx.save_for_backward(theta[1], sigma, *noise, *weights)
        norms = torch.stack([torch.linalg.vector_norm(each) for each in weights])
        penalty = precision / 2 * norms.square().sum() - kl_scale * sigma.log().sum()
        return *weights, penalty

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        rho, sigma, *saved = ctx.saved_tensors
        noise, weights = saved[: len(ctx.sizes)], saved[len(ctx.sizes) :]
        share = grads[-1].double()  # a Python number would make a GPU wait
        pull, push = ((share * each).to(rho.dtype) for each in (ctx.precision, ctx.kl_scale))
        grad_theta = torch.empty(2, len(rho), dtype=rho.dtype, device=rho.device)
        parts = torch.split(grad_theta, ctx.sizes, dim=1)
        for place, grad, each, weight in zip(parts, grads[:-1], noise, weights, strict=True):
            whole = torch.addcmul(grad, weight, pull)
            torch.sum(whole, dim=0, out=place[0])
            torch.sum(whole.mul_(each), dim=0, out=place[1])
        grad_theta[1].sub_(sigma.reciprocal().mul_(push)).mul_(torch.sigmoid(rho))
        return grad_theta, None, None, *[None] * len(noise)
