import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.pool import ConnectionPoolEntry

from contracts.stores import StoreContract
from levelled.campaigns.log.hashing import verify
from levelled.campaigns.stores import SQLStore, database, open_store, sqlite
from levelled.errors import StorageError

WRITER = [sys.executable, str(Path(__file__).with_name("writer.py"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "levelled.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLStore]:
    with open_store(path) as opened:
        yield opened


class TestSQLite(StoreContract):
    """All that a store promises, and below what is particular to a file."""


def settings(monkeypatch: pytest.MonkeyPatch, *pragmas: str) -> None:
    """Let every connection that is opened from now on begin with `pragmas`."""
    before = sqlite._on_connect

    def on_connect(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
        before(connection, entry)
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    monkeypatch.setattr(sqlite, "_on_connect", on_connect)


def test_what_was_written_is_there_after_closing_and_opening(path: Path) -> None:
    with open_store(path) as store:
        store.append("digits", [{"step": 0}], expected=0)
        before = store.events("digits")
    with open_store(path) as store:
        assert store.events("digits") == before
        store.append("digits", [{"step": 1}], expected=1)
        assert verify(store.events("digits")) is None


def test_a_closed_store_leaves_one_file(path: Path) -> None:
    with open_store(path) as store:
        store.append("digits", [{}], expected=0)
    assert list(path.parent.iterdir()) == [path]


def test_commits_wait_for_the_disk_and_readers_do_not_wait_for_writers(store: SQLStore) -> None:
    with store._database.writing() as writer:
        assert writer.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert writer.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert store.names() == []


def test_two_stores_on_one_file_see_each_other(path: Path, store: SQLStore) -> None:
    with open_store(path) as other:
        store.append("digits", [{"step": 0}], expected=0)
        other.append("digits", [{"step": 1}], expected=1)
        assert store.events("digits") == other.events("digits")


def test_a_change_of_folder_does_not_lead_to_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///levelled.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        names: list[list[str]] = []
        store.append("digits", [{}], expected=0)
        with store._database.reading():  # so that another thread needs another connection
            thread = threading.Thread(target=lambda: names.append(store.names()))
            thread.start()
            thread.join()
        assert names == [["digits"]]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_sixteen_processes_neither_lose_nor_repeat_an_event(path: Path) -> None:
    done = subprocess.run(
        [*WRITER, str(path), "16", "6"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with open_store(path, create=False) as store:
        events = store.events("shared")
    assert verify(events) is None
    assert sorted(map(int, done.stdout.split())) == list(range(96))
    for writer in range(16):
        steps = [stored.event["step"] for stored in events if stored.event["by"] == writer]
        assert steps == list(range(6))


def test_a_writer_that_is_killed_loses_nothing_it_has_acknowledged(path: Path) -> None:
    acknowledged = 0
    for _ in range(4):
        with subprocess.Popen([*WRITER, str(path), "1", "0"], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(15)]
            writer.kill()
            lines += writer.stdout.readlines()
        last = int(lines[-1]) if lines[-1].endswith(b"\n") else int(lines[-2])
        with open_store(path, create=False) as store:
            events = store.events("shared")
        assert verify(events) is None
        assert acknowledged < last < len(events) <= last + 2  # one may be stored but not yet said
        acknowledged = last


def test_a_fork_may_go_on_writing(store: SQLStore) -> None:
    store.append("digits", [{"by": "parent"}], expected=0)
    pool = store._database.engine.pool
    with store._database.write_lock():  # as if another thread were writing at this moment
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                store.append("digits", [{"by": "child"}], expected=1)
                assert store._database.engine.pool is not pool
                os._exit(0)
            finally:
                os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.append("digits", [{"by": "parent"}], expected=2)
    writers = [stored.event["by"] for stored in store.events("digits")]
    assert writers == ["parent", "child", "parent"]
    assert verify(store.events("digits")) is None


def test_a_new_file_waits_until_it_can_be_written_ahead(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # as another process that is about to make the tables
    leaving = threading.Timer(0.2, other.close)
    leaving.start()
    with open_store(path) as store, store._database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    leaving.join()


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_is_gone_takes_no_more_events(path: Path, store: SQLStore, change: str) -> None:
    store.append("digits", [{}], expected=0)
    path.unlink()
    if change == "replaced":
        path.touch()
    with pytest.raises(StorageError, match="moved, replaced or deleted while it was in use"):
        store.append("digits", [{}], expected=1)


def test_a_file_somebody_else_keeps_locked_is_said_to_be_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with open_store(path) as store:
        store.append("digits", [{}], expected=0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"is locked: another process .* try again"):
            store.append("digits", [{}], expected=1)
        assert store.count("digits") == 1
        other.close()
        assert store.append("digits", [{}], expected=1) == 1


def test_a_file_that_must_not_be_written_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(path) as store:
        store.append("digits", [{}], expected=0)
    settings(monkeypatch, "query_only = ON")
    with open_store(path) as store:
        assert store.count("digits") == 1
        with pytest.raises(StorageError, match="read-only"):
            store.append("digits", [{}], expected=1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_said_to_be_read_only(path: Path) -> None:
    path.parent.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_store(path)


def test_a_full_disk_stores_all_or_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, "max_page_count = 20")
    with open_store(path) as store:
        store.append("digits", [{}], expected=0)
        with pytest.raises(StorageError, match="disk is full"):
            store.append("digits", [{"text": "x" * 10_000}] * 20, expected=1)
        assert store.append("digits", [{}], expected=1) == 1
        assert verify(store.events("digits")) is None


@pytest.mark.parametrize(
    "body", ["{", "", "[1]", "null", '{"a":1}x', "[" * 100_000, 7, b"\xff\xfe", b"\x00"]
)
def test_an_event_that_something_else_has_overwritten_is_named(
    path: Path, store: SQLStore, body: str | bytes | int
) -> None:
    store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE events SET body = ? WHERE seq = 1", [body])
    other.close()
    with pytest.raises(StorageError, match=r"Event 1 of 'digits' .* cannot be read") as caught:
        store.events("digits")
    assert "\n" not in str(caught.value)


def test_a_changed_event_is_found_by_its_hash(path: Path, store: SQLStore) -> None:
    store.append("digits", [{"label": "spam"}, {"label": "spam"}], expected=0)
    with sqlite3.connect(path) as other:
        other.execute("""UPDATE events SET body = '{"label":"ham"}' WHERE seq = 1""")
    other.close()
    found = verify(store.events("digits"))
    assert found is not None
    assert found.seq == 1
