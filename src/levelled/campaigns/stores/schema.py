"""The tables of a store, their version, and the one step from an earlier version to it."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    func,
    inspect,
    select,
    update,
)

from levelled.errors import StorageError

VERSION = "0004"
"""The version of the tables below."""
_EARLIER = ("0001", "0002", "0003")
"""Versions that `upgrade_tables` brings up to date: events; with snapshots; with tokens."""

_VERSION_TABLE = "levelled_version"
_LONGEST = 40

METADATA = MetaData()

EVENTS = Table(
    "events",
    METADATA,
    Column("campaign", String(200), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("prev_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
    Column("type", String(_LONGEST), nullable=False, server_default=""),
    Column("at", String(_LONGEST), nullable=False, server_default=""),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("created", String(40), nullable=False),
)

_VERSION = Table(
    _VERSION_TABLE, METADATA, Column("version_num", String(32), primary_key=True)
)  # with the name of its column since the first version


def version_of(connection: Connection, place: str) -> str | None:
    """The version of the tables; None for a database without any."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    version = connection.scalar(select(_VERSION)) if _VERSION_TABLE in tables else None
    if version is None:
        raise StorageError(
            f"{place} is a database, but not one of Levelled: it has the tables "
            f"{', '.join(sorted(tables)[:3])}. Nothing in it was changed; name another place."
        )
    if version not in (*_EARLIER, VERSION):
        raise StorageError(
            f"{place} was made by a newer Levelled (storage version {version}; this one knows up "
            f"to {VERSION}). Update with: pip install --upgrade levelled"
        )
    return str(version)


def create_tables(connection: Connection) -> None:
    """Make the tables in an empty database."""
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(_VERSION.insert().values(version_num=VERSION))


def upgrade_tables(connection: Connection, before: str) -> None:
    """Bring the tables of an earlier version up to date; no event is changed.

    Snapshots were a table of versions 0002 and 0003: they are only a cache, and lie elsewhere now.
    """
    if before < "0003":
        TOKENS.create(connection, checkfirst=False)
    connection.exec_driver_sql("DROP TABLE IF EXISTS snapshots")
    for name in ("type", "at"):
        connection.exec_driver_sql(
            f"ALTER TABLE events ADD COLUMN {name} VARCHAR({_LONGEST}) DEFAULT '' NOT NULL"
        )
    _fill_columns(connection)
    connection.execute(update(_VERSION).values(version_num=VERSION))


def _fill_columns(connection: Connection) -> None:
    """Write type and time of all events into their columns, a thousand events at a time."""
    of, seq = EVENTS.c.campaign, EVENTS.c.seq
    fill = update(EVENTS).where(of == bindparam("of"), seq == bindparam("place"))
    for campaign, last in connection.execute(select(of, func.max(seq)).group_by(of)).all():
        for start in range(0, last + 1, 1000):
            here = (of == campaign) & seq.between(start, start + 999)
            rows = connection.execute(select(seq, EVENTS.c.body).where(here)).all()
            values = [
                {"of": campaign, "place": at, **event_columns(_parse(body))} for at, body in rows
            ]
            if values:
                connection.execute(fill, values)


def event_columns(event: Mapping[str, Any]) -> dict[str, str]:
    """The columns that repeat a part of an event for queries; empty where it has none.

    >>> event_columns({"type": "answered", "at": "2026-11-17T10:00:00+00:00", "label": "spam"})
    {'type': 'answered', 'at': '2026-11-17T10:00:00+00:00'}
    """
    return {name: _short(event.get(name)) for name in ("type", "at")}


def _short(value: object) -> str:
    # PostgreSQL keeps no \\0 in a text, and the column no long one; the body has the whole.
    fits = isinstance(value, str) and len(value) <= _LONGEST and value.isprintable()
    return str(value) if fits else ""


def _parse(body: object) -> dict[str, Any]:
    """An event, or nothing for one that cannot be read: reading it says so."""
    try:
        event = json.loads(body)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
