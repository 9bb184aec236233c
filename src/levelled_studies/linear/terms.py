"""The terms of Theorems 1, 3 and 6, estimated without bias from trajectories through pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, whole
from levelled_studies.linear import data
from levelled_studies.linear.experiment import draw, geometric, near_optimal
from levelled_studies.linear.settings import LinearSettings
from levelled_studies.linear.variance import conditional_variances, pure_and_lure
from levelled_studies.objectives import RUNNING
from levelled_studies.tables import compact
from levelled_studies.trajectories import Trajectories

__all__ = ["POOL", "RULES", "DecompositionSettings", "naive_terms", "run"]

POOL = 101
RULES = {"uniform": near_optimal(0), "geometric": geometric(), "near-optimal": near_optimal(0.5)}
"""The last is half of Theorem 7's proposal, half uniform."""


@dataclass(frozen=True, slots=True)
class DecompositionSettings(LinearSettings):
    """`trajectories` counts pools here; each is drawn from `per_pool` times."""

    per_pool: int = 10
    labels: tuple[int, ...] = (10, 30, 60, 90)

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=10)
        whole("per_pool", self.per_pool, least=2)


def run(settings: DecompositionSettings, task: str, rng: Generator) -> pa.Table:
    """Every term of the three theorems under one proposal, and what was observed.

    Pools are independent samples of the population. A term is a mean over pools of something
    unbiased for it; that gives its standard error too. Conditional means and variances are
    computed exactly from the proposal at each draw, not from the loss that came up.
    """
    P, K, M = settings.trajectories, settings.per_pool, settings.labels[-1]
    unseen = data.unseen()
    best = data.best_line(unseen)
    pools = data.sample_points((P, POOL), rng=rng)
    losses = np.repeat(pools.squared_errors(best), K, axis=0)
    draws = draw(RULES[task], np.repeat(pools.x, K, axis=0), losses, M, P * K, rng=rng)
    rows: list[dict[str, Any]] = []
    for name, terms in _terms(draws, losses, K).items():
        for term, estimates in terms.items():
            rows += [_row(task, name, term, estimates, labels) for labels in settings.labels]
    shared = float(compact(unseen.squared_errors(best).var() / POOL)[0])
    rows += [
        {"proposal": task, "series": name, "term": "Var[L] / N", "labels": labels, "value": shared}
        for name in ("PURE", "LURE")
        for labels in settings.labels
    ]
    return pa.Table.from_pylist(rows)


def _terms(
    draws: Trajectories, losses: FloatArray, per_pool: int
) -> dict[str, dict[str, FloatArray]]:
    """For each estimator its terms after 1, ..., M labels, one estimate of each a pool."""
    seen = np.take_along_axis(losses, draws.index, axis=1)
    before = np.cumsum(seen, axis=1) - seen
    variances = conditional_variances(draws, losses)
    pure, lure = (_by_pool(term, per_pool).mean(axis=1) for term in pure_and_lure(variances, POOL))
    terms = {
        "naive": naive_terms(draws.design, before, per_pool),
        "PURE": {"2": pure},
        "LURE": {"2": lure},
    }
    for name, running in RUNNING.items():
        total = np.sum(list(terms[name].values()), axis=0)
        observed = _observed(_by_pool(running(seen, draws.probability, POOL), per_pool))
        off = total - observed["observed given the pool"]
        terms[name] |= observed | {"sum given the pool": total, "sum - observed": off}
    return terms


def _by_pool(values: FloatArray, per_pool: int) -> FloatArray:
    """[R, M] -> [pools, trajectories, M]."""
    return values.reshape(-1, per_pool, values.shape[1])


def naive_terms(
    design: Mapping[str, FloatArray], before: FloatArray, per_pool: int
) -> dict[str, FloatArray]:
    """Terms 2, 3 and 4 of Theorem 6 after 1, ..., M labels, one estimate a pool.

    Term 3 is the variance and term 4 twice the covariance with the losses before, within a
    pool, of mu_m = E[L_m | the draws before it].
    """
    M = np.arange(1.0, before.shape[1] + 1)
    mean = _by_pool(design["mean"], per_pool)
    spread = _by_pool(design["square"], per_pool) - mean**2
    off = mean - mean.mean(axis=1, keepdims=True)
    ratio = per_pool / (per_pool - 1)
    return {
        "2": np.cumsum(spread.mean(axis=1), axis=1) / M**2,
        "3": np.cumsum(ratio * (off**2).mean(axis=1), axis=1) / M**2,
        "4": 2 * np.cumsum(ratio * (off * _by_pool(before, per_pool)).mean(axis=1), axis=1) / M**2,
    }


def _observed(estimates: FloatArray) -> dict[str, FloatArray]:
    """The variance of estimates [pools, trajectories, M], within and between pools."""
    P, K = estimates.shape[:2]
    means = estimates.mean(axis=1)
    within = estimates.var(axis=1, ddof=1)
    off = (means - means.mean(axis=0)) ** 2 * (P / (P - 1))
    return {"1": off - within / K, "observed given the pool": within}


def _row(task: str, name: str, term: str, estimates: FloatArray, labels: int) -> dict[str, Any]:
    values = estimates[:, labels - 1]
    value, stderr = compact(np.array([values.mean(), values.std(ddof=1) / np.sqrt(len(values))]))
    return {
        "proposal": task,
        "series": name,
        "term": term,
        "labels": labels,
        "value": float(value),
        "stderr": float(stderr),
    }
