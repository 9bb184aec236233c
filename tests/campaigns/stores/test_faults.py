"""The smoke size of `benchmarks/inject_faults.py`, whose 500 rounds run by its command.

Then what a labeller is told, and what is stored, where nobody can know whether a step was stored.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faulty_network as network
from faulty_disk import compile_library, why_not
from histories import Step, compare
from kill_processes import write_pool
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.log.records import GENESIS, StoredEvent, hash_of
from levelled.campaigns.stores import database, open_store
from levelled.errors import StorageError
from postgres_server import PostgresServer

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"

needs_disk = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def inject(*words: str) -> str:
    command = [sys.executable, str(BENCHMARKS / "inject_faults.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_disk
def test_faults_of_disk_network_and_clock_lose_and_double_nothing_in_a_file() -> None:
    faults = "sync,full,power,sync-power,clock,swallow"
    table = inject("sqlite", "--rounds", "6", "--faults", faults)
    assert "| sqlite | all | 6 |" in table


@needs_disk
def test_faults_of_disk_network_and_clock_lose_and_double_nothing_on_a_server(
    postgres: PostgresServer,
) -> None:
    del postgres  # but there is one
    faults = "sync,full,power,clock,cut,stall,swallow"
    table = inject("postgres", "--rounds", "7", "--faults", faults)
    assert "| postgres | all | 7 |" in table


def test_the_checker_notices_what_is_lost_doubled_and_invented() -> None:
    def stored(*labels: tuple[str, int, str]) -> list[StoredEvent]:
        from levelled.campaigns.log.records import canonical

        events, before = [], GENESIS
        for seq, (by, draw, label) in enumerate(labels):
            event = {"type": "answered", "by": by, "draw": draw, "label": label}
            body = canonical(event)
            events.append(StoredEvent(seq, before, hash_of(before, body), event, body))
            before = events[-1].hash
        return events

    steps: list[Step] = [("telling", "ann", 1, "ham"), ("told", "ann", 1, "ham")]
    good = ("ann", 1, "ham")
    assert compare(stored(good), steps, []).is_sound
    assert compare(stored(), steps, []).lost
    assert compare(stored(("ann", 1, "spam")), steps, []).lost
    assert compare(stored(good, good), steps, []).doubled
    assert compare(stored(good, ("ann", 2, "ham")), steps, []).invented
    assert compare(stored(good, good)[1:], steps, []).broken
    assert compare(stored(good), [*steps, ("refused", "ann", 1, "a\nb")], []).broken


FAILING = """
import sys
from faulty_disk import FaultyDisk
from levelled.campaigns import load_campaign
from levelled.errors import StorageError
from pathlib import Path

disk = FaultyDisk(Path(sys.argv[1]))
campaign = load_campaign("spam", storage=f"sqlite:///{disk.folder}/levelled.db")
(ask,) = campaign.ask(1, owner="ann")
disk.set(**{sys.argv[2]: int(sys.argv[3])})
try:
    campaign.tell(ask.draw, "ham", owner="ann")
except StorageError as refused:
    print(refused)
