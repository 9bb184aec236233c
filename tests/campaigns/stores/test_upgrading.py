import sqlite3
from pathlib import Path

import pytest

from levelled.campaigns.hashing import GENESIS, hash_of, verify
from levelled.campaigns.stores import open_store, upgrade
from levelled.campaigns.stores.opening import migrations
from levelled.campaigns.stores.schema import VERSIONS
from levelled.errors import StorageError

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
    with pytest.raises(StorageError, match=r"levelled storage upgrade --storage sqlite:.*old\.db"):
        open_store(oldest)
    assert oldest.read_bytes() == before
    assert upgrade(oldest) == ("0001", VERSIONS[-1])
    with open_store(oldest) as store:
        events = store.events("digits")
        assert [stored.event for stored in events] == [{"step": 0}, {"step": 1}, {"step": 2}]
        store.append("digits", [{"step": 3}], expected=3)
        store.keep_snapshot("digits", events[-1].hash, b"state")
        assert verify(store.events("digits")) is None


def test_upgrading_twice_is_harmless(oldest: Path) -> None:
    upgrade(oldest)
    assert upgrade(oldest) == (VERSIONS[-1], VERSIONS[-1])
    with open_store(oldest) as store:
        assert store.count("digits") == 3


def test_a_step_that_fails_leaves_the_database_at_its_version(oldest: Path) -> None:
    with sqlite3.connect(oldest) as database:
        database.execute("CREATE TABLE snapshots (in_the_way INTEGER)")
    database.close()
    with pytest.raises(StorageError, match="table snapshots already exists"):
        upgrade(oldest)
    with pytest.raises(StorageError, match="storage version 0001, now 0002"):
        open_store(oldest)


def test_a_newer_database_asks_for_a_newer_levelled(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    open_store(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE levelled_version SET version_num = '9999'")
    database.close()
    for use in (open_store, upgrade):
        with pytest.raises(StorageError, match="pip install --upgrade levelled"):
            use(path)


def test_there_is_nothing_to_upgrade_where_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="nothing to upgrade"):
        upgrade(tmp_path / "empty.db")
    with pytest.raises(StorageError, match="There is no database at"):
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


def test_every_version_has_its_step() -> None:
    steps = reversed(list(migrations().walk_revisions()))
    assert tuple(step.revision for step in steps) == VERSIONS
