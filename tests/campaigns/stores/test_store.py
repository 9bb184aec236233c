"""Opening, upgrading and copying a storage."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contracts.stores import StoreContract
from levelled.campaigns.log.records import GENESIS, hash_of, verify
from levelled.campaigns.stores import Store, Token, backup, copy, database, open_store, upgrade
from levelled.campaigns.stores.database import VERSION
from levelled.campaigns.stores.postgresql import parse_url
from levelled.campaigns.stores.sqlite import SQLite
from levelled.errors import ConflictError, StorageError

WRITER = [sys.executable, str(Path(__file__).with_name("writer.py"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "levelled.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


class TestSQLite(StoreContract):
    """All that a store promises, and below what is particular to a file."""


def settings(monkeypatch: pytest.MonkeyPatch, *pragmas: str) -> None:
    """Let every connection that is opened from now on begin with `pragmas`."""
    connect = SQLite.connect

    def connect_and_set(self: SQLite) -> sqlite3.Connection:
        connection = connect(self)
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        return connection

    monkeypatch.setattr(SQLite, "connect", connect_and_set)


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


def test_commits_wait_for_the_disk_and_readers_do_not_wait_for_writers(store: Store) -> None:
    with store._database.writing() as writer:
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store.names() == []


def test_two_stores_on_one_file_see_each_other(path: Path, store: Store) -> None:
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


def test_a_fork_may_go_on_writing(store: Store) -> None:
    store.append("digits", [{"by": "parent"}], expected=0)
    idle = [*store._database._idle]
    with store._database.write_lock():  # as if another thread were writing at this moment
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                store.append("digits", [{"by": "child"}], expected=1)
                assert not {*map(id, idle)} & {*map(id, store._database._idle)}
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
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    leaving.join()


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_is_gone_takes_no_more_events(path: Path, store: Store, change: str) -> None:
    store.append("digits", [{}], expected=0)
    path.unlink()
    if change == "replaced":
        path.touch()
    with pytest.raises(StorageError, match=r"replaced.*in use"):
        store.append("digits", [{}], expected=1)


def test_a_file_somebody_else_keeps_locked_is_said_to_be_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with open_store(path) as store:
        store.append("digits", [{}], expected=0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"locked.*try again"):
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
    path: Path, store: Store, body: str | bytes | int
) -> None:
    store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE events SET body = ? WHERE seq = 1", [body])
    other.close()
    with pytest.raises(StorageError, match=r"Event 1.*'digits'.*read") as caught:
        store.events("digits")
    assert "\n" not in str(caught.value)


def test_a_changed_event_is_found_by_its_hash(path: Path, store: Store) -> None:
    store.append("digits", [{"label": "spam"}, {"label": "spam"}], expected=0)
    with sqlite3.connect(path) as other:
        other.execute("""UPDATE events SET body = '{"label":"ham"}' WHERE seq = 1""")
    other.close()
    found = verify(store.events("digits"))
    assert found is not None
    assert found.seq == 1


NO_STORAGE = [
    "",
    "   ",
    "levelled",
    "levelled.txt",
    "://",
    "sqlite",
    "sqlite:",
    "sqlite:/levelled.db",
    "sqlite://",
    "sqlite:///",
    "sqlite:///:memory:",
    "sqlite://levelled.db",
    "sqlite://host/levelled.db",
    "sqlite:///levelled.db?mode=ro",
    "sqlite+aiosqlite:///levelled.db",
    "sqlite:///levelled.db\x00",
    "sqlite:///level\nled.db",
    "sqlite:///\ud800.db",
    "mysql://ann:secret@host/levelled",
    "mysql://ann:a/secret@host/levelled",
    "mysql://ann:a@secret@host/levelled",
    "mysql://host/levelled?password=a@secret",
    "postgresql://ann:secret@host",
    "postgresql://ann:secret@host:port/levelled",
    "postgresql+asyncpg://ann:secret@host/levelled",
    "sqlite://ann:secret@host/levelled",
    "http://ann:secret@host:port:port",
    "C:",
    None,
    7,
]


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("url", NO_STORAGE)
@pytest.mark.parametrize("use", [open_store, upgrade])
def test_a_string_that_names_no_storage_is_answered_with_the_form_of_one(
    url: str, use: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"Write sqlite:///levelled\.db") as caught:
        use(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert files(tmp_path) == []


@pytest.mark.parametrize("password", ["a@s", "a/s", "a?s", "a:s", "a@s@b/c"])
def test_a_password_ends_at_the_last_at_sign(password: str) -> None:
    parsed = parse_url(f"postgresql://team:{password}@host:5432/db?sslrootcert=a@b")
    assert parsed is not None
    options, place = parsed
    assert place == "postgresql://team@host:5432/db?sslrootcert=a%40b"
    assert (options["password"], options["host"], options["port"]) == (password, "host", "5432")


@pytest.mark.parametrize(
    "url", ["sqlite:///my.db", "my.db", "./my.db", "sqlite:///./my.db", Path("my.db")]
)
def test_a_file_in_this_folder_has_several_names(
    url: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(url) as store:
        store.append("digits", [{}], expected=0)
    with open_store(f"sqlite:///{tmp_path}/my.db", create=False) as store:
        assert store.names() == ["digits"]


@pytest.mark.parametrize("name", ["a b.db", "ü.db", "100%20.db", "a#b.db", "a:b@c.db", "file:x.db"])
def test_a_path_is_taken_as_it_is_written(tmp_path: Path, name: str) -> None:
    with open_store(f"sqlite:///{tmp_path}/{name}"):
        pass
    assert files(tmp_path) == [name]


def test_the_default_is_a_file_in_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store() as store:
        assert repr(store) == "<store at sqlite:///levelled.db>"
    assert files(tmp_path) == ["levelled.db"]


def test_a_database_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no database"):
        open_store(tmp_path / "levelled.db", create=False)
    assert files(tmp_path) == []


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "levelled.db").touch()
    with open_store(tmp_path / "levelled.db") as store:
        assert store.names() == []


def make(path: Path, kind: str) -> None:
    if kind == "another database":
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE trials (number INTEGER)")
        other.close()
        return
    with open_store(path) as store:
        store.append("digits", [{"text": "x" * 500}] * 50, expected=0)
    whole = path.read_bytes()
    contents = {
        "a short text": b"hello",
        "a long text": b"id,label\n1,spam\n" * 1000,
        "a Parquet file": b"PAR1" + bytes(5000),
        "half a database": whole[: len(whole) // 2],
        "a piece of its head": whole[:50],
        "a damaged database": whole[:4096] + b"\xa5" * (len(whole) - 4096),
    }
    path.write_bytes(contents[kind])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("a short text", "is not a database"),
        ("a long text", "is not a database"),
        ("a Parquet file", "is not a database"),
        ("half a database", "is damaged"),
        ("a piece of its head", r"damaged|not a database"),
        ("a damaged database", "is damaged"),
        ("another database", r"Levelled.*trials"),
    ],
)
def test_a_file_that_is_no_storage_is_left_as_it_is(tmp_path: Path, kind: str, told: str) -> None:
    path = tmp_path / "levelled.db"
    make(path, kind)
    before = path.read_bytes()
    for use in (open_store, upgrade):
        with pytest.raises(StorageError, match=told) as caught:
            use(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert files(tmp_path) == ["levelled.db"]


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name, told in {
        "folder.db": "is a folder",
        "pipe.db": "is not a file",
        "missing/levelled.db": "no folder",
        "file/levelled.db": "no folder",
        "x" * 300 + ".db": "too long",
    }.items():
        with pytest.raises(StorageError, match=told):
            open_store(tmp_path / name)
    with pytest.raises(StorageError, match="is not a file"):
        open_store("sqlite:////dev/null")


OLDEST = """
    CREATE TABLE levelled_version (
        version_num VARCHAR(32) NOT NULL,
        CONSTRAINT levelled_version_pkc PRIMARY KEY (version_num)
    );
    INSERT INTO levelled_version VALUES ('0001');
    CREATE TABLE events (
        campaign VARCHAR(200) NOT NULL,
        seq INTEGER NOT NULL,
        prev_hash VARCHAR(64) NOT NULL,
        hash VARCHAR(64) NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (campaign, seq)
    );
