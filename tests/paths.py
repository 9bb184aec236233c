"""Small pools and adaptive proposals whose every path the exact tests walk."""

from collections.abc import Callable

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled_studies.exact import Propose, every_path

Weights = Callable[[Draws], FloatArray]
Running = Callable[[FloatArray, FloatArray, int], FloatArray]

LOSSES = np.array([3.0, -1.0, 0.5, 8.0, 2.0])
POSITIVE = np.array([0.3, 1.0, 0.1, 4.0, 0.7, 2.0])


def uniform(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    return np.full(len(left), 1 / len(left))


def chase_large_losses(losses: FloatArray) -> Propose:
    """After each label, favour items whose number is close to that of the worst loss so far."""

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        centre = max(drawn, key=lambda item: losses[item]) if drawn else 0
        weight = np.exp(-np.abs(left - centre) * 0.7) + 0.05 * len(drawn)
        return weight / weight.sum()

    return propose


def optimal(losses: FloatArray) -> Propose:
    """The proposal of Theorem 7, which knows every loss."""

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return losses[left] / losses[left].sum()

    return propose


def ignoring(propose: Propose, ignored: Callable[[int], set[int]]) -> Propose:
    """`propose`, with no mass on the items that are ignored at step m (from 1)."""

    def restricted(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        weight = propose(drawn, left) * ~np.isin(left, list(ignored(len(drawn) + 1)))
        return weight / weight.sum()

    return restricted


def expectation(
    value: Callable[[Draws], FloatArray | float], pool_size: int, budget: int, propose: Propose
) -> FloatArray:
    """The exact mean of `value(draws)` over every path."""
    return np.asarray(
        sum(chance * value(draws) for draws, chance in every_path(pool_size, budget, propose))
    )
