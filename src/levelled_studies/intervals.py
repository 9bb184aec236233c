"""Coverage and width of the intervals of averages, measured by simulation.

One task is a pool, a size and a proposal. A new pool is made for every 100 repetitions; each
repetition draws the largest budget once, and smaller budgets are its prefixes. Coverage "at a
fixed budget" is the share of repetitions whose interval contains the pool's mean; coverage
"watched" is the share in which the interval contains it at every label.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.estimators import estimate
from levelled.estimators.intervals import limits
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.limits import effective, logical_limits, t_quantile
from levelled.estimators.lure import ranked_weights
from levelled.estimators.moments import moments
from levelled.proposals import boltzmann, mixture, proportional, uniform
from levelled_studies import trajectories as draw
from levelled_studies.betting_truth import rejected_at
from levelled_studies.interval_cells import LEVEL, Cell, relative, summarise_cells
from levelled_studies.interval_claims import average_claims
from levelled_studies.interval_plots import coverage_and_width
from levelled_studies.pools import KINDS, POOLS, LossPool
from levelled_studies.study import Study, StudySettings

__all__ = ["STUDIES", "IntervalSettings", "draw_losses"]

Limits = tuple[FloatArray, FloatArray]
PROPOSALS = ("uniform", "floor 0.1", "floor 0.5")
UNEVEN = ("Boltzmann 3", "epsilon-greedy")
"""Proposals of the paper's experiments, without a floor."""


@dataclass(frozen=True, slots=True)
class IntervalSettings(StudySettings):
    """Repetitions of every cell, repetitions that share a pool, and sizes (N, budgets)."""

    trajectories: int = 1000
    per_pool: int = 100
    widths_per_pool: int = 2
    """Repetitions of each pool in which the width of the betting interval is measured."""
    size: tuple[int, tuple[int, ...]] = (10_000, (25, 100, 200, 500))
    dense: tuple[tuple[int, tuple[int, ...]], ...] = (
        (200, (25, 100, 180, 194)),
        (1_000, (500, 900, 970)),
    )
    """Sizes at which only 0/1 losses are tried: much of the pool is labelled."""
    pools: tuple[str, ...] = tuple(POOLS)


def tasks(settings: IntervalSettings) -> list[str]:
    """Pools x sizes x proposals, by name."""
    names = []
    for pool in settings.pools:
        kind = KINDS[pool]
        proposals: tuple[str, ...] = PROPOSALS
        if kind in ("0/1 losses", "losses without a bound"):
            proposals = (*PROPOSALS, "adaptive")
        if pool in ("errors 5%", "errors 0.5%"):
            proposals = (*proposals, *UNEVEN)
        names += [f"{pool}; {settings.size[0]}; {proposal}" for proposal in proposals]
        if kind == "0/1 losses":
            sizes = [N for N, _ in settings.dense]
            names += [f"{pool}; {N}; {proposal}" for N in sizes for proposal in PROPOSALS]
    return names


def run(settings: IntervalSettings, task: str, rng: Generator) -> pa.Table:
    """Coverage and width of every interval that is read for the losses of one task."""
    name, N, proposal = task.split("; ")
    budgets = dict((settings.size, *settings.dense))[int(N)]
    cells: dict[tuple[str, int], list[Cell]] = {}
    for done in range(0, settings.trajectories, settings.per_pool):
        pool = POOLS[name](int(N), rng)
        repetitions = min(settings.per_pool, settings.trajectories - done)
        drawn = DrawnLosses(pool, draw_losses(proposal, pool, budgets[-1], repetitions, rng))
        for method, budget, cell in _cells(drawn, budgets, proposal, settings):
            cells.setdefault((method, budget), []).append(cell)
    about = {"kind": KINDS[name], "pool": name, "pool_size": int(N), "proposal": proposal}
    return pa.Table.from_pylist(
        [
            about | {"method": method, "labels": budget} | summarise_cells(own)
            for (method, budget), own in cells.items()
        ]
    )


def draw_losses(
    proposal: str, pool: LossPool, budget: int, repetitions: int, rng: Generator
) -> draw.Trajectories:
    """Trajectories of a pool under the proposal of that name."""
    g, score, N, bound = pool.predictor, pool.interest, len(pool.losses), pool.bounds[1]
    frozen = partial(
        draw.frozen, budget=budget, repetitions=repetitions, control=g, bound=bound, rng=rng
    )
    kind, _, value = proposal.partition(" ")
    if kind == "uniform":
        return frozen(uniform(N))
    if kind == "floor":
        return frozen(mixture(proportional(score), share=float(value)))
    if kind == "Boltzmann":
        return frozen(boltzmann(_normal_ranks(score), beta=float(value)))
    if kind == "epsilon-greedy":
        return draw.greedy(score, 0.1, budget, repetitions, control=g, bound=bound, rng=rng)
    strata = np.argsort(np.argsort(score)) * 10 // N
    return draw.stratified(
        np.abs(pool.losses), strata, 0.1, budget, repetitions, control=g, bound=bound, rng=rng
    )


