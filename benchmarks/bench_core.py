"""Running estimates against a cumulative sum, and `import levelled` against `import numpy`."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from levelled import Draws, running


def best(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def importing(module: str) -> float:
    return best(lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True), 10)


def main() -> None:
    M = 1_000_000
    rng = np.random.default_rng(0)
    losses = rng.random(M)
    draws = Draws(np.arange(M), rng.uniform(1e-8, 1e-6, M), pool_size=10 * M)
    yardstick = best(lambda: np.cumsum(losses), 20)
    for estimator in ("lure", "pure", "naive"):
        ratio = best(partial(running, losses, draws, estimator), 5) / yardstick
        print(f"running({estimator}), 1e6 draws: {ratio:.1f} times a cumsum (bar 30)")
    nothing = importing("sys")
    numpy, levelled = importing("numpy"), importing("levelled, numpy")
    print(f"import levelled (with numpy): {levelled / numpy:.2f} times import numpy (bar 1.5)")
    print(f"  of which an empty interpreter is {nothing / numpy:.2f}")


if __name__ == "__main__":
    main()
