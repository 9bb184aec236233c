"""Distributions over the weights of a network, and class probabilities under samples of them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor

from levelled_studies.bayes.networks import Network, prepare


@dataclass(frozen=True, slots=True, eq=False)
class WeightSample:
    """Samples of networks: their weights, or factors of their units, tensor by tensor."""

    tensors: tuple[Tensor, ...]
    """The first axis of each is that of the samples."""
    penalty: Tensor
    """The term that the prior adds to the summed losses of the training set."""

    def split(self, size: int) -> Iterator["WeightSample"]:
        """The same networks, `size` at a time."""
        for start in range(0, len(self.tensors[0]), size):
            part = tuple(tensor[start : start + size] for tensor in self.tensors)
            yield WeightSample(part, self.penalty)

    def double(self) -> "WeightSample":
        """The same networks in 64 bits."""
        return WeightSample(tuple(tensor.double() for tensor in self.tensors), self.penalty)


class Posterior(Protocol):
    """A distribution over networks: `theta` is everything that is learned, in one tensor."""

    network: Network
    theta: Tensor
    shared: bool
    """True if one sample of networks serves any number of inputs."""

    def draw(self, n_samples: int, n_inputs: int, generator: Generator) -> WeightSample:
        """Random networks for that many inputs."""

    def logits(self, draw: WeightSample, inputs: Tensor) -> Tensor:
        """Outputs [n_samples, n_inputs, classes] of the drawn networks for prepared inputs."""


def block_size(posterior: Posterior) -> int:
    """The number of inputs in a block."""
    return (64 if posterior.network.layers[0].is_conv else 256) * _growth(posterior)


def sample_proba(
    posterior: Posterior, blocks: Iterable[Tensor], n_samples: int, generator: Generator
) -> Iterator[Tensor]:
    """Probabilities [samples, items, classes] for one block of inputs after the other.

    If the posterior is shared, all inputs have the same samples. Rows of features are computed in
    64 bits: how a product of matrices rounds depends on the place of a row and on the address of
    the matrix, and in 32 bits that shows. Images stay in 32 bits, which take half the time.
    """
    is_wide = not posterior.network.layers[0].is_conv
    draw = posterior.draw(n_samples, 1, generator) if posterior.shared else None
    for block in blocks:
        inputs = prepare(posterior.network, block)
        networks = posterior.draw(n_samples, len(block), generator) if draw is None else draw
        if is_wide:
            inputs, networks = inputs.double(), networks.double()
        parts = networks.split(8 * _growth(posterior))
        logits = [posterior.logits(each, inputs) for each in parts]
        yield torch.cat(logits).softmax(dim=2)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: small layers gain nothing from more, and other processes do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _growth(posterior: Posterior) -> int:
    """1 on a CPU, so that a block of inputs and networks stays in a core's cache.

    Elsewhere 4 for both: some 300 MB of maps of 28 x 28 pixels at a time.
    """
    return 1 if posterior.theta.is_cpu else 4
