"""What betting costs and how narrow it is, as ratios that mean the same on any machine.

python benchmarks/bench_betting.py
"""

from time import perf_counter, thread_time
from timeit import repeat

import numpy as np

from levelled._check import FloatArray
from levelled.estimators.intervals.betting import Betting, betting_interval
from levelled_studies.betting_truth import rejected_at
from levelled_studies.pools import POOLS, LossPool
from levelled_studies.trajectories import Trajectories, frozen


def drawn_from(pool: LossPool, budget: int, repeats: int, rng: np.random.Generator) -> Trajectories:
    g = pool.predictor
    weights = 0.5 / len(g) + 0.5 * g / g.sum()
    return frozen(weights, budget, repeats, control=g, bound=pool.bounds[1], rng=rng)


def seconds_a_label(name: str, *, pool_size: int = 20_000, budget: int = 10_000) -> FloatArray:
    """The processor time of each of 10,000 labels with all columns."""
    rng = np.random.default_rng(0)
    pool = POOLS[name](pool_size, rng)
    drawn = drawn_from(pool, budget, 1, rng)
    columns = {key: column[0] for key, column in drawn.design.items() if key != "dispersion"}
    losses, q = pool.losses[drawn.index[0]], drawn.probability[0]
    rows = [{key: float(column[m]) for key, column in columns.items()} for m in range(budget)]
    watch = Betting(pool_size, pool.bounds)
    times = np.empty(budget)
    for m in range(budget):
        start = thread_time()
        watch.update(float(losses[m]), float(q[m]), **rows[m])
        times[m] = thread_time() - start
    return times


def report_labels(name: str) -> None:
    numbers = np.ones(800)
    yardstick = min(repeat(lambda: np.cumsum(numbers), number=1000, repeat=5)) / 1000
    times = seconds_a_label(name)
    first, last, typical = times[:1000].mean(), times[-1000:].mean(), np.median(times)
    print(f"{name}: a label takes {typical * 1e6:.0f} microseconds (median; mean ", end="")
    print(f"{times.mean() * 1e6:.0f}), {typical / yardstick:.0f} times a cumsum of 800 numbers")
    print(f"  last 1,000 of 10,000 labels / first 1,000: {last / first:.2f} (bar: 1.3)")


def report_truth() -> None:
    rng = np.random.default_rng(0)
    pool = POOLS["errors 5%"](2000, rng)
    drawn = drawn_from(pool, 500, 1000, rng)
    losses, truth = pool.losses[drawn.index], pool.losses.mean()
    start = perf_counter()
    when = rejected_at(truth, losses, drawn.probability, 2000, design=drawn.design)
    took = perf_counter() - start
    print(f"rejected_at, 1,000 trajectories of 500 labels: {took:.2f} seconds (bar: 60)")
    print(f"  the truth is never rejected in a share of {np.mean(when == 0):.3f} (bar: 0.95)")


def report_width(n_pools: int = 40) -> None:
    rng = np.random.default_rng(0)
    widths = []
    for _ in range(n_pools):
        pool = POOLS["errors 5%"](10_000, rng)
        drawn = drawn_from(pool, 500, 1, rng)
        design = {key: column[0] for key, column in drawn.design.items()}
        losses = pool.losses[drawn.index[0]]
        low, high = betting_interval(losses, drawn.probability[0], 10_000, design=design)
        widths.append((high - low) / pool.losses.mean())
    print(f"width / risk, N = 10,000, M = 500, 5% errors, floor 0.5, {n_pools} pools:")
    print(f"  median {np.median(widths):.3f} (bar: 1.05, aim: 0.89)")


if __name__ == "__main__":
    report_labels("errors 5%")
    report_labels("heavy log loss")
    report_truth()
    report_width()