def _normal_ranks(values: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.argsort(np.argsort(values)) + 0.5) / len(values)))


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLosses:
    """A pool's losses along its trajectories, [R, M], and intervals computed from them."""

    pool: LossPool
    draws: draw.Trajectories

    @property
    def losses(self) -> FloatArray:
        return self.pool.losses[self.draws.index]

    @property
    def truth(self) -> float:
        return float(self.pool.losses.mean())

    def read(self, budgets: tuple[int, ...], control: str | None) -> Iterator[tuple[int, Cell]]:
        """The interval that `estimate` chooses, after each of the budgets."""
        rows = list(zip(self.losses, self.draws.draws(len(self.pool.losses)), strict=True))
        for budget in budgets:
            found = [
                estimate(losses[:budget], draws[:budget], bounds=self.pool.bounds, control=control)
                for losses, draws in rows
            ]
            size = self.draws.design_size(budget)
            yield budget, Cell.of_estimates(found, self.truth, size, unit=abs(self.truth))

    def clip(self, limits: "Method", budget: int) -> Limits:
        """Limits after `budget` labels, cut to what is logically possible."""
        at, N = (slice(None), slice(0, budget)), len(self.pool.losses)
        losses = self.losses[at]
        low, high = limits(losses, self.draws.probability[at], N)
        lowest, highest = logical_limits(losses.sum(axis=1), budget, N, self.pool.bounds)
        return np.maximum(low, lowest), np.minimum(high, highest)

    def fixed(self, limits: "Method", budget: int) -> Cell:
        """The limits after `budget` labels."""
        low, high = self.clip(limits, budget)
        holds = (low <= self.truth) & (self.truth <= high)
        return Cell(holds, relative(high - low, self.truth), self.draws.design_size(budget))

    def watched(self, limits: "Method", first: int, last: int) -> Cell:
        """The limits at every label from `first` to `last`, and their width at the last."""
        final = self.fixed(limits, last)
        holds = np.ones(len(final.holds), dtype=bool)
        for budget in range(first, last + 1):
            holds &= self.fixed(limits, budget).holds
        return Cell(holds, final.width, final.design_size)

    def betting(self, repetitions: int, last: int) -> Cell:
        """Betting at every label; its width in the first repetitions."""
        design, N, q = self.draws.design, len(self.pool.losses), self.draws.probability
        bounds, losses = self.pool.bounds, self.losses
        never = rejected_at(self.truth, losses, q, N, bounds, LEVEL, design=design) == 0
        widths = []
        for row in range(min(repetitions, len(q))):
            columns = {name: column[row] for name, column in design.items()}
            low, high = betting_interval(losses[row], q[row], N, bounds, LEVEL, design=columns)
            widths.append(high - low)
        width = relative(np.array(widths), self.truth)
        return Cell(never, width, self.draws.design_size(last))


def _cells(
    drawn: DrawnLosses, budgets: tuple[int, ...], proposal: str, settings: IntervalSettings
) -> Iterator[tuple[str, int, Cell]]:
    pool, last = drawn.pool, budgets[-1]
    yield from (("default", *cell) for cell in drawn.read(budgets, None))
    if np.isinf(pool.bounds[1]):
        yield from (("default, control", *cell) for cell in drawn.read(budgets, "design"))
    uniform_errors = proposal == "uniform" and pool.bounds == (0, 1)
    if uniform_errors:
        yield from (("t, M-1 df", M, drawn.fixed(_plain_t, M)) for M in budgets)
    if last / len(pool.losses) > 0.6:  # watching is about the labels that come first
        return
    if uniform_errors:
        yield "t, M-1 df, watched", last, drawn.watched(_plain_t, limits.ANYTIME_LEAST, last)
    if proposal == "floor 0.5" and pool.bounds[0] == 0 and pool.score is None:
        method = _anytime_share if pool.bounds == (0, 1) else _anytime_log
        yield "anytime, watched", last, drawn.watched(method, limits.ANYTIME_LEAST, last)
    yield "betting, watched", last, drawn.betting(settings.widths_per_pool, last)


Method = Callable[[FloatArray, FloatArray, int], Limits]


def _plain_t(losses: FloatArray, q: FloatArray, N: int) -> Limits:
    """The usual t interval, as the negative control."""
    summary = moments(losses, q, N)
    half = t_quantile(np.asarray(summary.budget - 1.0), (1 + LEVEL) / 2) * np.sqrt(summary.variance)
    return summary.value - half, summary.value + half


def _anytime_share(losses: FloatArray, q: FloatArray, N: int) -> Limits:
    summary = moments(losses, q, N)
    share, size = effective(summary, losses, ranked_weights(q, N), LEVEL)
    return limits.wilson(share, size, limits.boundary(summary.budget, N, LEVEL))


def _anytime_log(losses: FloatArray, q: FloatArray, N: int) -> Limits:
    return limits.anytime_log_t(moments(losses, q, N), LEVEL)


FULL = IntervalSettings()
SMOKE = IntervalSettings(
    trajectories=10,
    per_pool=10,
    widths_per_pool=1,
    size=(60, (25, 30)),
    dense=((40, (20,)),),
    pools=("errors 5%", "overconfident, Brier", "squared error"),
)

STUDIES = {
    "intervals": Study(
        name="intervals",
        title="Coverage and width of the intervals of averages",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=coverage_and_width,
        claims=average_claims,
    )
}
