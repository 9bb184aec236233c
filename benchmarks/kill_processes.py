"""Kill labellers, and the PostgreSQL server, in the middle of their work; then check what is left.

python benchmarks/kill_processes.py sqlite --rounds 200 --processes 8
python benchmarks/kill_processes.py postgres --rounds 200 --processes 8

In each round the processes ask and tell as fast as they can and are killed (SIGKILL) after a random
time; on PostgreSQL the server is killed too in every fourth round. Then all that was acknowledged
must be in the log once (`histories.py`), and nobody may have got an item that was out. At the end
the rest is labelled (an item that nobody can get would be noticed), and the audit must pass.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from histories import Witness, check_history, read_steps
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.stores import open_store
from levelled.errors import StorageError
from postgres_server import PostgresServer, run_server

__all__ = ["kill_rounds"]


def write_pool(path: Path, n: int) -> None:
    chance = np.random.default_rng(0).beta(0.6, 0.9, n)
    ids = [f"r{i}" for i in range(n)]
    pq.write_table(pa.table({"id": ids, "proba_ham": 1 - chance, "proba_spam": chance}), path)


def open_campaign(storage: str) -> Campaign | None:
    """The campaign; None while the server is down."""
    try:
        return load_campaign("spam", storage=storage)
    except StorageError:
        return None


def label_forever(storage: str, witness: Witness) -> None:
    """Ask and tell until the process is killed; write down each step."""
    with witness.reporting():
        while (campaign := open_campaign(storage)) is None:
            time.sleep(0.05)
        while True:
            for ask in campaign.ask(2, owner=witness.name):
                witness.write("asked", ask.draw, "")
                witness.write("telling", ask.draw, "spam")
                campaign.tell(ask.draw, "spam", owner=witness.name)
                witness.write("told", ask.draw, "spam")


def run_round(
    storage: str, folder: Path, processes: int, seconds: float, server: PostgresServer | None
) -> None:
    """Let processes work and kill them; then kill and start the server, if it is given."""
    fork = multiprocessing.get_context("fork")
    before = count_told(folder)
    workers = [
        fork.Process(target=label_forever, args=(storage, Witness(folder, f"w{i}")))
        for i in range(processes)
    ]
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 60
    while count_told(folder) < before + processes:
        assert time.monotonic() < deadline, "nobody could work"
        time.sleep(0.01)
    time.sleep(seconds)
    if server is not None:
        server.kill()
        time.sleep(0.02)
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join()
    if server is not None:
        server.start()


def count_told(folder: Path) -> int:
    return sum(step[0] == "told" for step in read_steps(folder))


def check_log(storage: str, folder: Path) -> tuple[int, int]:
    """Check the log against what was acknowledged; returns the number of events and of labels."""
    outcome = check_history(storage, "spam", folder)
    assert outcome.is_sound, outcome.complaints()
    with open_store(storage, create=False) as store:
        events = store.events("spam")
    told = set[int]()
    out: dict[int, tuple[str, datetime]] = {}
    for event in (stored.event for stored in events):
        at = datetime.fromisoformat(event["at"])
        if event["type"] == "leased":
            for draw in event["draws"]:
                owner, until = out.get(draw, (event["by"], at))
                assert owner == event["by"] or until <= at, f"draw {draw} was out and given away"
                out[draw] = event["by"], datetime.fromisoformat(event["until"])
        elif event["type"] == "answered":
            told.add(event["draw"])
    return len(events), len(told)


def finish(campaign: Campaign) -> int:
    """Label what is left, and return how many items that took."""
    labelled, deadline = 0, time.monotonic() + 10 * campaign.settings.lease_seconds
    while campaign.state.n_settled < campaign.settings.last_draw:
        asks = campaign.ask(200, owner="last")
        if not asks:
            assert time.monotonic() < deadline, "an item is stranded"
            time.sleep(0.2)
        campaign.tell_all([{"draw": ask.draw, "label": "ham"} for ask in asks], owner="last")
        labelled += len(asks)
    return labelled


def kill_rounds(
    storage: str,
    folder: Path,
    *,
    rounds: int,
    processes: int,
    lease: int,
    server: PostgresServer | None = None,
    seed: int = 0,
) -> str:
    """A sentence on what was done; an AssertionError if something was lost, doubled or stranded.

    `lease` is the number of seconds that an item is kept for a labeller, who may be dead.
    """
    rng, size = np.random.default_rng(seed), 100 + 60 * rounds * processes
    write_pool(folder / "pool.parquet", size)
    campaign = create_campaign(
        "spam", folder / "pool.parquet", storage=storage, seed=1, lease_seconds=lease, in_flight=500
    )
    campaign.ask(1, owner="first")  # imports all that labellers need, once
    events = labels = 0
    for round_ in range(rounds):
        kills_server = server is not None and round_ % 4 == 3
        seconds = float(rng.uniform(0.02, 0.5))
        run_round(storage, folder, processes, seconds, server if kills_server else None)
        events, labels = check_log(storage, folder)
        if rounds > 10 and round_ % 10 == 9:
            print(f"round {round_ + 1}: {events} events, {labels} labels", flush=True)
    campaign = load_campaign("spam", storage=storage)
    campaign.change(budget=campaign.state.n_asked + 50)
    left = finish(campaign)
    assert campaign.audit() == []
    return (
        f"{rounds} rounds, {rounds * processes} kills: {events} events, {labels} labels, nothing "
        f"lost, doubled or stranded; {left} more items labelled; the audit passes"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", choices=["sqlite", "postgres"])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=8)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kill-")))
        server = None
        storage = f"sqlite:///{folder}/levelled.db"
        if chosen.store == "postgres":
            server = stack.enter_context(run_server(fsync=True))
            storage = server.new_database()
        start = time.monotonic()
        outcome = kill_rounds(
            storage,
            folder,
            rounds=chosen.rounds,
            processes=chosen.processes,
            lease=10,
            server=server,
        )
        print(f"{chosen.store}: {outcome} ({time.monotonic() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
