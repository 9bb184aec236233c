"""Databases: the tables of a store, connections to them, turns, and errors in plain words.

The tables have a version, and there is one step from any earlier version to the present one.
"""

import json
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Pool,
    String,
    Table,
    Text,
    bindparam,
    event,
    func,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from levelled.errors import StorageError

WRITES = "levelled_writes"
"""The execution option of a transaction that is going to write."""

PATIENCE = 30.0
"""Seconds to wait for another process to finish writing, or for a server that is gone."""

T = TypeVar("T")


class LostConnectionError(StorageError):
    """A connection that ended, or could not be made, for a reason that may pass."""


class Appended(NamedTuple):
    """The last event of an append: its campaign, place and hash, and the transaction's number."""

    campaign: str
    seq: int
    hash: str
    transaction: int


class Turn:
    """The right to write to a campaign while all others who want to write to it wait."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection to read with. A statement sees one state of the database."""
        return self._database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that is stored at the end of the turn at the latest, or not at all."""
        return self._database.writing()

    def announce(self, campaign: str) -> int:
        """Tell those who watch the campaign; returns the number of the transaction, if any."""
        del campaign
        return 0

    def has_stored(self, appended: Appended) -> bool:
        """True if the transaction of an append whose connection was lost has been stored."""
        del appended
        return False


class Database:
    """Connections that stay open, transactions around them, and errors in plain words.

    A subclass adds what one kind of database needs.
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self.place = place
        self.address = place
        """The place in full, however somebody named it."""
        self.engine = engine
        self._reader = engine
        self._writer = engine.execution_options(**{WRITES: True})
        weakref.finalize(self, engine.dispose)
        _IN_USE.add(self)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with. A statement sees one state of the database."""
        with self._explained(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is stored as a whole at its end, or not at all."""
        with self._explained(), self.write_lock(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def turn(self, campaign: str) -> Iterator[Turn]:
        """Wait until nobody else writes to the campaign, and keep the others waiting."""
        del campaign
        yield Turn(self)

    def persist(self, work: Callable[[], T]) -> T:
        """The result of `work`, which is done again if the connection is lost meanwhile."""
        return work()

    @contextmanager
    def watching(self, campaign: str) -> Iterator[Callable[[float], None]]:
        """A function that waits for the next event of a campaign.

        It may return too early: it waits for the seconds it is given where the database says
        nothing of its own accord.
        """
        del campaign
        yield time.sleep

    def close(self) -> None:
        """Close the connections that are open; those opened later close with this object."""
        pool = self.engine.pool
        self.engine.dispose()
        # One that is in use, by another thread, comes back to this pool, which nobody closes again.
        event.listen(pool, "checkin", lambda used, _: None if used is None else used.close())

    def forked(self) -> None:
        """Open new connections in the child of a fork.

        The inherited ones stay unused: even closing them would disturb the parent's.
        """
        _OF_THE_PARENT.append(self.engine.pool)
        self.engine.dispose(close=False)

    def is_there(self) -> bool:
        """True if the database exists."""
        return True

    def prepare(self) -> None:
        """Set lasting options of the database, once it is known to be Levelled's or empty."""

    def write_lock(self) -> AbstractContextManager[object]:
        """A lock to hold while writing."""
        return nullcontext()

    def explain(self, failed: SQLAlchemyError) -> StorageError:
        """An error whose message says what happened and what to do about it."""
        return StorageError(f"{self.place} cannot be used: {reason(failed)}.")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as failed:
            raise self.explain(failed) from failed


def reason(failed: SQLAlchemyError) -> str:
    """The message of the database itself, without the SQL statement."""
    message = str(getattr(failed, "orig", None) or failed)
    return " ".join(message.split()).rstrip(".")


_IN_USE: weakref.WeakSet[Database] = weakref.WeakSet()
_OF_THE_PARENT: list[Pool] = []


def _after_fork() -> None:
    for database in _IN_USE:
        database.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
