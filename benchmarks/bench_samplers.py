"""How long drawing takes, beside what NumPy alone would do: python benchmarks/bench_samplers.py"""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from levelled import lure_weights
from levelled._check import FloatArray
from levelled.samplers import race


def fastest(*jobs: Callable[[], object], repeats: int) -> list[float]:
    """The shortest time of each job in seconds, over five spells of `repeats` runs.

    Jobs take turns after every spell, so that all meet the same noise; within a spell each has
    the memory allocator to itself.
    """
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(5):
        for job, taken in zip(jobs, times, strict=True):
            for _ in range(repeats):
                start = perf_counter()
                job()
                taken.append(perf_counter() - start)
    return [min(taken) for taken in times]


def plain_race(weights: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """The race as one would write it in a few lines of NumPy, with its LURE weights."""
    time = rng.exponential(size=len(weights)) / weights
    index = np.argpartition(time, k)[:k]
    drawn = weights[index[np.argsort(time[index])]]
    q = drawn / (weights.sum() - np.cumsum(drawn) + drawn)
    N, M, m = len(weights), k, np.arange(1, k + 1)
    return np.asarray(1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q) - 1))


def show(name: str, seconds: float, beside: str, other: float, bar: str) -> None:
    print(f"{name:<42}{seconds * 1e3:9.2f} ms {seconds / other:8.3f} x {beside:<26} bar {bar}")


def large(repeats: int = 3) -> None:
    weights = np.random.default_rng(0).random(20_000_000) + 0.01
    ours, total = fastest(lambda: race(weights, 1000, seed=7), weights.sum, repeats=repeats)
    show("race 1,000 of 20,000,000", ours, "weights.sum()", total, "<= 5, aim 3")
    probabilities, rng = weights / weights.sum(), np.random.default_rng(0)
    choice, from_weights = fastest(
        lambda: rng.choice(len(weights), 1000, replace=False, p=probabilities),
        lambda: rng.choice(len(weights), 1000, replace=False, p=weights / weights.sum()),
        repeats=repeats,
    )
    show("race 1,000 of 20,000,000", ours, "Generator.choice", choice, f"<= {1 / 15:.3f}")
    show("race 1,000 of 20,000,000", ours, "choice from weights", from_weights, f"<= {1 / 15:.3f}")
    (design,) = fastest(lambda: race(weights, 1000, seed=7, design=True), repeats=1)
    show("the same with design columns", design, "weights.sum()", total, "none")
    logs = np.log(weights)
    (log,) = fastest(lambda: race(logs, 1000, seed=7, log=True), repeats=1)
    show("the same from log-weights", log, "weights.sum()", total, "none")


def medium(repeats: int = 60) -> None:
    for name, weights in (
        ("", np.random.default_rng(0).random(100_000) + 0.01),
        (", skewed", np.random.default_rng(0).lognormal(sigma=2, size=100_000)),
    ):
        rng = np.random.default_rng(0)
        ours, plain = fastest(
            lambda weights=weights: lure_weights(race(weights, 1000, seed=7)),  # type: ignore[misc]
            lambda weights=weights, rng=rng: plain_race(weights, 1000, rng),  # type: ignore[misc]
            repeats=repeats,
        )
        show(f"LURE weights, 1,000 of 100,000{name}", ours, "plain NumPy race", plain, "<= 1")


def main() -> None:
    medium()
    large()


if __name__ == "__main__":
    main()
