"""Time of `bald` beside the formula as one would write it, checks included.

pytest benchmarks/bench_scores.py --benchmark-only
python benchmarks/bench_scores.py          the ratio of the two, and memory
"""

import tracemalloc
from collections.abc import Callable
from timeit import repeat
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from levelled.scores import bald

Samples = NDArray[np.float32]


def posterior(n_items: int = 100_000, n_samples: int = 20, n_classes: int = 10) -> Samples:
    logits = 2 * np.random.default_rng(0).standard_normal(
        (n_items, n_samples, n_classes), np.float32
    )
    p = np.exp(logits)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def direct(p: Samples) -> NDArray[Any]:
    mean = p.mean(axis=1)
    of_mean = -(mean * np.log(mean + 1e-12)).sum(axis=-1)
    return np.asarray(of_mean + (p * np.log(p + 1e-12)).sum(axis=-1).mean(axis=-1))


@pytest.mark.parametrize("way", [bald, direct])
def test_mutual_information_of_a_pool(benchmark: Any, way: Callable[[Samples], Any]) -> None:  # noqa: ANN401
    p = posterior()
    assert len(benchmark(way, p)) == len(p)


def main() -> None:
    p = posterior()
    ours = min(repeat(lambda: bald(p), number=1, repeat=15))
    theirs = min(repeat(lambda: direct(p), number=1, repeat=15))
    tracemalloc.start()
    bald(p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"bald {ours * 1e3:.0f} ms, direct {theirs * 1e3:.0f} ms")
    print(f"ratio {ours / theirs:.2f} (<= 0.7)")
    print(f"extra memory {peak / p.nbytes:.1%} of the input (<= 10%)")


if __name__ == "__main__":
    main()
