"""A database whose schema is damaged is named in one line, by every command, and left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from levelled.campaigns import create_campaign, load_campaign
from levelled.errors import StorageError

DAMAGE = {
    "half a statement": "sql = 'CREATE TABLE events (' WHERE name = 'events'",
    "no statement": "sql = NULL",
    "bytes that are no text": "sql = x'ff00ff'",
    "a page beyond the end": "rootpage = 99999 WHERE name = 'events'",
    "no page": "rootpage = 0 WHERE name = 'events'",
    "the page of another table": "rootpage = (SELECT max(rootpage) FROM sqlite_master)",
    "other columns": "sql = replace(sql, 'body', 'text') WHERE name = 'events'",
    "a name of SQLite's own": "name = 'sqlite_x', tbl_name = 'sqlite_x'",
    "a view of itself": "type = 'view', rootpage = 0, sql = 'CREATE VIEW events AS SELECT * FROM "
    "events' WHERE name = 'events'",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=[*DAMAGE])
def test_a_damaged_schema_is_one_line(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    storage = f"sqlite:///{path}"
    pool = pa.table({"id": [*range(20)], "pred": ["a", "b"] * 10})
    create_campaign("digits", pool, "error", storage=storage, seed=1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"UPDATE sqlite_master SET {damage}")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(StorageError) as caught:
        load_campaign("digits", storage=storage).ask(1, owner="ann")
    assert "team.db" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
