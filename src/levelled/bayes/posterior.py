"""What training and prediction ask of a distribution over the weights of a network."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Generator, Tensor

from levelled.bayes.networks import Network

__all__ = ["Posterior", "WeightSample"]


@dataclass(frozen=True, slots=True, eq=False)
class WeightSample:
    """Random networks: their weights, or which units they leave out, tensor by tensor."""

    tensors: tuple[Tensor, ...]
    """The first axis of each goes by sample."""
    penalty: Tensor
    """What the prior adds to the summed losses of the training set."""

    def few(self, size: int) -> Iterator["WeightSample"]:
        """The same networks, `size` at a time."""
        for start in range(0, len(self.tensors[0]), size):
            part = tuple(tensor[start : start + size] for tensor in self.tensors)
            yield WeightSample(part, self.penalty)


class Posterior(Protocol):
    """A distribution over networks: `theta` is everything that is learned, in one tensor."""

    network: Network
    theta: Tensor
    shared: bool
    """Whether one draw serves any number of inputs."""

    def draw(self, n_samples: int, n_inputs: int, generator: Generator) -> WeightSample:
        """Random networks for that many inputs."""

    def logits(self, draw: WeightSample, inputs: Tensor) -> Tensor:
        """Outputs [n_samples, n_inputs, classes] of the drawn networks for prepared inputs."""
