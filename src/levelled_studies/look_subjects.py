"""Figures whose intervals are read at planned looks and by betting between them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import Estimate, RatioBetting, estimate
from levelled.estimators.intervals.betting import running_betting
from levelled.looks import share_rate
from levelled.metrics import f1
from levelled_studies.betting_truth import ratio_rejected_at, rejected_at
from levelled_studies.interval_cells import LEVEL
from levelled_studies.pools import LossPool
from levelled_studies.ratios import ClassPool
from levelled_studies.trajectories import Trajectories

__all__ = ["BETWEEN", "Limits", "Subject", "average", "f1_score"]

BETWEEN = 1 - (1 - LEVEL) * share_rate(5).betting
"""The level of the betting interval between looks."""

Limits = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A figure of a pool along its trajectories."""

    draws: Trajectories
    pool_size: int
    truth: float
    span: float
    """The largest possible width of an interval."""
    read: Callable[[Draws, float], Estimate]
    """The estimate after these draws, at this level, as if read once."""
    rejected_at: Callable[[], IntArray]
    """The label at which betting between looks rejects the truth, 0 for never."""
    follow: Callable[[int], Limits]
    """The limits of betting between looks after 1, 2, ... labels of one trajectory."""


def average(pool: LossPool, draws: Trajectories) -> Subject:
    """The mean of a pool's losses, or of differences of losses."""
    losses, bounds = pool.losses, pool.bounds
    N, truth = len(losses), float(losses.mean())
    drawn, q = losses[draws.index], draws.probability

    def read(own: Draws, level: float) -> Estimate:
        return estimate(losses[own.index], own, level=level, bounds=bounds)

    def reject() -> IntArray:
        return rejected_at(truth, drawn, q, N, bounds, BETWEEN, design=draws.design)

    def follow(row: int) -> Limits:
        design = {name: column[row] for name, column in draws.design.items()}
        return running_betting(drawn[row], q[row], N, bounds, BETWEEN, design=design)

    return Subject(draws, N, truth, bounds[1] - bounds[0], read, reject, follow)


def f1_score(pool: ClassPool, draws: Trajectories) -> Subject:
    """The F1 of a pool with two classes."""
    pairs = pool.pairs("F1")
    N, truth, most = len(pool.label), float(pairs[0].sum() / pairs[1].sum()), 2.0
    A, D = (values[draws.index] for values in pairs)
    q, weight = draws.probability, draws.design["max_weight"]

    def read(own: Draws, level: float) -> Estimate:
        label, pred = pool.label[own.index], pool.pred[own.index]
        return f1(label, pred, own, positive=1, classes=[0, 1], level=level)

    def reject() -> IntArray:
        heaviest = most * weight
        return ratio_rejected_at(
            truth, A, D, q, N, most, BETWEEN, max_weighted_denominator=heaviest
        )

    def follow(row: int) -> Limits:
        watch, limits = RatioBetting(N, most, BETWEEN), []
        for a, d, chance, w in zip(A[row], D[row], q[row], weight[row], strict=True):
            watch.update(a, d, chance, max_weight=w)
            limits.append(watch.interval())
        low, high = np.array(limits).T
        return low, high

    return Subject(draws, N, truth, 1.0, read, reject, follow)
