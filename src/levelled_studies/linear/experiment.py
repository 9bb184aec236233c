"""The experiment that the linear studies share: draw along many trajectories, estimate, fit lines.

Arrays are [R, N]: R trajectories over a pool of N points.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from levelled import scores
from levelled._check import BoolArray, FloatArray
from levelled.proposals import boltzmann, epsilon_greedy, mixture, optimal, proportional
from levelled.samplers.sequential import pick
from levelled_studies.linear import data
from levelled_studies.linear.fits import Line, fit, risk, running_moments
from levelled_studies.linear.settings import BUDGETS, LinearSettings
from levelled_studies.objectives import RUNNING
from levelled_studies.trajectories import Trajectories

__all__ = [
    "Experiment",
    "Fits",
    "Rule",
    "draw",
    "fit_lines",
    "geometric",
    "greedy",
    "near_optimal",
    "risk_errors",
    "run",
]

_BLOCK = 2**17  # numbers in an array: what the cache of one core holds


@dataclass(frozen=True, slots=True)
class Rule:
    """A score and a proposal, by which the next point is drawn.

    `norm` is that of the distances which `levelled.scores.geometric` sums; a rule without it
    scores points by their losses, which only an experiment knows. `propose` turns the scores and
    the mask of the points left into probabilities.
    """

    norm: Literal["squared", "absolute"] | None
    propose: Callable[[FloatArray, BoolArray], FloatArray]


def geometric(over: Literal["pool", "left"] = "pool") -> Rule:
    """Boltzmann, beta = 1, on the z-scores of the summed squared distance to the points drawn.

    The paper says "normalized scores". They are standardised over the whole pool; `over`
    "left" is the other reading, over the points still to be drawn.
    """

    def propose(scores: FloatArray, left: BoolArray) -> FloatArray:
        if over == "left":
            return boltzmann(scores, 1, "z", left=left)
        return proportional(boltzmann(scores, 1, "z"), left=left)

    return Rule("squared", propose)


def greedy(epsilon: float = 0.1) -> Rule:
    """Epsilon-greedy on the summed distance to the points drawn."""
    return Rule("absolute", lambda scores, left: epsilon_greedy(scores, epsilon, left=left))


def near_optimal(share: float) -> Rule:
    """A mixture of Theorem 7's optimal proposal, with that share, and the uniform one."""

    def propose(losses: FloatArray, left: BoolArray) -> FloatArray:
        best = optimal(losses, left=left, allow_zero=True)
        return mixture(best, 1 - share, left=left, allow_zero=True)

    return Rule(None, propose)


def draw(
    rule: Rule,
    x: FloatArray,
    losses: FloatArray,
    budget: int,
    repetitions: int,
    *,
    rng: Generator,
) -> Trajectories:
    """Draw `budget` points without replacement, `repetitions` times.

    The pool is the same for all ([N]) or one for each ([R, N]). With each draw come the exact
    moments of its loss, given the draws before it, over all points that could have been drawn:

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
    interest = np.zeros((R, N)) if rule.norm else losses
    squares = losses**2
    index = np.empty((R, budget), dtype=np.int64)
    names = ("probability", "mean", "square", "weighted_square")
    columns = {name: np.empty((R, budget)) for name in names}
    for m in range(budget):
        q = rule.propose(interest, left)
        at = pick(q, rng.random(R))
        index[:, m] = at
        columns["probability"][:, m] = np.minimum(q[rows, at], 1)
        columns["mean"][:, m] = np.einsum("rn,rn->r", q, losses)
        columns["square"][:, m] = np.einsum("rn,rn->r", q, squares)
        inverse = np.divide(squares, q, out=np.zeros((R, N)), where=left)
        columns["weighted_square"][:, m] = inverse.sum(axis=1) / N**2
        left[rows, at] = False
        if rule.norm:
            last = x[rows, at][:, None, None]
            interest += scores.geometric(x[..., None], last, rule.norm)  # a sum over points drawn
    return Trajectories(index, columns.pop("probability"), columns)


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """Trajectories through the pool, and the losses of a fixed line on the points of the pool.

    The line is the ideal one, fitted to the whole pool, so it does not depend on the draws.
    """

    pool: data.Points
    losses: FloatArray
    draws: Trajectories


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The lines fitted after each budget by one objective, [R, budgets], and their risks."""

    line: Line
    unseen: FloatArray
    """The risk on 10,100 points of the population."""
    lure: FloatArray
    """R_LURE on the points that the line was fitted to."""


def run(rule: Rule, settings: LinearSettings, *, rng: Generator) -> Experiment:
    """Draw 100 of the 101 points along every trajectory."""
    pool = data.pool()
    losses = pool.squared_errors(data.best_line(pool))
    draws = draw(rule, pool.x, losses, int(BUDGETS[-1]), settings.trajectories, rng=rng)
    return Experiment(pool, losses, draws)


def risk_errors(result: Experiment) -> Mapping[str, FloatArray]:
    """The pool's risk less its estimate, after each budget: negative where it is overestimated.

    The sign is that of the paper's section 7, where "ALB is generally negative".
    """
    losses, q, N = result.losses[result.draws.index], result.draws.probability, len(result.pool)
    return {
        name: result.losses.mean() - running(losses, q, N)[:, BUDGETS - 1]
        for name, running in RUNNING.items()
    }


def fit_lines(result: Experiment) -> Mapping[str, Fits]:
    """The line that minimises each objective after each budget."""
    x, y = result.pool.x[result.draws.index], result.pool.y[result.draws.index]
    q, N = result.draws.probability, len(result.pool)
    moments = running_moments(x, y, q, N, least=int(BUDGETS[0]))
    unseen = data.unseen()
    lines = {name: fit(own) for name, own in moments.items()}
    return {
        name: Fits(line, unseen.risk(line), risk(line, moments["LURE"]))
        for name, line in lines.items()
    }
