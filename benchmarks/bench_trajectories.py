"""Trajectories an hour of an image study, with one process and with two.

python benchmarks/bench_trajectories.py          needs MNIST in the cache, and an idle machine
"""

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from levelled.backends import local
from levelled_studies.images.training import STUDIES
from levelled_studies.runner import run

TRAJECTORIES = 8


def seconds(workers: int) -> float:
    """For trajectories of the small network at the size of two cores, up to 25 points."""
    study = STUDIES["image-training"]
    settings = replace(  # type: ignore[call-arg]
        study.presets["cpu"], network="mlp", budget=25, trajectories=TRAJECTORIES
    )
    bare = replace(study, figures=lambda table, settings: {})
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        run(bare, settings, Path(folder), backend=local(workers))
        return time.perf_counter() - start


def main() -> None:
    one, two = seconds(1), seconds(2)
    print(
        f"{TRAJECTORIES} trajectories: {one:.0f} s in one process, {two:.0f} s in two: "
        f"{one / two:.2f} times as many an hour (>= 1.7)"
    )


if __name__ == "__main__":
    main()