disk.mend()
campaign.tell(ask.draw, "ham", owner="ann")
"""


@needs_disk
@pytest.mark.parametrize(
    ("fault", "value", "told"),
    [
        ("failing_sync", "1000000", r"may have.*harmless"),
        ("failing_write", "1000000", r"disk.*Nothing|harmless"),
        ("room", "0", r"full.*Nothing"),
    ],
)
def test_a_disk_that_fails_at_a_label_is_named_and_the_label_can_be_told_again(
    tmp_path: Path, fault: str, value: str, told: str
) -> None:
    import re

    from faulty_disk import FaultyDisk

    disk = FaultyDisk(tmp_path)
    storage = f"sqlite:///{disk.folder}/levelled.db"
    write_pool(tmp_path / "pool.parquet", 100)
    create_campaign("spam", tmp_path / "pool.parquet", storage=storage, seed=1)
    faulty = {"LD_PRELOAD": str(compile_library(tmp_path)), **disk.environment}
    path = os.pathsep.join([str(BENCHMARKS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", FAILING, str(tmp_path), fault, value],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **faulty, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert re.search(told, line), line
    campaign = load_campaign("spam", storage=storage)
    assert [one.label for one in campaign.state.answers.values()] == ["ham"]
    assert campaign.audit() == []


@pytest.fixture
def relay(postgres: PostgresServer) -> Iterator[network.Relay]:
    made = network.Relay(postgres.port, b"COMMIT\0")
    yield made
    made.stop()


@pytest.fixture
def url(postgres: PostgresServer, relay: network.Relay) -> str:
    """The address of a new database behind the relay."""
    return postgres.new_database().replace(f":{postgres.port}/", f":{relay.port}/")


@pytest.fixture
def campaign(url: str, tmp_path: Path) -> Campaign:
    write_pool(tmp_path / "pool.parquet", 100)
    return create_campaign("spam", tmp_path / "pool.parquet", storage=url, seed=1)


def labels(campaign: Campaign) -> list[Any]:
    events = [one.event for one in campaign._log.store.events("spam")]
    return [event["label"] for event in events if event["type"] in ("answered", "amended")]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.5)


@pytest.mark.usefixtures("short")
def test_a_label_whose_acknowledgement_never_comes_may_be_told_again(
    campaign: Campaign, relay: network.Relay
) -> None:
    (ask,) = campaign.ask(1, owner="ann")
    relay.set(network.SWALLOW)
    with pytest.raises(StorageError, match=r"may have.*harmless"):
        campaign.tell(ask.draw, "ham", owner="ann")
    relay.set(network.PASS)
    campaign.tell(ask.draw, "ham", owner="ann")
    assert labels(campaign) == ["ham"]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("mode", [network.CUT, network.STALL])
def test_a_server_out_of_reach_is_given_up_and_nothing_was_stored(
    campaign: Campaign, relay: network.Relay, mode: int
) -> None:
    (ask,) = campaign.ask(1, owner="ann")
    relay.set(mode)
    with pytest.raises(StorageError, match=r"Nothing|harmless"):
        campaign.tell(ask.draw, "ham", owner="ann")
    relay.set(network.PASS)
    campaign.tell(ask.draw, "ham", owner="ann")
    assert labels(campaign) == ["ham"]


@pytest.mark.usefixtures("short")
def test_an_acknowledgement_that_was_lost_is_looked_up_once_the_server_is_back(
    campaign: Campaign, relay: network.Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 30.0)
    (ask,) = campaign.ask(1, owner="ann")
    relay.set(network.SWALLOW)
    back = threading.Timer(0.3, relay.set, [network.PASS])
    back.start()
    campaign.tell(ask.draw, "ham", owner="ann")
    back.join()
    assert labels(campaign) == ["ham"]


def test_labels_are_on_the_disk_also_on_a_server_that_is_set_up_to_be_fast(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    for given, kept in {"off": "local", "on": "on", "remote_apply": "remote_apply"}.items():
        postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = {given}")
        with open_store(url) as store, store._database.turn("digits") as turn:
            assert turn.rows("SHOW synchronous_commit") == [(kept,)]


def test_what_no_fsync_confirmed_may_be_gone_after_a_loss_of_power(tmp_path: Path) -> None:
    from faulty_disk import FaultyDisk

    disk = FaultyDisk(tmp_path)
    path = disk.folder / "file"
    path.write_bytes(b"." * 2048)
    disk.record()
    inode = path.stat().st_ino

    def note(kind: int, sync: int, start: int, data: bytes = b"") -> None:
        import struct

        with (tmp_path / "journal").open("ab") as journal:
            journal.write(struct.pack("=IIQQQ", kind, sync, inode, start, len(data)) + data)

    note(2, 0, 0, b"a" * 512)
    note(4, 1, 0)  # an fsync begins
    note(2, 0, 512, b"b" * 512)
    note(5, 1, 0)  # and ends
    seen = set()
    for seed in range(40):
        left = disk._replay(np.random.default_rng(seed))[inode]
        for write in left.pending:
            left.apply_in_part(write, np.random.default_rng(seed))
        assert left.content[:512] == b"a" * 512
        seen.add(bytes(left.content[512:1024]))
    assert seen == {b"." * 512, b"b" * 512}
