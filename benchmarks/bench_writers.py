"""Many labellers at once on each store: how many steps each gets, and how long a step takes.

python benchmarks/bench_writers.py [seconds] [stores]
python benchmarks/bench_writers.py 60 --writers 50

A step is an ask or a tell. Another process audits the campaign again and again meanwhile, and must
find nothing. Raw transactions of as many processes are measured beside it: one row,
on the disk before the next begins. Last, another process asks on a pool of 200,000 rows, for which
it has to open the pool and to draw, while the others work.
"""

import argparse
import multiprocessing
import sqlite3
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

ROWS, LARGE = 20_000, 200_000

Step = tuple[str, Callable[[], object]]
"""A name and what to do."""


def label(storage: str, name: str) -> Iterator[Step]:
    """Asks and tells in turn."""
    campaign = load_campaign("spam", storage=storage)
    while True:
        asks: list[Ask] = []
        yield "ask", partial(_ask, campaign, name, asks)
        yield "tell", partial(_tell, campaign, name, asks)


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
        yield "insert", insert


def insert_postgres(storage: str, name: str) -> Iterator[Step]:
    """Raw transactions, which do not wait for each other."""
    import psycopg

    connection = psycopg.connect(storage, autocommit=True)
    while True:
        insert = partial(connection.execute, "INSERT INTO raw (body) VALUES (%s)", [name * 100])
        yield "insert", insert


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
    waits: list[tuple[str, float]] = []
    errors = []
    stream = steps(storage, name)
    kind, step = next(stream)
    barrier.wait(120)
    end = perf_counter() + seconds
    while (start := perf_counter()) < end:
        try:
            step()
        except Exception as failed:  # noqa: BLE001
            errors.append(str(failed))
        waits.append((kind, perf_counter() - start))
        kind, step = next(stream)
    out.send((waits, errors))


def audit_often(storage: str, seconds: float) -> None:
    end, n, found = perf_counter() + seconds, 0, list[str]()
    while perf_counter() < end:
        found += load_campaign("spam", storage=storage).audit()
        n += 1
    print(f"  {n} audits meanwhile found {len(found)} differences {found[:3]}", flush=True)


def measure(
    steps: Callable[[str, str], Iterator[Step]],
    storage: str,
    seconds: float,
    what: str,
    *,
    writers: int,
) -> None:
    fork = multiprocessing.get_context("fork")
    barrier, pipes, workers = fork.Barrier(writers), [], []
    for i in range(writers):
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
    errors = [error for _, part in parts for error in part]
    print(
        f"{what}: {counts.sum() / seconds:.0f} steps a second, {len(errors)} errors; of {writers} "
        f"the slowest took {counts.min()} steps and the fastest {counts.max()}, slowest / mean "
        f"{counts.min() / counts.mean():.2f}",
        flush=True,
    )
    for kind in sorted({kind for waits, _ in parts for kind, _ in waits}):
        times = [wait * 1e3 for waits, _ in parts for one, wait in waits if one == kind]
        p50, p99 = np.quantile(times, [0.5, 0.99])
        print(
            f"  {kind}: p50 {p50:.0f} ms, p99 {p99:.0f} ms ({p99 / p50:.1f} times), longest "
            f"{max(times):.0f} ms",
            flush=True,
        )
    for error in sorted(set(errors))[:3]:
        print(f"  {error}")


def slow_ask(storage: str, seconds: float, writers: int) -> None:
    """Time an ask of a process that has yet to open the pool, while others work."""
    fork = multiprocessing.get_context("fork")

    def ask_often() -> None:
        time.sleep(seconds / 4)
        for _ in range(3):
            start = perf_counter()
            asks = load_campaign("spam", storage=storage).ask(60, owner="slow")
            print(f"  an ask for {len(asks)} by another process: {perf_counter() - start:.1f} s")

    asking = fork.Process(target=ask_often)
    asking.start()
    measure(label, storage, seconds, "  beside it, ask and tell", writers=writers)
    asking.join(60)


def begin(folder: Path, storage: str, rows: int) -> None:
    """Create the campaign, and import all that asking and telling need before the fork."""
    write_pool(folder / "pool.parquet", rows)
    campaign = create_campaign(
        "spam", folder / "pool.parquet", storage=storage, seed=7, in_flight=10**6
    )
    (ask,) = campaign.ask(1)
    campaign.tell(ask.draw, "spam")


def main(seconds: float, stores: list[str], writers: int) -> None:
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
                    slow_ask(storage, seconds / 2, writers)
                else:
                    measure(label, storage, seconds, f"{store}, ask and tell", writers=writers)
                    auditing = multiprocessing.get_context("fork").Process(
                        target=audit_often, args=(storage, seconds / 4)
                    )
                    auditing.start()
                    what = f"{store}, ask and tell beside audits"
                    measure(label, storage, seconds / 4, what, writers=writers)
                    auditing.join()
                    make_raw(storage)
                    what = f"{store}, raw transactions"
                    measure(raw, storage, seconds / 4, what, writers=writers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--writers", type=int, default=16)
    chosen = parser.parse_args()
    main(chosen.seconds, chosen.stores, chosen.writers)
