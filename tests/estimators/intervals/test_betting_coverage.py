"""How often betting rejects the truth at any label at all, in the pools of the studies.

Ville's inequality allows it in a share 1 - level of the trajectories. A test fails by chance, if
that share is just allowed, in fewer than 1 run in 10**6.
"""

import numpy as np
import pytest
from scipy.stats import binom, norm, rankdata, t

from levelled._check import FloatArray
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.moments import moments
from levelled_studies.betting_truth import ratio_rejected_at, rejected_at
from levelled_studies.pools import POOLS, LossPool
from levelled_studies.trajectories import Trajectories, frozen, stratified

N, BUDGET, N_POOLS, REPEATS = 400, 200, 3, 100
PROPOSALS = ["uniform", "floor 0.1", "floor 0.5", "hot", "adaptive"]


def most_misses(trials: int, chance: float) -> int:
    return int(binom.isf(1e-6, trials, chance))


def weights_of(proposal: str, g: FloatArray) -> FloatArray:
    if proposal == "hot":
        return np.asarray(np.exp(3 * norm.ppf((rankdata(g) - 0.5) / len(g))))
    floor = {"uniform": 1.0, "floor 0.1": 0.1, "floor 0.5": 0.5}[proposal]
    return floor / len(g) + (1 - floor) * g / g.sum()


def draw(pool: LossPool, proposal: str, rng: np.random.Generator) -> Trajectories:
    g, bound = pool.predictor, pool.bounds[1]
    if proposal == "adaptive":
        strata = np.argsort(np.argsort(g)) * 8 // len(g)
        return stratified(
            np.abs(pool.losses), strata, 0.1, BUDGET, REPEATS, control=g, bound=bound, rng=rng
        )
    return frozen(weights_of(proposal, g), BUDGET, REPEATS, control=g, bound=bound, rng=rng)


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize(
    "name", ["errors 5%", "errors 0.5%", "Brier", "heavy log loss", "difference of two models"]
)
def test_the_truth_survives_every_label_at_once(name: str, proposal: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    misses = np.zeros(3, dtype=int)
    for _ in range(N_POOLS):
        pool = POOLS[name](N, rng)
        drawn = draw(pool, proposal, rng)
        reach = {"max_weight": drawn.design["max_weight"]}
        for at, design in enumerate([None, reach, drawn.design]):
            when = rejected_at(
                pool.losses.mean(),
                pool.losses[drawn.index],
                drawn.probability,
                N,
                pool.bounds,
                design=design,
            )
            misses[at] += np.count_nonzero(when)
    sides = 1 if np.isinf(pool.bounds[1]) else 2
    assert misses.max() <= most_misses(N_POOLS * REPEATS, 0.025 * sides)


@pytest.mark.parametrize("metric", ["precision", "recall", "f1"])
@pytest.mark.parametrize("floor", ["uniform", "floor 0.5"])
def test_the_true_ratio_survives_every_label_at_once(metric: str, floor: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    misses = np.zeros(3, dtype=int)
    for _ in range(N_POOLS):
        rate = rng.beta(0.3, 1.2, N)
        positive, flagged = rng.random(N) < rate, rate * rng.lognormal(0, 0.3, N) > 0.4
        a = (positive & flagged).astype(float)
        d = {
            "precision": 1.0 * flagged,
            "recall": 1.0 * positive,
            "f1": (flagged + 1.0 * positive) / 2,
        }
        pool = LossPool(a, np.clip(rate, 0.05, 1), (0.0, 1.0))
        drawn = draw(pool, floor, rng)
        theta, reach = a.sum() / d[metric].sum(), drawn.design["max_weight"]
        labels = a[drawn.index], d[metric][drawn.index], drawn.probability, N
        result = (
            ratio_rejected_at(theta, *labels),
            ratio_rejected_at(theta, *labels, max_weighted_denominator=reach),
            ratio_rejected_at(theta, *labels, denominator_mean=d[metric].mean()),
        )
        misses += [np.count_nonzero(when) for when in result]
    assert misses.max() <= most_misses(N_POOLS * REPEATS, 0.05)


def test_a_t_interval_watched_at_every_label_fails_in_the_same_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    misses = 0
    for _ in range(N_POOLS):
        pool = POOLS["errors 5%"](2000, rng)
        drawn = draw(pool, "floor 0.1", rng)
        losses, holds = pool.losses[drawn.index], np.ones(REPEATS, dtype=bool)
        for m in range(25, BUDGET + 1):
            result = moments(losses[:, :m], drawn.probability[:, :m], 2000)
            half = t.ppf(0.975, m - 1) * np.sqrt(result.variance)
            holds &= np.abs(result.value - pool.losses.mean()) <= half
        misses += int(np.count_nonzero(~holds))
    assert misses > most_misses(N_POOLS * REPEATS, 0.05)
    assert misses > 0.35 * N_POOLS * REPEATS


def test_the_interval_is_as_narrow_as_was_promised(seed: int) -> None:
    """The bar is 1.05 for the median over many pools; of nine it stays below 1.25 (measured)."""
    rng = np.random.default_rng(seed)
    widths = []
    for _ in range(9):
        pool = POOLS["errors 5%"](10_000, rng)
        weights = weights_of("floor 0.5", pool.predictor)
        drawn = frozen(weights, 500, 1, control=pool.predictor, bound=1.0, rng=rng)
        design = {name: column[0] for name, column in drawn.design.items()}
        losses, q = pool.losses[drawn.index[0]], drawn.probability[0]
        low, high = betting_interval(losses, q, 10_000, design=design)
        widths.append((high - low) / pool.losses.mean())
    assert np.median(widths) < 1.25
