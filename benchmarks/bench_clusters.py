"""How long a race by key over Parquet files takes on Dask, Ray and Spark, beside one process.

    python benchmarks/bench_clusters.py              # 2e7 rows, some minutes
    python benchmarks/bench_clusters.py 1e6 2        # other numbers of rows and workers

Each engine runs in a process of its own. Its processes are watched while it works: the CPU time is
that of all of them, starts included, and the memory that of the largest one but for the caller,
or of the caller where it works alone. Memory that processes share counts for each of them.
The draws of all engines are compared. An engine that is not installed is left out.
"""

import importlib.util
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from levelled.draws import Draws
from levelled.samplers import (
    draws_from_result,
    finish,
    merge,
    race_batches,
    race_part,
    select_statement,
)

K, SEED = 1_000, 7
BATCH = 1_000_000
race = partial(race_part, k=K, seed=SEED, key="id", weight="score")


def make_pool(folder: Path, n_rows: int, n_files: int = 8) -> None:
    rng = np.random.default_rng(0)
    for number, ids in enumerate(np.array_split(np.arange(n_rows), n_files)):
        table = pa.table({"id": ids, "score": rng.random(len(ids)) + 0.01})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=BATCH)


def on_numpy(pool: str, workers: int) -> Iterator[Draws | None]:
    yield None
    batches = ds.dataset(pool).to_batches(columns=["id", "score"])
    yield race_batches(batches, K, seed=SEED, key="id", weight="score")


def on_duckdb(pool: str, workers: int) -> Iterator[Draws | None]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {workers}")
        connection.execute(f"CREATE VIEW preds AS FROM '{pool}/*.parquet'")
        yield None
        select = select_statement("duckdb", "preds", K, seed=SEED, weight="score")
        yield draws_from_result(connection.execute(select).to_arrow_table())


def race_file(path: Path) -> list[pa.Table]:
    batches = pq.ParquetFile(path).iter_batches(BATCH, columns=["id", "score"])
    return [race(batch) for batch in batches]


def on_dask(pool: str, workers: int) -> Iterator[Draws | None]:
    from distributed import Client, LocalCluster

    place = {
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.CRITICAL,
    }
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **place) as cluster,
        Client(cluster) as client,
    ):
        yield None
        parts = client.gather(client.map(race_file, sorted(Path(pool).glob("*.parquet"))))
        yield finish(merge(part for some in parts for part in some))


def on_ray(pool: str, workers: int) -> Iterator[Draws | None]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # listens on loopback alone
    import ray
    import ray.data

    ray.init(
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=1_000_000_000,
    )
    yield None
    rows = ray.data.read_parquet(pool).select_columns(["id", "score"])
    parts = rows.map_batches(race, batch_format="pyarrow", batch_size=BATCH)
    yield finish(merge(parts.iter_batches(batch_format="pyarrow", batch_size=None)))
    ray.shutdown()


def on_spark(pool: str, workers: int, *, sql: bool = False) -> Iterator[Draws | None]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH)
        .getOrCreate()
    )
    preds = spark.read.parquet(pool).select("id", "score")
    yield None
    if sql:
        preds.createOrReplaceTempView("preds")
        select = select_statement("spark", "preds", K, seed=SEED, weight="score")
        yield draws_from_result(spark.sql(select).toArrow())
    else:
        schema = race({"id": [0], "score": [1.0]}).schema
        yield finish(merge(preds.mapInArrow(race_batch, from_arrow_schema(schema)).toArrow()))
    spark.stop()


def race_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from race(batch).to_batches()


def on_spark_sql(pool: str, workers: int) -> Iterator[Draws | None]:
    return on_spark(pool, workers, sql=True)


ENGINES = {
    "NumPy, one process": (on_numpy, "numpy"),
    "DuckDB, SELECT": (on_duckdb, "duckdb"),
    "Dask": (on_dask, "distributed"),
    "Ray Data": (on_ray, "ray"),
    "Spark, mapInArrow": (on_spark, "pyspark"),
    "Spark, SELECT": (on_spark_sql, "pyspark"),
}


class Watch(threading.Thread):
    """CPU seconds and peak memory of the processes below this one, seen four times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[int, float] = {}
        self.memory: dict[int, int] = {}
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.25):
            self.look()

    def look(self) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                times, memory = process.cpu_times(), process.memory_info().rss
            except psutil.Error:  # it has ended
                continue
            self.cpu[process.pid] = times.user + times.system
            self.memory[process.pid] = max(memory, self.memory.get(process.pid, 0))

    def stop(self) -> None:
        self._done.set()
        self.join()
        self.look()


def measure(engine: str, pool: str, workers: int) -> None:
    """Run one engine in this process and print what it took as a line of JSON."""
    watch = Watch()
    watch.start()
    own = psutil.Process()
    began = perf_counter()
    steps = ENGINES[engine][0](pool, workers)
    next(steps)
    started = perf_counter()
    draws = next(steps)
    finished = perf_counter()
    watch.stop()
    assert draws is not None
    times = own.cpu_times()
    result = {
        "start": started - began,
        "job": finished - started,
        "cpu": times.user + times.system + sum(watch.cpu.values()),
        "MB": max(watch.memory.values(), default=getrusage(RUSAGE_SELF).ru_maxrss * 1024) / 1e6,
        "ids": draws.ids,
        "q": draws.probability.tolist(),
    }
    print(json.dumps(result), flush=True)
    next(steps, None)


def compare(n_rows: int, workers: int) -> None:
    print(f"{K:,} of {n_rows:,} rows by key, {workers} workers, seconds")
    print(
        "| engine | start | job | CPU | MB of the largest process | ids | largest difference of q |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="levelled-bench-") as folder:
        make_pool(Path(folder), n_rows)
        first: dict[str, Sequence[float]] | None = None
        for engine, (_, package) in ENGINES.items():
            if importlib.util.find_spec(package) is None:
                continue
            words = [sys.executable, __file__, "--measure", engine, folder, str(workers)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{engine} failed:\n{done.stderr[-2000:]}")
            one = json.loads(done.stdout.splitlines()[-1])
            first = first or one
            same = "same" if one["ids"] == first["ids"] else "DIFFER"
            apart = np.abs(np.array(one["q"]) / np.array(first["q"]) - 1).max()
            numbers = f"{one['start']:.1f} | {one['job']:.1f} | {one['cpu']:.1f} | {one['MB']:.0f}"
            print(f"| {engine} | {numbers} | {same} | {apart:.1g} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        given = dict(enumerate(sys.argv))
        compare(int(float(given.get(1, "2e7"))), int(given.get(2, "2")))
