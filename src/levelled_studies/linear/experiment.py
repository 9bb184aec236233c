"""The experiment that the paper's linear figures share: draw, estimate one risk, fit lines."""

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.random import Generator

from levelled._check import FloatArray
from levelled_studies.linear import data
from levelled_studies.linear.fits import OBJECTIVES, Line, fit, risk, running_moments
from levelled_studies.linear.rules import Rule, draw
from levelled_studies.linear.settings import BUDGETS, LinearSettings
from levelled_studies.trajectories import Trajectories

__all__ = ["Experiment", "Fits", "fits", "risk_errors", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """Trajectories through the pool, and the losses there of a line that knows nothing of them.

    The line is the ideal one, fitted to the whole pool, so it does not depend on the draws.
    """

    pool: data.Points
    losses: FloatArray
    drawn: Trajectories


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The lines fitted after each budget by one objective, [R, budgets], and their risks."""

    line: Line
    unseen: FloatArray
    """The risk on 10,100 points of the population."""
    lure: FloatArray
    """R_LURE on the points they were fitted to."""


def run(rule: Rule, settings: LinearSettings, *, rng: Generator) -> Experiment:
    """Draw 100 of the 101 points along every trajectory."""
    pool = data.pool()
    losses = pool.squared_errors(data.best_line(pool))
    drawn = draw(rule, pool.x, losses, int(BUDGETS[-1]), settings.trajectories, rng=rng)
    return Experiment(pool, losses, drawn)


def risk_errors(found: Experiment) -> Mapping[str, FloatArray]:
    """The pool's risk less its estimate, after each budget: negative where it is overestimated.

    The sign is that of the paper's section 7, where "ALB is generally negative".
    """
    seen, q, N = found.losses[found.drawn.index], found.drawn.probability, len(found.pool)
    return {
        name: found.losses.mean() - running(seen, q, N)[:, BUDGETS - 1]
        for name, running in OBJECTIVES.items()
    }


def fits(found: Experiment) -> Mapping[str, Fits]:
    """The line that each objective prefers after each budget."""
    x, y = found.pool.x[found.drawn.index], found.pool.y[found.drawn.index]
    moments = running_moments(x, y, found.drawn.probability, len(found.pool), least=int(BUDGETS[0]))
    unseen = data.unseen()
    lines = {name: fit(seen) for name, seen in moments.items()}
    return {
        name: Fits(line, unseen.risk(line), risk(line, moments["LURE"]))
        for name, line in lines.items()
    }
