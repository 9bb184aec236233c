"""Class probabilities under samples of a posterior, block by block."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from levelled.bayes.layers import prepared
from levelled.bayes.posterior import Posterior

__all__ = ["block_size", "one_thread", "sampled"]


def block_size(posterior: Posterior) -> int:
    """How many inputs are worked on at a time."""
    return (64 if posterior.network.layers[0].is_conv else 256) * _growth(posterior)


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
        few = networks.few(8 * _growth(posterior))
        logits = [posterior.logits(each, inputs) for each in few]
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


def _growth(posterior: Posterior) -> int:
    """1 on a CPU, so that a block of inputs and networks stays in a core's cache.

    Elsewhere 4 for both: some 300 MB of maps of 28 x 28 pixels at a time.
    """
    return 1 if posterior.theta.is_cpu else 4
