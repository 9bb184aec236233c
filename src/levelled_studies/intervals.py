"""Coverage and width of each interval, measured by simulation.

One task is a pool, a size and a proposal. A new pool is made for every 100 repetitions; each
repetition draws the largest budget once, and smaller budgets are its prefixes. Coverage "at a
fixed budget" is the share of repetitions whose interval contains the pool's mean; coverage
"watched" is the share in which the interval contains it at every label.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray
from levelled.estimators.intervals import anytime
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.fixed import (
    cp_safe,
    effective,
    log_t_interval,
    ranked_weights,
    t_interval,
    t_quantile,
)
from levelled.estimators.intervals.logical import logical_limits
from levelled.estimators.moments import moments
from levelled.proposals import boltzmann, mixture, proportional, uniform
from levelled_studies import trajectories as draw
from levelled_studies.betting_truth import rejected_at
from levelled_studies.intervals_report import Cell, claims, figures, relative, summarise_cells
from levelled_studies.pools import POOLS, LossPool
from levelled_studies.study import Study, StudySettings

__all__ = ["STUDIES", "IntervalSettings"]

Limits = tuple[FloatArray, FloatArray]
PROPOSALS = (
    "uniform",
    "floor 0.1",
    "floor 0.5",
    "Boltzmann 1.5",
    "Boltzmann 3",
    "epsilon-greedy",
    "adaptive",
)
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class IntervalSettings(StudySettings):
    """Repetitions of every cell, repetitions that share a pool, and sizes (N, budgets)."""

    trajectories: int = 2000
    per_pool: int = 100
    widths_per_pool: int = 5
    """Repetitions of each pool in which the width of the betting interval is measured."""
    sizes: tuple[tuple[int, tuple[int, ...]], ...] = (
        (200, (25, 100)),
        (1_000, (500, 900, 970)),
        (10_000, (25, 100, 500)),
    )
    dense: tuple[tuple[int, tuple[int, ...]], ...] = ((200, (100, 180, 194)),)
    """Sizes at which only 0/1 losses are tried: most of the pool is labelled."""


def tasks(settings: IntervalSettings) -> list[str]:
    """Pools x sizes x proposals, by name."""
    names = []
    for pool in POOLS:
        sizes = [size for size in settings.sizes if size[0] != 1_000 or "errors" in pool]
        sizes += [size for size in settings.dense if "errors" in pool]
        for N, budgets in sizes:
            names += [f"{pool}; {N}; {budgets[-1]}; {proposal}" for proposal in PROPOSALS]
    return names


def run(settings: IntervalSettings, task: str, rng: Generator) -> pa.Table:
    """Coverage and width of every method that fits the losses of one task."""
    name, N, last, proposal = task.split("; ")
    size, largest = int(N), int(last)
    sizes = (*settings.sizes, *settings.dense)
    budgets = next(b for n, b in sizes if (n, b[-1]) == (size, largest))
    cells: dict[tuple[str, int], list[Cell]] = {}
    for done in range(0, settings.trajectories, settings.per_pool):
        pool = POOLS[name](size, rng)
        repetitions = min(settings.per_pool, settings.trajectories - done)
        draws = _draw(proposal, pool, largest, repetitions, rng)
        for method, budget, cell in _cells(pool, draws, budgets, settings):
            cells.setdefault((method, budget), []).append(cell)
    return pa.Table.from_pylist(
        [
            {
                "pool": name,
                "pool_size": size,
                "proposal": proposal,
                "method": method,
                "labels": budget,
            }
            | summarise_cells(own)
            for (method, budget), own in cells.items()
        ]
    )


def _draw(
    proposal: str, pool: LossPool, budget: int, repetitions: int, rng: Generator
) -> draw.Trajectories:
    g, N = pool.predictor, len(pool.losses)
    bound = pool.bounds[1]
    frozen = partial(
        draw.frozen, budget=budget, repetitions=repetitions, control=g, bound=bound, rng=rng
    )
    kind, _, value = proposal.partition(" ")
    if kind == "uniform":
        return frozen(uniform(N))
    if kind == "floor":
        return frozen(mixture(proportional(g), share=float(value)))
    if kind == "Boltzmann":
        return frozen(boltzmann(_normal_ranks(g), beta=float(value)))
    if kind == "epsilon-greedy":
        return draw.greedy(g, 0.1, budget, repetitions, control=g, bound=bound, rng=rng)
    strata = np.argsort(np.argsort(g)) * 10 // N
    return draw.stratified(
        np.abs(pool.losses), strata, 0.1, budget, repetitions, control=g, bound=bound, rng=rng
    )


def _normal_ranks(values: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.argsort(np.argsort(values)) + 0.5) / len(values)))


def _cells(
    pool: LossPool, draws: draw.Trajectories, budgets: tuple[int, ...], settings: IntervalSettings
) -> Iterator[tuple[str, int, Cell]]:
    truth = pool.losses.mean()
    drawn = DrawnLosses(pool, draws)
    fixed, watched = _methods(pool)
    for budget in budgets:
        for method, limits in fixed.items():
            low, high = drawn.clip(limits, budget)
            holds, width = (low <= truth) & (truth <= high), relative(high - low, truth)
            yield method, budget, Cell(holds, width, drawn.design_size(budget))
    last = budgets[-1]
    if last / len(pool.losses) > 0.6:  # watching is about the labels that come first
        return
    for method, limits in watched.items():
        low, high = drawn.clip(limits, last)
        holds = drawn.always(limits, truth, anytime.LEAST, last)
        yield method, last, Cell(holds, relative(high - low, truth), drawn.design_size(last))
    q, N = draws.probability, len(pool.losses)
    never = rejected_at(truth, drawn.losses, q, N, pool.bounds, LEVEL, design=draws.design)
    width = relative(drawn.betting_widths(settings.widths_per_pool, last), truth)
    yield "betting, watched", last, Cell(never == 0, width, drawn.design_size(last))


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLosses:
    """A pool's losses along its trajectories, [R, M], and intervals computed from them."""

    pool: LossPool
    draws: draw.Trajectories

    @property
    def losses(self) -> FloatArray:
        return self.pool.losses[self.draws.index]

    def clip(self, limits: "Method", budget: int) -> Limits:
        """Limits after `budget` labels, cut to what is logically possible."""
        at = slice(None), slice(0, budget)
        N = len(self.pool.losses)
        losses, q = self.losses[at], self.draws.probability[at]
        design = {name: column[at] for name, column in self.draws.design.items()}
        low, high = limits(losses, q, N, design)
        lowest, highest = logical_limits(losses.sum(axis=1), budget, N, self.pool.bounds)
        low, high = np.maximum(low, lowest), np.minimum(high, highest)
        inverted = low > high
        return np.where(inverted, lowest, low), np.where(inverted, highest, high)

    def always(self, limits: "Method", truth: float, first: int, last: int) -> BoolArray:
        """True where the limits contain the truth at every label from `first` to `last`."""
        holds = np.ones(len(self.draws.index), dtype=bool)
        for budget in range(first, last + 1):
            low, high = self.clip(limits, budget)
            holds &= (low <= truth) & (truth <= high)
        return holds

    def betting_widths(self, repetitions: int, budget: int) -> FloatArray:
        widths = []
        for row in range(min(repetitions, len(self.draws.index))):
            at = row, slice(0, budget)
            design = {name: column[at] for name, column in self.draws.design.items()}
            low, high = betting_interval(
                self.losses[at],
                self.draws.probability[at],
                len(self.pool.losses),
                self.pool.bounds,
                LEVEL,
                design=design,
            )
            widths.append(high - low)
        return np.array(widths)

    def design_size(self, budget: int) -> float:
        return budget / float(self.draws.design["dispersion"][:, :budget].mean())


