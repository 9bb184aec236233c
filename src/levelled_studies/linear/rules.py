"""The proposals of the linear experiments, for many trajectories at once.

Arrays are [R, N]: R trajectories over a pool of N points. What `levelled.scores` and
`levelled.proposals` say of one trajectory is said here of all of them, and a test compares the
two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray, IntArray
from levelled_studies.trajectories import Trajectories

__all__ = ["Rule", "draw", "epsilon_greedy", "geometric", "near_optimal"]

_BLOCK = 2**17  # numbers in an array: what the cache of one core holds


@dataclass(frozen=True, slots=True)
class Rule:
    """How the next point is chosen.

    `gain` is what a drawn point adds to the score of one at that distance; a rule without it
    scores points by their losses, as only an oracle can. `propose` turns the scores, and who is
    left, into probabilities, 0 for those who are not.
    """

    gain: Callable[[FloatArray], FloatArray] | None
    propose: Callable[[FloatArray, BoolArray], FloatArray]


def geometric(beta: float = 1.0, over: Literal["pool", "left"] = "pool") -> Rule:
    """Boltzmann on the z-scores of the summed squared distance to what was drawn.

    The paper says "normalized scores". They are standardised over the whole pool; `over`
    "left" is the other reading, over the points still to be drawn.
    """
    return Rule(np.square, partial(_boltzmann, beta=beta, over=over))


def _boltzmann(scores: FloatArray, left: BoolArray, *, beta: float, over: str) -> FloatArray:
    counted = None if over == "pool" else left
    n = scores.shape[1] if counted is None else counted.sum(axis=1, keepdims=True)
    z = scores - _sum(scores, counted) / n
    spread = np.sqrt(_sum(z * z, counted) / n)
    z *= beta / np.where(spread > 0, spread, 1.0)
    if counted is not None:
        z *= counted  # what was not counted may be far off, and its exponential too large
    weight = np.exp(z, out=z)
    weight *= left
    weight /= weight.sum(axis=1, keepdims=True)
    return weight


def _sum(values: FloatArray, counted: BoolArray | None) -> FloatArray:
    if counted is None:
        return values.sum(axis=1, keepdims=True)
    return np.einsum("rn,rn->r", values, counted)[:, None]


def epsilon_greedy(epsilon: float = 0.1) -> Rule:
    """The point of the largest summed distance to what was drawn, or with epsilon any."""
    return Rule(np.abs, partial(_greedy, epsilon=epsilon))


def _greedy(scores: FloatArray, left: BoolArray, *, epsilon: float) -> FloatArray:
    possible = np.where(left, scores, -np.inf)
    best = possible == possible.max(axis=1, keepdims=True)
    best = best / best.sum(axis=1, keepdims=True)
    return epsilon * left / left.sum(axis=1, keepdims=True) + (1 - epsilon) * best


def near_optimal(share: float) -> Rule:
    """So much of Theorem 7's optimal proposal, in proportion to the losses, the rest uniform."""
    return Rule(None, partial(_near_optimal, share=share))


def _near_optimal(losses: FloatArray, left: BoolArray, *, share: float) -> FloatArray:
    best = np.where(left, losses, 0.0)
    best /= best.sum(axis=1, keepdims=True)
    return (1 - share) * left / left.sum(axis=1, keepdims=True) + share * best


def draw(
    rule: Rule,
    x: FloatArray,
    losses: FloatArray,
    budget: int,
    repetitions: int,
    *,
    rng: Generator,
) -> Trajectories:
    """Draw `budget` points without replacement, `repetitions` times over.

    The pool is the same for all ([N]) or one for each ([R, N]). What the proposal made of the
    losses still to come is kept with each draw, exactly:

        mean             sum_n q(n) L_n                  E[L_m | the draws before it]
        square           sum_n q(n) L_n^2                E[L_m^2 | ...]
        weighted_square  sum_n L_n^2 / (N^2 q(n))        E[(w_m L_m)^2 | ...]
    """
    shape = repetitions, x.shape[-1]
    x, losses = np.broadcast_to(x, shape), np.broadcast_to(losses, shape)
    rows = max(1, _BLOCK // shape[1])
    parts = [
        _draw_block(rule, x[at : at + rows], losses[at : at + rows], budget, rng)
        for at in range(0, repetitions, rows)
    ]
    return Trajectories(
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.probability for part in parts]),
        {name: np.concatenate([part.design[name] for part in parts]) for name in parts[0].design},
    )


def _draw_block(
    rule: Rule, x: FloatArray, losses: FloatArray, budget: int, rng: Generator
) -> Trajectories:
    R, N = x.shape
    rows = np.arange(R)
    left = np.ones((R, N), dtype=bool)
    scores = losses if rule.gain is None else np.zeros((R, N))
    squares = losses**2
    squares_left, drawn = squares.copy(), np.zeros((R, N))
    index = np.empty((R, budget), dtype=np.int64)
    names = ("probability", "mean", "square", "weighted_square")
    found = {name: np.empty((R, budget)) for name in names}
    for m in range(budget):
        q = rule.propose(scores, left)
        at = _choose(q, rng)
        index[:, m] = at
        found["probability"][:, m] = np.minimum(q[rows, at], 1)
        found["mean"][:, m] = np.einsum("rn,rn->r", q, losses)
        found["square"][:, m] = np.einsum("rn,rn->r", q, squares)
        found["weighted_square"][:, m] = (squares_left / (q + drawn)).sum(axis=1) / N**2
        left[rows, at], drawn[rows, at], squares_left[rows, at] = False, 1, 0
        if rule.gain is not None:
            scores += rule.gain(x - x[rows, at][:, None])
    return Trajectories(index, found.pop("probability"), found)


def _choose(q: FloatArray, rng: Generator) -> IntArray:
    """For each row a column, by its probability."""
    reached = np.cumsum(q, axis=1)
    # A little less than the total, so that rounding cannot lead beyond the last column.
    goal = rng.random((len(q), 1)) * (reached[:, -1:] * (1 - 2**-50))
    return np.asarray((reached <= goal).sum(axis=1))
