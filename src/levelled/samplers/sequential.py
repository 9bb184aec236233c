"""Draw one item at a time from a proposal that may change after every label."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, floats, whole
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.proposals import checked

Proposal = Callable[[IntArray], ArrayLike]


class Draw(NamedTuple):
    """One item and the probability it had when it was drawn."""

    index: int  # type: ignore[assignment]  # the name matters more than tuple.index
    probability: float


def sequential(
    propose: Proposal, pool_size: int, *, rng: Generator, allow_zero: bool = False
) -> Iterator[Draw]:
    """Draw items one at a time, never the same twice, each with its probability.

    For a batch, keep the scores unchanged until its labels are in, and take several draws. Each
    draw of the batch still has its own probability, normalised over what is then left; sharing
    one normaliser over a batch would bias the estimate. If the weights never change,
    `levelled.samplers.race` makes all draws at once, and faster.

    Parameters
    ----------
    propose : Takes the indices still in the pool and returns their probabilities, in that order. It
        may use every label received so far: it is called when the next draw is taken, so the caller
        is free to retrain between draws.
    pool_size : The number of items in the pool.
    rng : The source of random numbers.
    allow_zero : True to let items have probability 0. They bias the estimate, by no more than their
        largest number at any step: pass that as `excluded` of `Draws`, or let `adaptive` do it.

    >>> from levelled.proposals import proportional
    >>> scores = np.array([1.0, 2.0, 3.0, 4.0])
    >>> draws = sequential(lambda left: proportional(scores[left]), 4, rng=np.random.default_rng(7))
    >>> Draws(*zip(*islice(draws, 2)), pool_size=4)
    Draws(2 of 4, probabilities 0.4 to 0.5)
    """
    return (draw for draw, _ in _steps(propose, pool_size, rng, allow_zero))


def adaptive(
    propose: Proposal, k: int, pool_size: int, *, rng: Generator, allow_zero: bool = False
) -> Draws:
    """The first k draws of `sequential` at once, for a `propose` that looks up labels.

    Parameters
    ----------
    k : The number of draws.
    propose, pool_size, rng, allow_zero : As for `sequential`.

    >>> scores = np.array([1.0, 2.0, 0.0, 1.0])
    >>> propose = lambda left: scores[left] / scores[left].sum()
    >>> adaptive(propose, 2, 4, rng=np.random.default_rng(7), allow_zero=True).excluded
    1
    """
    steps = _steps(propose, pool_size, rng, allow_zero)
    draws = list(islice(steps, whole("k", k, least=0)))
    return Draws(
        np.array([draw.index for draw, _ in draws], dtype=np.int64),
        np.array([draw.probability for draw, _ in draws]),
        pool_size,
        excluded=max((n_zero for _, n_zero in draws), default=0),
    )


def _steps(
    propose: Proposal, pool_size: int, rng: Generator, allow_zero: bool
) -> Iterator[tuple[Draw, int]]:
    """Each draw, and the number of items of probability zero at its step."""
    if not isinstance(rng, Generator):
        raise InputError("rng must be a generator, such as numpy.random.default_rng(7).")
    return _walk(propose, np.arange(whole("pool_size", pool_size, least=1)), rng, allow_zero)


def _walk(
    propose: Proposal, left: IntArray, rng: Generator, allow_zero: bool
) -> Iterator[tuple[Draw, int]]:
    while len(left):
        left.flags.writeable = False  # a proposal that sorts in place would mix up the items
        probability = floats("probabilities", propose(left), ndim=1)
        if len(probability) != len(left):
            raise ProposalError(
                f"The proposal gave {len(probability)} probabilities for the {len(left)} items "
                f"left. It is called with their indices and must return one for each, in that "
                f"order."
            )
        probability = checked(probability, allow_zero=allow_zero)
        at = int(pick(probability, rng.random()))
        n_zero = int(np.count_nonzero(probability == 0))
        yield Draw(int(left[at]), min(1.0, float(probability[at]))), n_zero
        left = np.delete(left, at)


def pick(probability: FloatArray, u: FloatArray | float) -> IntArray:
    """The place, in each row of probabilities [..., N], whose share of [0, 1) holds u [...].

    It is never a place of probability 0, despite rounding.

    >>> pick(np.array([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]), np.array([0.7, 0.2]))
    array([2, 0])
    """
    edges = np.cumsum(probability, axis=-1)
    total = edges[..., -1]  # not exactly one; u times it may round up to it, past the last item
    target = np.minimum(u * total, np.nextafter(total, 0))
    return np.asarray(np.count_nonzero(edges <= target[..., None], axis=-1))
