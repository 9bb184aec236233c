"""How long drawing from Parquet files takes, beside a bare scan of the same column.

    python benchmarks/bench_scale.py             # 1e8 rows, about a minute, 0.8 GB below /tmp
    python benchmarks/bench_scale.py 1e6 1e7     # other numbers of rows

Times are medians of five runs that take turns; ratios are within one run. Memory is the peak of
a process that does nothing else. More than 1e8 rows are links to one file of 1e8, drawn from once.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from levelled import Draws
from levelled.campaigns.file_draws import column_weights, race_units
from levelled.samplers import finish, race
from levelled.sources.rows import Files

MOST = 10**8
"""The rows of the largest file."""
ROW_GROUP = 1 << 20
"""The rows of a row group as pyarrow and pandas write them."""


@contextmanager
def pool_file(n_rows: int, kind: str = "float64") -> Iterator[str]:
    """A file with one column of random weights."""
    rng = np.random.default_rng(0)
    with TemporaryDirectory(prefix="levelled-bench-") as folder:
        path = str(Path(folder, "pool.parquet"))
        with pq.ParquetWriter(path, pa.schema([("score", pa.type_for_alias(kind))])) as file:
            for start, stop in pairwise([*range(0, n_rows, ROW_GROUP), n_rows]):
                weights = (rng.random(stop - start) + 0.01).astype(kind)
                file.write_table(pa.table({"score": weights}))
        yield path


def scan(path: str, threads: int) -> float:
    """The sum of the column, by pyarrow alone."""
    footer = pq.ParquetFile(path).metadata

    def add_up(group: int) -> float:
        file = pq.ParquetFile(path, metadata=footer)
        batches = file.iter_batches(
            ROW_GROUP, row_groups=[group], columns=["score"], use_threads=False
        )
        return sum(pc.sum(batch.column(0)).as_py() for batch in batches)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(add_up, range(footer.num_row_groups)))


def draw(path: str, k: int, threads: int, *, design: bool = False) -> Draws:
    """The draws without their ids, as `levelled draw` makes them."""
    weights = column_weights(Files(path), "score")
    return finish(race_units(weights, k, seed=7, design=design, threads=threads))


def in_turn(jobs: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """The median wall and CPU seconds of each job, over five rounds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(5):
        for name, job in jobs.items():
            wall, cpu = perf_counter(), process_time()
            job()
            times[name].append((perf_counter() - wall, process_time() - cpu))
    return {name: (median(w for w, _ in t), median(c for _, c in t)) for name, t in times.items()}


def in_child(path: str, k: int, threads: int, what: str) -> tuple[float, float, float]:
    """Wall and CPU seconds of one of the jobs, and the most megabytes that its process held."""
    words = [sys.executable, __file__, "--child", what, path, str(k), str(threads)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return float(printed[0]), float(printed[1]), float(printed[2])


def child(what: str, path: str, k: str, threads: str) -> None:
    wall, cpu = perf_counter(), process_time()
    if what == "draw":
        draw(path, int(k), int(threads))
    elif what == "scan":
        scan(path, int(threads))
    # ru_maxrss would begin with the memory of the parent, which it was forked from.
    status = Path("/proc/self/status").read_text()
    memory = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    print(perf_counter() - wall, process_time() - cpu, memory)


def measure_links(n_rows: int, k: int) -> None:
    with pool_file(MOST) as path:
        folder = Path(path).parent / "pool"
        folder.mkdir()
        for number in range(n_rows // MOST):
            (folder / f"{number:05}.parquet").hardlink_to(path)
        wall, cpu, memory = in_child(str(folder), k, 2, "draw")
    print(f"\n{k:,} of {n_rows:,} rows: wall {wall:.1f} s, CPU {cpu:.1f} s, {memory:.0f} MB")


def measure(n_rows: int, k: int) -> None:
    print(f"\n{k:,} of {n_rows:,} rows, one column of doubles; wall s, CPU s, rows/s of wall")
    with pool_file(n_rows) as path:
        weights = pq.read_table(path).column(0).to_numpy()
        jobs: dict[str, Callable[[], object]] = {}
        for threads in (1, 2):
            jobs[f"bare scan and sum, {threads} threads"] = lambda t=threads: scan(path, t)  # type: ignore[misc]
            jobs[f"draw, {threads} threads"] = lambda t=threads: draw(path, k, t)  # type: ignore[misc]
        jobs["draw with design columns, 1 threads"] = lambda: draw(path, k, 1, design=True)
        jobs["sum in memory"] = weights.sum
        jobs["race in memory"] = lambda: race(weights, k, seed=7)
        times = in_turn(jobs)
        for name, (wall, cpu) in times.items():
            print(f"  {name:<38}{wall:8.3f} {cpu:8.3f} {n_rows / wall:12.3g}")
        for threads in (1, 2):
            ours, bare = (times[f"{w}, {threads} threads"] for w in ("draw", "bare scan and sum"))
            wall, cpu = ours[0] / bare[0], ours[1] / bare[1]
            print(f"  draw / scan, {threads} threads: wall {wall:.2f}, CPU {cpu:.2f}  (bar 1.6)")
        for name in ("bare scan and sum", "draw"):
            gain = times[f"{name}, 1 threads"][0] / times[f"{name}, 2 threads"][0]
            print(f"  {name}: two threads are {gain:.2f} times as fast as one  (bar 1.6)")
        for what in ("imports", "scan", "draw"):
            print(f"  peak memory, {what}: {in_child(path, k, 2, what)[2]:.0f} MB  (bar 500)")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    for n_rows in [int(float(one)) for one in sys.argv[1:]] or [10**8]:
        if n_rows > MOST:
            measure_links(n_rows, 10_000)
        else:
            measure(n_rows, n_rows // 10_000)


if __name__ == "__main__":
    main()
