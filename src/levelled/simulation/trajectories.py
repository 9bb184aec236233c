"""Draws of a method in a pool whose losses are known, with exact variances."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.estimators.moments import estimator_shares, moments, ramp_of
from levelled.samplers import FrozenProposal
from levelled.simulation.known import KnownLosses
from levelled.surrogates import next_round_size


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Draws, and the variance of each term of the estimate given the draws before it.

    A simulation knows the losses of all items, so these variances are exact. Their sum with
    squared shares has the variance of the estimate as its mean. `plain` are those of terms without
    the predictor behind the draws: a ratio does without it while it has seen too few labels.
    """

    draws: Draws
    variances: FloatArray
    plain: FloatArray | None = None

    def variance(self, estimator: str, n: int) -> float:
        """sum_m u_m^2 v_m of an estimate from the first n draws."""
        shares = estimator_shares(estimator, self.draws.pool_size, n, ramp_of(self.draws))
        variances = self.variances
        if estimator == "lure" and self.plain is not None:
            variances = self.plain
        return float(shares**2 @ variances[:n])

    def mean(self, losses: FloatArray, estimator: str, n: int) -> float:
        """The estimated mean of the pool's losses from the first n draws, exactly unbiased."""
        draws = self.draws[:n]
        design = draws.design or {}
        summary = moments(
            losses[draws.index],
            draws.probability,
            draws.pool_size,
            estimator=estimator,
            control=design.get("control"),
            control_left=design.get("control_left"),
            ramp=ramp_of(draws),
        )
        return float(summary.value)


def term_variances(frozen: FrozenProposal, losses: FloatArray, drawn: IntArray) -> FloatArray:
    """The variance v_m of each term a_m, given the draws before it.

        v_m = N^-2 (sum (L - g)^2 / q_m - (sum (L - g))^2),    over the items left

    `losses` are those of the whole pool, g is the control of the proposal, or 0 without one.

    >>> uniform = FrozenProposal(np.arange(4), 4, np.ones(4))
    >>> term_variances(uniform, np.array([1.0, 0.0, 0.0, 0.0]), np.array([1, 2]))
    array([0.1875, 0.125 ])
    """
    rest = losses[frozen.rows] - (0.0 if frozen.control is None else frozen.control)
    at = np.searchsorted(frozen.rows, drawn)
    columns = np.stack([frozen.weights, rest**2 / frozen.weights, rest])
    taken = columns[:, at]
    weight, square, total = columns.sum(axis=1)[:, None] - (np.cumsum(taken, axis=1) - taken)
    return np.asarray(np.maximum(weight * square - total**2, 0) / frozen.pool_size**2)


def draw_frozen(
    known: KnownLosses, frozen: FrozenProposal, budget: int, rng: Generator
) -> Trajectory:
    """Draws by weights that never change."""
    draws = frozen.draw(budget, seed=draw_seed(rng))
    return Trajectory(draws, term_variances(frozen, known.losses, draws.index))


def draw_in_rounds(
    known: KnownLosses, budget: int, rng: Generator, floor: float | None = None
) -> Trajectory:
    """Draws of an adaptive campaign, whose predictor is fitted anew before each round.

    The floor falls with the errors found, unless it is given.
    """
    driver, targets = known.driver, known.targets
    assert driver is not None
    assert targets is not None
    rows, q = np.empty(0, dtype=np.int64), np.empty(0)
    parts: list[Draws] = []
    variances: list[FloatArray] = []
    plain: list[FloatArray] = []
    predictor = driver.first_predictor
    while len(rows) < budget:
        if len(rows):
            weights = ranked_weights(q, len(known))
            predictor = driver.fit(rows, targets[rows], weights, predictor)
        share = driver.floor(targets[rows]) if floor is None else floor
        frozen = known.with_control(driver.proposal(predictor, rows, share).whole())
        n = min(next_round_size(len(rows)), budget - len(rows))
        parts.append(frozen.draw(n, seed=draw_seed(rng)))
        variances.append(term_variances(frozen, known.losses, parts[-1].index))
        if known.ratio is not None:
            without = replace(frozen, control=None)
            plain.append(term_variances(without, known.losses, parts[-1].index))
        rows = np.concatenate([rows, parts[-1].index])
        q = np.concatenate([q, parts[-1].probability])
    design = {
        name: np.concatenate([(part.design or {})[name] for part in parts])
        for name in parts[0].design or {}
    }
    draws = Draws(rows, q, len(known), design=design)
    return Trajectory(draws, np.concatenate(variances), np.concatenate(plain) if plain else None)


def draw_seed(rng: Generator) -> int:
    """A seed for the draws of a proposal."""
    return int(rng.integers(2**63))
