"""Class probabilities under samples of a posterior, in blocks that stay in a core's cache."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from levelled.bayes.layers import prepared
from levelled.bayes.networks import Network
from levelled.bayes.posterior import Posterior

__all__ = ["block_size", "one_thread", "sampled"]

_SAMPLES = 8  # networks at a time: with a block of inputs, what stays in a core's cache


def block_size(network: Network) -> int:
    """How many inputs are worked on at a time."""
    return 64 if network.layers[0].is_conv else 256


def sampled(
    posterior: Posterior, blocks: Iterable[Tensor], n_samples: int, generator: Generator
) -> Iterator[Tensor]:
    """Probabilities [samples, items, classes] for one block of inputs after the other.

    A posterior whose draws serve any input gives the same samples to all of them.
    """
    draw = posterior.draw(n_samples, 1, generator) if posterior.shared else None
    for block in blocks:
        inputs = prepared(posterior.network, block)
        networks = posterior.draw(n_samples, len(block), generator) if draw is None else draw
        logits = [posterior.logits(few, inputs) for few in networks.few(_SAMPLES)]
        yield torch.cat(logits).softmax(dim=2)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread while it lasts: small layers gain nothing from more, and processes do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