Method = Callable[[FloatArray, FloatArray, int, Mapping[str, FloatArray]], Limits]


def _methods(pool: LossPool) -> tuple[dict[str, Method], dict[str, Method]]:
    """The methods for a fixed budget and those that may be watched, for losses like these."""
    fixed: dict[str, Method]
    if pool.bounds == (0, 1):
        return {"cp_safe": _cp_safe, "t, M-1 df": _plain_t}, {
            "anytime, watched": _anytime_share,
            "t, M-1 df, watched": _plain_t,
        }
    if pool.bounds[0] < 0:
        return {"t": _t}, {"t, M-1 df, watched": _plain_t}
    fixed = {"log_t": _log_t, "log_t, control": _log_t_control, "t": _t}
    return fixed, {"anytime, watched": _anytime_log, "t, M-1 df, watched": _plain_t}


def _cp_safe(losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]) -> Limits:
    return cp_safe(moments(losses, q, N), losses, ranked_weights(q, N), LEVEL)


def _t(losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]) -> Limits:
    return t_interval(moments(losses, q, N), LEVEL)


def _plain_t(losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]) -> Limits:
    """The usual t interval, as the negative control."""
    summary = moments(losses, q, N)
    half = t_quantile(np.asarray(summary.budget - 1.0), (1 + LEVEL) / 2) * np.sqrt(summary.variance)
    return summary.value - half, summary.value + half


def _log_t(losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]) -> Limits:
    return log_t_interval(moments(losses, q, N), LEVEL)


def _log_t_control(
    losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]
) -> Limits:
    plain = moments(losses, q, N)
    g = moments(losses, q, N, control=design["control"], control_left=design["control_left"])
    return log_t_interval(plain.unless_clear(g), LEVEL)


def _anytime_share(
    losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]
) -> Limits:
    summary = moments(losses, q, N)
    share, size = effective(summary, losses, ranked_weights(q, N), LEVEL)
    return anytime.wilson(share, size, anytime.boundary(summary.budget, N, LEVEL))


def _anytime_log(
    losses: FloatArray, q: FloatArray, N: int, design: Mapping[str, FloatArray]
) -> Limits:
    return anytime.anytime_log_t(moments(losses, q, N), LEVEL)


FULL = IntervalSettings()
SMOKE = IntervalSettings(
    trajectories=20, per_pool=20, widths_per_pool=1, sizes=((60, (25, 30)),), dense=()
)

STUDIES = {
    "intervals": Study(
        name="intervals",
        title="Coverage and width of each interval",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
