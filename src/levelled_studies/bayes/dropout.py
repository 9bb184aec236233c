"""Monte Carlo dropout as a posterior: Gal and Ghahramani (2016), arXiv:1506.02142."""

import torch
from torch import Generator, Tensor
from torch.nn import functional

from levelled_studies.bayes.networks import Network, conv, first_conv, pool
from levelled_studies.bayes.posterior import WeightSample


class DropoutPosterior:
    """One set of weights, of which each sample leaves out units at random.

    Every channel of a convolution and every hidden unit is left out with probability `rate`;
    the others are divided by 1 - rate. With `consistent`, a sample leaves out the same units
    for all inputs, so that it is one function; otherwise each input leaves out its own. `theta`
    holds the weights [n_weights]; the prior is weight decay alone.
    """

    def __init__(self, network: Network, theta: Tensor, *, rate: float, consistent: bool) -> None:
        self.network = network
        self.theta = theta
        self.rate = rate
        self.shared = consistent

    def draw(self, n_samples: int, n_inputs: int, generator: Generator) -> WeightSample:
        """Factors [n_samples, n_inputs or 1, units] by layer: 0 for units that are left out."""
        rows = 1 if self.shared else n_inputs
        sizes = [n_samples * rows * layer.n_out for layer in self.network.layers[:-1]]
        factors = torch.empty(sum(sizes), device=generator.device, dtype=self.theta.dtype)
        factors.bernoulli_(1 - self.rate, generator=generator).div_(1 - self.rate)
        by_layer = (each.view(n_samples, rows, -1) for each in torch.split(factors, sizes))
        return WeightSample(tuple(by_layer), self.theta.new_zeros(()))

    def logits(self, draw: WeightSample, inputs: Tensor) -> Tensor:
        """Outputs [n_samples, n_inputs, classes] of the network without the units left out.

        A factor commutes with maximum and ReLU, so it comes after them, and the first layer is
        the same for all samples.
        """
        flat = torch.split(self.theta.to(inputs.dtype).unsqueeze(0), self.network.sizes, dim=1)
        *hidden, last, offset = self.network.shaped(flat)
        rows = inputs
        for weight, bias, factor in zip(hidden[::2], hidden[1::2], draw.tensors, strict=True):
            if weight.ndim == 3:
                rows = functional.linear(rows.reshape(len(rows), -1), weight[0], bias[0])
                left = functional.relu_(rows).view(-1, len(inputs), len(bias[0])) * factor
                rows = left.view(-1, len(bias[0]))
            else:
                convolve = first_conv if rows is inputs else conv
                maps = pool(convolve(rows, weight, bias)).permute(0, 2, 3, 1)
                left = maps.reshape(-1, len(inputs), *maps.shape[1:]) * factor[:, :, None, None]
                rows = left.view(-1, *maps.shape[1:]).permute(0, 3, 1, 2)
        samples = len(draw.tensors[0])
        return functional.linear(rows, last[0], offset[0]).view(samples, len(inputs), -1)
