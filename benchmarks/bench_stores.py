"""Events a second on the disk of this folder, beside Optuna's ask and tell in the same run.

python benchmarks/bench_stores.py

An ask and a tell are two appends, each on the disk before it returns (synchronous = FULL).
"""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

import optuna

from levelled.campaigns.log.records import verify
from levelled.campaigns.stores import Store, open_store

PAIRS = 150  # an ask and a tell each
ROUNDS = 3  # in turn, because other work on the disk comes and goes

LEASED = {"type": "leased", "at": "2026-11-16T09:30:00.123456+00:00", "by": "ann", "draws": [1]}
ANSWERED = {
    "type": "answered",
    "at": "2026-11-16T09:30:41.123456+00:00",
    "by": "ann",
    "draw": 1,
    "label": "spam",
    "note": "x" * 180,
}


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as made:
        yield Path(made)


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def ask_and_tell(store: Store, pairs: int = PAIRS) -> None:
    place = store.count("spam")
    for _ in range(pairs):
        place = store.append("spam", [LEASED], expected=place) + 1
        place = store.append("spam", [ANSWERED], expected=place) + 1


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)")
    yield database
    database.close()


def by_hand(database: sqlite3.Connection) -> None:
    """The same commits with nothing around them: what the disk itself allows."""
    for _ in range(2 * PAIRS):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO events (body) VALUES (?)", ["x" * 450])
        database.execute("COMMIT")


def optuna_ask_and_tell(study: optuna.Study) -> None:
    for _ in range(PAIRS):
        study.tell(study.ask(), 0.5)


def report_pairs() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    times: dict[str, list[float]] = {"Levelled": [], "Optuna": [], "sqlite3 by hand": []}
    with folder() as at, open_store(at / "levelled.db") as store, plain(at / "plain.db") as hand:
        study = optuna.create_study(storage=f"sqlite:///{at}/optuna.db")
        for _ in range(ROUNDS):
            times["Levelled"].append(seconds(lambda: ask_and_tell(store)))
            times["Optuna"].append(seconds(lambda: optuna_ask_and_tell(study)))
            times["sqlite3 by hand"].append(seconds(lambda: by_hand(hand)))
    rate = {name: PAIRS / median(taken) for name, taken in times.items()}
    for name, pairs in rate.items():
        print(f"{name}: {pairs:.0f} ask+tell a second (median of {ROUNDS} rounds of {PAIRS})")
    print(f"  Levelled / Optuna: {rate['Levelled'] / rate['Optuna']:.1f} (bar: 1)")
    print(f"  Levelled / sqlite3 by hand: {rate['Levelled'] / rate['sqlite3 by hand']:.2f}")


def report_overhead(n_events: int = 3000) -> None:
    """What an append costs beside the disk."""
    with folder() as at, open_store(at / "levelled.db") as store:
        with store._database.reading() as connection:  # the one connection there is
            connection.execute("PRAGMA synchronous = OFF")
        each = seconds(lambda: ask_and_tell(store, n_events // 2)) / n_events
    print(f"an append without waiting for the disk: {each * 1e6:.0f} microseconds")


def report_length(n_events: int = 100_000) -> None:
    with folder() as at, open_store(at / "levelled.db") as store:
        ask_and_tell(store, 500)  # the log of SQLite is written anew from here on, not extended
        few = median([seconds(lambda: ask_and_tell(store, 20)) for _ in range(15)])
        place = store.count("spam")
        took = seconds(lambda: store.append("spam", [ANSWERED] * n_events, expected=place))
        print(f"{n_events:,} events in one append: {n_events / took:,.0f} events a second")
        ask_and_tell(store, 500)
        many = median([seconds(lambda: ask_and_tell(store, 20)) for _ in range(15)])
        print(f"an append after {n_events:,} events / after 1,000: {many / few:.2f}")
        end = store.count("spam") - 10
        everything = seconds(lambda: store.events("spam"))
        tail = min(seconds(lambda: store.events("spam", end)) for _ in range(20))
        print(f"reading all: {n_events / everything:,.0f} events a second; ", end="")
        print(f"the last 10: {tail * 1e6:.0f} microseconds")
        events = store.events("spam")
        verified = min(seconds(lambda: verify(events)) for _ in range(5))
        parsed = min(
            seconds(lambda: [json.loads(one.body or "") for one in events]) for _ in range(5)
        )
        print(f"verifying: {n_events / verified:,.0f} events a second; ", end="")
        print(
            f"{verified * 50_000 / len(events):.2f} s for 50,000; "
            f"{verified / parsed:.2f} of the time to parse them"
        )
        names = min(seconds(store.names) for _ in range(5))
        print(f"listing the campaigns: {names * 1e3:.1f} ms")


if __name__ == "__main__":
    report_pairs()
    report_overhead()
    report_length()
