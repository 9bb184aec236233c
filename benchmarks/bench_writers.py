"""Sixteen labellers at once on each store: how many steps each gets, and how long a step takes.

python benchmarks/bench_writers.py [seconds] [stores]

A step is an ask or a tell. Raw transactions of as many processes are measured beside it: one row,
on the disk before the next begins. Last, another process asks on a pool of 200,000 rows, for which
it has to open the pool and to draw, while the others work.
"""

import multiprocessing
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter

import numpy as np

from kill_processes import write_pool
from levelled.campaigns import Ask, Campaign, create_campaign, load_campaign
from postgres_server import run_server

WRITERS, ROWS, LARGE = 16, 20_000, 200_000

Step = Callable[[], object]


def label(storage: str, name: str) -> Iterator[Step]:
    """Asks and tells in turn."""
    campaign = load_campaign("spam", storage=storage)
    while True:
        asks: list[Ask] = []
        yield partial(_ask, campaign, name, asks)
        yield partial(_tell, campaign, name, asks)


def _ask(campaign: Campaign, name: str, asks: list[Ask]) -> None:
    asks += campaign.ask(1, owner=name)


def _tell(campaign: Campaign, name: str, asks: list[Ask]) -> None:
    for ask in asks:
        campaign.tell(ask.draw, "spam", owner=name)


def insert_sqlite(storage: str, name: str) -> Iterator[Step]:
    """Raw transactions, whose writers wait as SQLite itself makes them wait."""
    path = storage.removeprefix("sqlite:///") + ".raw"
    database = sqlite3.connect(path, isolation_level=None, timeout=60)
    database.execute("PRAGMA synchronous = FULL")

    def insert() -> None:
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO raw (body) VALUES (?)", [name * 100])
        database.execute("COMMIT")

    while True:
        yield insert


def insert_postgres(storage: str, name: str) -> Iterator[Step]:
    """Raw transactions, which do not wait for each other."""
    import psycopg

    connection = psycopg.connect(storage, autocommit=True)
    while True:
        yield lambda: connection.execute("INSERT INTO raw (body) VALUES (%s)", [name * 100])


def make_raw(storage: str) -> None:
    if storage.startswith("sqlite"):
        with sqlite3.connect(storage.removeprefix("sqlite:///") + ".raw") as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, body TEXT)")
        database.close()
    else:
        import psycopg

        with psycopg.connect(storage) as connection:
            connection.execute("CREATE TABLE raw (id SERIAL PRIMARY KEY, body TEXT)")


def work(
    steps: Callable[[str, str], Iterator[Step]],
    storage: str,
    name: str,
    seconds: float,
    barrier: Barrier,
    out: Connection,
) -> None:
    """Take steps for a while; send how long each took, and what failed."""
    waits, errors = [], []
    stream = steps(storage, name)
    step = next(stream)
    barrier.wait(120)
    end = perf_counter() + seconds
    while (start := perf_counter()) < end:
        try:
            step()
        except Exception as failed:  # noqa: BLE001
            errors.append(str(failed))
        waits.append(perf_counter() - start)
        step = next(stream)
    out.send((waits, errors))


def measure(
    steps: Callable[[str, str], Iterator[Step]], storage: str, seconds: float, what: str
) -> None:
    fork = multiprocessing.get_context("fork")
    barrier, pipes, workers = fork.Barrier(WRITERS), [], []
    for i in range(WRITERS):
        here, there = fork.Pipe(duplex=False)
        arguments = (steps, storage, f"w{i}", seconds, barrier, there)
        workers.append(fork.Process(target=work, args=arguments))
        pipes.append(here)
    for worker in workers:
        worker.start()
    parts = [pipe.recv() for pipe in pipes]
    for worker in workers:
        worker.join()
    counts = np.array([len(waits) for waits, _ in parts])
    times = np.concatenate([waits for waits, _ in parts]) * 1e3
    errors = [error for _, part in parts for error in part]
    p50, p99 = np.quantile(times, [0.5, 0.99])
    print(
        f"{what}: {counts.sum() / seconds:.0f} steps a second, p50 {p50:.0f} ms, p99 {p99:.0f} ms, "
        f"longest {times.max():.0f} ms, {len(errors)} errors; of {WRITERS} the slowest took "
        f"{counts.min()} steps and the fastest {counts.max()}, slowest / mean "
        f"{counts.min() / counts.mean():.2f}",
        flush=True,
    )
    for error in sorted(set(errors))[:3]:
        print(f"  {error}")


def slow_ask(storage: str, seconds: float) -> None:
    """Time an ask of a process that has yet to open the pool, while sixteen others work."""
    fork = multiprocessing.get_context("fork")

    def ask_often() -> None:
        time.sleep(seconds / 4)
        for _ in range(3):
            start = perf_counter()
            asks = load_campaign("spam", storage=storage).ask(60, owner="slow")
            print(f"  an ask for {len(asks)} by another process: {perf_counter() - start:.1f} s")

    asking = fork.Process(target=ask_often)
    asking.start()
    measure(label, storage, seconds, "  beside it, ask and tell")
    asking.join(60)


def begin(folder: Path, storage: str, rows: int) -> None:
    """Create the campaign, and import all that asking and telling need before the fork."""
    write_pool(folder / "pool.parquet", rows)
    campaign = create_campaign(
        "spam", folder / "pool.parquet", storage=storage, seed=7, in_flight=10**6
    )
    (ask,) = campaign.ask(1)
    campaign.tell(ask.draw, "spam")


def main(seconds: float, stores: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as made, ExitStack() as stack:
        folder = Path(made)
        if "postgres" in stores:
            server = stack.enter_context(run_server(fsync=True))
        for store in stores:
            raw = insert_sqlite if store == "sqlite" else insert_postgres
            for rows in (ROWS, LARGE):
                if store == "sqlite":
                    storage = f"sqlite:///{folder}/levelled-{rows}.db"
                else:
                    storage = server.new_database()
                begin(folder, storage, rows)
                if rows == LARGE:
                    slow_ask(storage, seconds / 2)
                else:
                    measure(label, storage, seconds, f"{store}, ask and tell")
                    make_raw(storage)
                    measure(raw, storage, seconds / 4, f"{store}, raw transactions")


if __name__ == "__main__":
    words = sys.argv[1:]
    main(float(words[0]) if words else 60.0, words[1:] or ["sqlite", "postgres"])
