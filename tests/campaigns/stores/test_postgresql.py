"""The store on a real PostgreSQL server, and what is particular to a server."""

import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.stores import StoreContract
from levelled.campaigns import backup, copy
from levelled.campaigns.log.records import GENESIS, StoredEvent, hash_of, verify
from levelled.campaigns.stores import Store, database, open_store, place_of, postgresql, upgrade
from levelled.campaigns.stores.database import VERSION
from levelled.errors import ConflictError, MissingExtraError, StorageError
from postgres_server import PASSWORD, PostgresServer

WRITER = [sys.executable, str(Path(__file__).with_name("writer.py"))]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


class TestPostgreSQL(StoreContract):
    """All that a store promises, and below what is particular to a server."""

    @pytest.fixture
    def store(self, postgres: PostgresServer) -> Iterator[Store]:
        with open_store(postgres.new_schema()) as opened:
            yield opened


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def terminate(server: PostgresServer, url: str) -> None:
    """End every connection to a database, as a server that is stopped does."""
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name_of(url)}' AND pid <> pg_backend_pid()"
    )


def test_what_was_written_is_there_after_closing_and_opening(url: str) -> None:
    with open_store(url) as store:
        store.append("digits", [{"step": 0}], expected=0)
        before = store.events("digits")
    with open_store(url, create=False) as store:
        assert store.events("digits") == before