"""  # as version 0001 wrote it, not as today's code would


@pytest.fixture
def oldest(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as database:
        database.executescript(OLDEST)
        prev_hash = GENESIS
        for seq in range(3):
            body = f'{{"step":{seq}}}'
            row = ("digits", seq, prev_hash, prev_hash := hash_of(prev_hash, body), body)
            database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)
    database.close()
    return path


def test_an_older_database_is_refused_until_it_is_upgraded_and_keeps_its_events(
    oldest: Path,
) -> None:
    before = oldest.read_bytes()
    with pytest.raises(StorageError, match=r"upgrade --storage sqlite:.*old\.db"):
        open_store(oldest)
    assert oldest.read_bytes() == before
    assert upgrade(oldest) == ("0001", VERSION, oldest.with_name("old.version-0001.db"))
    with open_store(oldest) as store:
        events = store.events("digits")
        assert [stored.event for stored in events] == [{"step": 0}, {"step": 1}, {"step": 2}]
        store.append("digits", [{"step": 3}], expected=3)
        assert verify(store.events("digits")) is None


def test_an_upgrade_fills_the_columns_of_type_and_time_and_drops_the_snapshots(
    oldest: Path,
) -> None:
    told = '{"at":"2026-11-17T10:00:00+00:00","draw":1,"type":"answered"}'
    with sqlite3.connect(oldest) as database:
        rows = [("more", seq, "", "", told) for seq in range(1001)]
        odd = [("odd", seq, "", "", body) for seq, body in enumerate(["{", '{"type":7,"at":null}'])]
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", [*rows, *odd])
        database.execute("CREATE TABLE tokens (hash, name, role, created)")
        database.execute("CREATE TABLE snapshots (campaign, hash, data)")
        database.execute("UPDATE levelled_version SET version_num = '0003'")
    database.close()
    assert upgrade(oldest).before == "0003"
    with sqlite3.connect(oldest) as database:
        found = database.execute(
            "SELECT campaign, type, at, count(*) FROM events GROUP BY campaign, type, at"
        ).fetchall()
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    database.close()
    assert found == [
        ("digits", "", "", 3),
        ("more", "answered", "2026-11-17T10:00:00+00:00", 1001),
        ("odd", "", "", 2),
    ]
    assert ("snapshots",) not in names


def test_links_of_before_are_for_all_campaigns_and_for_good(oldest: Path) -> None:
    with sqlite3.connect(oldest) as database:
        for column in ("type", "at"):
            database.execute(f"ALTER TABLE events ADD COLUMN {column} VARCHAR(40) DEFAULT ''")
        database.execute("CREATE TABLE tokens (hash, name, role, created)")
        database.execute("INSERT INTO tokens VALUES ('abc', 'ann', 'labeller', '2026-11-17')")
        database.execute("UPDATE levelled_version SET version_num = '0004'")
    database.close()
    with pytest.raises(StorageError, match="storage upgrade"):
        open_store(oldest)
    assert upgrade(oldest).before == "0004"
    with open_store(oldest) as store:
        assert store.tokens.all() == [Token("abc", "ann", "labeller", "2026-11-17", None, None)]
        assert store.count("digits") == 3


def test_upgrading_twice_is_harmless(oldest: Path) -> None:
    upgrade(oldest)
    assert upgrade(oldest) == (VERSION, VERSION, None)
    with open_store(oldest) as store:
        assert store.count("digits") == 3


def test_a_step_that_fails_leaves_the_database_at_its_version(oldest: Path) -> None:
    with sqlite3.connect(oldest) as database:
        database.execute("CREATE TABLE tokens (in_the_way INTEGER)")
    database.close()
    with pytest.raises(StorageError, match="tokens already"):
        upgrade(oldest)
    with pytest.raises(StorageError, match=f"storage version 0001, now {VERSION}"):
        open_store(oldest)


def test_a_newer_database_asks_for_a_newer_levelled(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    open_store(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE levelled_version SET version_num = '9999'")
    database.close()
    for use in (open_store, upgrade):
        with pytest.raises(StorageError, match="install --upgrade levelled"):
            use(path)


def test_there_is_nothing_to_upgrade_where_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="nothing in it"):
        upgrade(tmp_path / "empty.db")
    with pytest.raises(StorageError, match="no database"):
        upgrade(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()


def tables(path: Path) -> list[tuple[str, ...]]:
    with sqlite3.connect(path) as database:
        rows = database.execute(
            """SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master AS t,
            pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY t.name, c.cid"""
        ).fetchall()
    database.close()
    return rows


def test_an_upgraded_database_has_the_tables_of_a_new_one(oldest: Path, tmp_path: Path) -> None:
    upgrade(oldest)
    open_store(tmp_path / "new.db").close()
    assert tables(oldest) == tables(tmp_path / "new.db")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "from.db"
    with open_store(path) as store:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        store.append("letters", [{"step": "a"}], expected=0)
    return path


def test_a_copy_has_the_same_events_with_the_same_hashes(source: Path, tmp_path: Path) -> None:
    assert copy(source, tmp_path / "to.db") == ["digits", "letters"]
    with open_store(source) as one, open_store(tmp_path / "to.db") as other:
        assert one.names() == other.names()
        for name in one.names():
            assert one.events(name) == other.events(name)


def test_what_is_there_already_is_not_copied_again(source: Path, tmp_path: Path) -> None:
    copy(source, tmp_path / "to.db")
    with open_store(source) as store:
        store.append("more", [{}], expected=0)
    assert copy(source, tmp_path / "to.db") == ["more"]
    assert copy(source, source) == []


def test_a_campaign_that_differs_in_both_places_is_refused(source: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "to.db") as store:
        store.append("letters", [{"step": "b"}], expected=0)
    with pytest.raises(ConflictError, match=r"'letters'.*both"):
        copy(source, tmp_path / "to.db")
    with open_store(tmp_path / "to.db") as store:
        assert store.names() == ["letters"]


def test_a_log_that_was_changed_does_not_become_a_good_one_by_copying(
    source: Path, tmp_path: Path
) -> None:
    with sqlite3.connect(source) as database:
        database.execute("""UPDATE events SET body = '{"step":"z"}' WHERE campaign = 'letters'""")
    database.close()
    with pytest.raises(StorageError, match=r"'letters'.*event 0"):
        copy(source, tmp_path / "to.db")
    with open_store(tmp_path / "to.db") as store:
        assert store.names() == []


def test_a_campaign_that_has_gone_on_is_continued_in_its_copy(source: Path, tmp_path: Path) -> None:
    copy(source, tmp_path / "to.db")
    with open_store(source) as store:
        store.append("letters", [{"step": "b"}], expected=1)
        assert copy(source, tmp_path / "to.db") == ["letters"]
        with open_store(tmp_path / "to.db") as target:
            assert target.events("letters") == store.events("letters")
    forked = tmp_path / "forked.db"
    with open_store(forked) as store:
        store.append("letters", [{"step": "a"}, {"step": "c"}], expected=0)
    with pytest.raises(ConflictError, match=r"'letters'.*both"):
        copy(forked, source)


def test_a_backup_has_what_a_copied_file_may_lack(source: Path, tmp_path: Path) -> None:
    with open_store(source) as store:
        store.append("digits", [{"step": 2}], expected=2)
        assert source.with_name("from.db-wal").stat().st_size > 0
        shutil.copy(source, tmp_path / "cp.db")  # without the file -wal beside it
        assert backup(f"sqlite:///{source}", tmp_path / "safe.db") == tmp_path / "safe.db"
        assert not (tmp_path / "safe.db-wal").exists()
        before = store.events("digits")
        with open_store(tmp_path / "cp.db") as lacking:
            assert len(lacking.events("digits")) < len(before)
    with open_store(tmp_path / "safe.db") as safe:
        assert safe.events("digits") == before
        safe.append("digits", [{"step": 3}], expected=3)


def test_a_backup_is_one_state_while_others_write(source: Path, tmp_path: Path) -> None:
    stop = threading.Event()

    def write(store: Store) -> None:
        while not stop.is_set():
            count = store.count("shared")
            store.append("shared", [{"text": "x" * 1000}] * 50, expected=count)

    with open_store(source) as store, ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write, store)
        for n in range(5):
            backup(source, tmp_path / f"safe{n}.db")
            with open_store(tmp_path / f"safe{n}.db") as safe:
                assert verify(safe.events("shared")) is None
                assert safe.count("shared") % 50 == 0
        stop.set()
        writing.result()


def test_an_older_database_is_backed_up_as_it_is(oldest: Path, tmp_path: Path) -> None:
    backup(oldest, tmp_path / "safe.db")
    assert tables(tmp_path / "safe.db") == tables(oldest)
    upgrade(oldest)
    kept = tmp_path / "old.version-0001.db"
    assert tables(kept) == tables(tmp_path / "safe.db") != tables(oldest)
    shutil.copy(kept, oldest)  # somebody goes back, and upgrades again
    assert upgrade(oldest).backup == tmp_path / "old.version-0001-2.db"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("from.db", "a backup replaces nothing"),
        ("missing/safe.db", "cannot be written"),
        ("postgresql://ann:secret@host/safe", "A backup is a file"),
    ],
)
def test_a_backup_that_cannot_be_made_leaves_nothing_behind(
    source: Path, tmp_path: Path, target: str, told: str
) -> None:
    before = files(tmp_path)
    with pytest.raises(StorageError, match=told) as caught:
        backup(source, target if "://" in target else tmp_path / target)
    assert "secret" not in str(caught.value)
    assert files(tmp_path) == before


@pytest.mark.parametrize("kind", ["a long text", "another database", "a damaged database"])
def test_what_is_no_storage_is_not_backed_up(tmp_path: Path, kind: str) -> None:
    make(tmp_path / "levelled.db", kind)
    with pytest.raises(StorageError, match=r"database|Levelled|damaged"):
        backup(tmp_path / "levelled.db", tmp_path / "safe.db")
    assert files(tmp_path) == ["levelled.db"]


def test_there_must_be_something_to_copy(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no database"):
        copy(tmp_path / "missing.db", tmp_path / "to.db")
    assert not (tmp_path / "to.db").exists()