def test_sixteen_processes_neither_lose_nor_repeat_an_event(url: str) -> None:
    done = subprocess.run(
        [*WRITER, url, "16", "6"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with open_store(url, create=False) as store:
        events = store.events("shared")
    assert verify(events) is None
    assert sorted(map(int, done.stdout.split())) == list(range(96))


def test_a_lost_connection_is_made_again(postgres: PostgresServer, url: str, store: Store) -> None:
    store.append("digits", [{"step": 0}], expected=0)
    for step in range(1, 4):
        terminate(postgres, url)
        assert store.count("digits") == step
        terminate(postgres, url)
        assert store.append("digits", [{"step": step}], expected=step) == step
    terminate(postgres, url)
    assert verify(store.events("digits")) is None


def test_a_connection_lost_while_deciding_stores_the_events_once(
    postgres: PostgresServer, url: str, store: Store
) -> None:
    calls = 0

    def decide(
        read: Callable[[int], list[StoredEvent]], _: datetime
    ) -> tuple[Sequence[dict[str, Any]], int]:
        nonlocal calls
        calls += 1
        seen = len(read(0))
        if calls == 1:
            terminate(postgres, url)
        return [{"call": calls}], seen

    assert store.update("digits", decide) == 0
    assert [stored.event for stored in store.events("digits")] == [{"call": 2}]


def lose_the_acknowledgement(
    monkeypatch: pytest.MonkeyPatch,
    server: PostgresServer,
    url: str,
    *,
    when: str,
    meanwhile: Callable[[], object] = list,
) -> None:
    """End the connection of the next append just before or just after its commit."""
    execute = postgresql._Connection.execute
    used: list[bool] = []

    def commit(self: postgresql._Connection, statement: str, *values: Any) -> Any:  # noqa: ANN401
        if used or statement != "COMMIT":
            return execute(self, statement, *values)
        used.append(True)
        if when == "after":
            execute(self, statement)
        terminate(server, url)
        meanwhile()
        return execute(self, "SELECT 1")  # which finds the connection gone

    monkeypatch.setattr(postgresql._Connection, "execute", commit)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_append_whose_acknowledgement_was_lost_is_stored_once(
    postgres: PostgresServer,
    url: str,
    store: Store,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.append("digits", [{"step": 0}], expected=0)
    lose_the_acknowledgement(monkeypatch, postgres, url, when=when)
    assert store.append("digits", [{"step": 1}], expected=1) == 1
    assert [stored.event["step"] for stored in store.events("digits")] == [0, 1]


def test_the_same_event_of_somebody_else_is_not_taken_for_ones_own(
    postgres: PostgresServer, url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append("digits", [{"step": 0}], expected=0)
    with open_store(url) as other:

        def ask_too() -> None:
            other.append("digits", [{"asked": 7}], expected=1)

        lose_the_acknowledgement(monkeypatch, postgres, url, when="before", meanwhile=ask_too)
        with pytest.raises(ConflictError):
            store.append("digits", [{"asked": 7}], expected=1)
    assert [stored.event for stored in store.events("digits")] == [{"step": 0}, {"asked": 7}]


def test_a_server_that_comes_back_is_waited_for_and_one_that_does_not_is_named(
    postgres: PostgresServer, url: str
) -> None:
    with open_store(url) as store:
        store.append("digits", [{"step": 0}], expected=0)
        postgres.kill()
        back = threading.Timer(0.5, postgres.start)
        back.start()
        assert store.append("digits", [{"step": 1}], expected=1) == 1
        back.join()
        postgres.stop()
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(database, "PATIENCE", 0.3)
                with pytest.raises(StorageError, match=r"reached.*Nothing"):
                    store.append("digits", [{"step": 2}], expected=2)
                with pytest.raises(StorageError, match="cannot be reached") as caught:
                    open_store(url)
            assert_no_secret(caught.value)
        finally:
            postgres.start()
        assert store.count("digits") == 2


def assert_no_secret(error: BaseException) -> None:
    """The password is in no message of the chain, and the message is one line."""
    assert "\n" not in str(error)
    trace = "".join(traceback.format_exception(error))
    assert PASSWORD not in trace
    assert "s3cr" not in trace


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("/test_", "/missing_"), r'"missing_\w+".*createdb'),
        (("team:", "stranger:"), r"password.*stranger"),
        (("s3cr", "wrong"), r"password.*team.*\.pgpass"),
        (("127.0.0.1", "no.such.host.invalid"), "resolve host"),
    ],
)
def test_an_address_that_leads_nowhere_is_explained_without_its_password(
    url: str, change: tuple[str, str], told: str
) -> None:
    for use in (open_store, upgrade):
        with pytest.raises(StorageError, match=told) as caught:
            use(url.replace(*change))
        assert_no_secret(caught.value)


def test_a_port_without_a_server_is_named(url: str, postgres: PostgresServer) -> None:
    with pytest.raises(StorageError, match="Connection refused") as caught:
        open_store(url.replace(str(postgres.port), "1"))
    assert_no_secret(caught.value)


def test_passwords_are_shown_nowhere(url: str, store: Store) -> None:
    assert "s3cr" not in repr(store)
    assert "s3cr" not in place_of(url)
    assert place_of(f"{url}?password=s3cret&sslmode=disable").endswith("?sslmode=disable")
    assert "s3cr" not in place_of("nonsense://ann:s3cret@host/db?password=s3cret")


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'levelled\[postgres\]'"):
        open_store("postgresql://team@host/levelled")


def test_a_database_in_which_nobody_may_create_tables_is_explained(
    postgres: PostgresServer, url: str
) -> None:
    postgres.execute("CREATE ROLE reader LOGIN PASSWORD 'reads'")
    try:
        with pytest.raises(StorageError, match=r"reader.*GRANT ALL"):
            open_store(url.replace("team:s3cr%3At%2F%40%C3%BC", "reader:reads"))
    finally:
        postgres.execute("DROP ROLE reader")


def test_an_empty_database_is_left_empty_where_campaigns_are_expected(
    postgres: PostgresServer, url: str
) -> None:
    with pytest.raises(StorageError, match="no campaigns"):
        open_store(url, create=False)
    assert postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_database_of_something_else_is_left_alone(postgres: PostgresServer, url: str) -> None:
    postgres.execute("CREATE TABLE trials (number int)", name_of(url))
    with pytest.raises(StorageError, match=r"Levelled.*trials"):
        open_store(url)


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    try:
        with pytest.raises(StorageError, match="LATIN1"):
            open_store(postgres.url("latin"))
    finally:
        postgres.execute("DROP DATABASE latin WITH (FORCE)")


OLDEST = """
    CREATE TABLE levelled_version (version_num VARCHAR(32) PRIMARY KEY);
    INSERT INTO levelled_version VALUES ('0001');
    CREATE TABLE events (
        campaign VARCHAR(200), seq INTEGER, prev_hash VARCHAR(64) NOT NULL,
        hash VARCHAR(64) NOT NULL, body TEXT NOT NULL, PRIMARY KEY (campaign, seq)
    );
"""


def test_an_older_database_is_refused_until_it_is_upgraded(
    postgres: PostgresServer, url: str
) -> None:
    for statement in OLDEST.split(";")[:-1]:
        postgres.execute(statement, name_of(url))
    with pytest.raises(StorageError, match="storage upgrade --storage") as caught:
        open_store(url)
    assert_no_secret(caught.value)
    body = '{"at":"2026-11-17T10:00:00+00:00","type":"drawn"}'
    row = f"('digits', 0, '{GENESIS}', '{hash_of(GENESIS, body)}', '{body}')"
    postgres.execute(f"INSERT INTO events VALUES {row}", name_of(url))
    assert upgrade(url) == ("0001", VERSION, None)
    with open_store(url) as store:
        store.append("digits", [{}], expected=1)
        assert verify(store.events("digits")) is None
        assert [one.body for one in store.events("digits", draws=False)] == [None, "{}"]


def test_a_campaign_moves_to_a_server_and_back_with_its_hashes(url: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "from.db") as store:
        store.append("digits", [{"label": "a\x00b ü"}, {"step": 1}], expected=0)
        assert copy(tmp_path / "from.db", url) == ["digits"]
        store.append("digits", [{"step": 2}], expected=2)
        assert copy(tmp_path / "from.db", url) == ["digits"]
        assert copy(tmp_path / "from.db", url) == []
        before = store.events("digits")
    assert backup(url, tmp_path / "safe.db") == tmp_path / "safe.db"
    for place in (url, tmp_path / "safe.db"):
        with open_store(place) as store:
            assert store.events("digits") == before
    with pytest.raises(StorageError, match="a backup replaces nothing"):
        backup(url, tmp_path / "safe.db")


def test_two_processes_may_make_the_tables_at_once(url: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        for store in threads.map(open_store, [url] * 8):
            store.close()


def test_a_watcher_hears_of_new_events_at_once(url: str, store: Store) -> None:
    with store.watching("digits") as wait:
        wait(30)  # begins to listen
        for expected, name in enumerate(["digits", "digits"]):
            store.append("other", [{}], expected=expected)
            threading.Timer(
                0.1, store.append, args=(name, [{}]), kwargs={"expected": expected}
            ).start()
            start = time.monotonic()
            wait(300)
            assert time.monotonic() - start < 200  # and not the 300 s after which it looks anyway
            assert store.count("digits") == expected + 1


def test_a_watcher_that_lost_its_connection_listens_again(
    postgres: PostgresServer, url: str, store: Store
) -> None:
    with store.watching("digits") as wait:
        wait(0.01)
        terminate(postgres, url)
        wait(0.01)  # finds the connection gone
        wait(0.01)  # listens again, and returns so that the caller looks
        store.append("digits", [{}], expected=0)
        wait(30)


def test_turns_come_in_the_order_of_arrival(
    postgres: PostgresServer, url: str, store: Store
) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    def append(writer: int) -> None:
        store.update("digits", lambda read, _: ([{"by": writer}], len(read(0))))

    with ThreadPoolExecutor(8) as threads, store._database.turn("digits"):
        for writer in range(8):
            threads.submit(append, writer)
            while postgres.execute(waiting, name_of(url)) != [(writer + 1,)]:
                time.sleep(0.01)
    assert [stored.event["by"] for stored in store.events("digits")] == list(range(8))


def test_somebody_who_keeps_the_turn_too_long_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store._database.turn("digits"):
        monkeypatch.setattr(database, "PATIENCE", 0.05)
        with (
            ThreadPoolExecutor(1) as threads,
            pytest.raises(StorageError, match=r"busy.*Nothing"),
        ):
            threads.submit(store.append, "digits", [{}], expected=0).result()


def test_a_connection_that_is_in_use_when_the_store_is_closed_is_closed_after_its_use(
    postgres: PostgresServer,
) -> None:
    store = open_store(postgres.new_database())
    with store._database.reading() as connection:
        driver: Any = connection.driver  # type: ignore[attr-defined]
        store.close()
        assert not driver.closed
    assert driver.closed
    store.close()
