"""Databases: the tables of a store, connections to them, turns, and errors in plain words.

The tables have a version, and there is one step from any earlier version to the present one.
"""

import json
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, TypeVar

from levelled.errors import StorageError

PATIENCE = 30.0
"""Seconds to wait for another process to finish writing, or for a server that is gone."""

T = TypeVar("T")


class LostConnectionError(StorageError):
    """A connection that ended or could not be made, or a disk that failed, perhaps for a while.

    If it happens at the end of a transaction, nobody knows whether that was stored.
    """


class Connection(Protocol):
    """A connection that begins no transaction by itself. Statements name values as `:campaign`."""

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> Any:  # noqa: ANN401
        """Run a statement, and return a cursor over its rows."""
        ...

    def executemany(self, statement: str, values: Iterable[Mapping[str, Any]], /) -> object:
        """Run a statement with each of some values."""
        ...

    def close(self) -> None:
        """Close it; a transaction that has not ended is undone."""
        ...


class Appended(NamedTuple):
    """The last event of an append: its campaign, place and hash, and the transaction's number."""

    campaign: str
    seq: int
    hash: str
    transaction: int


class Turn:
    """The right to write to a campaign while all others who want to write to it wait.

    With a `connection` the turn is one transaction, from the lock to the last event.
    """

    def __init__(self, database: "Database", connection: Connection | None = None) -> None:
        self._database = database
        self._inside = None if connection is None else nullcontext(connection)

    def rows(self, statement: str, **values: object) -> list[Any]:
        """The rows that a statement selects. It sees one state of the database."""
        with self._inside or self._database.reading() as connection:
            rows: list[Any] = connection.execute(statement, values).fetchall()
            return rows

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that is stored at the end of the turn at the latest, or not at all."""
        return self._inside or self._database.writing()


class Database:
    """Connections that stay open, transactions around them, and errors in plain words.

    A subclass adds what one kind of database needs; `driver` is the module that connects to it.
    """

    driver: Any
    begin = "BEGIN"
    """The statement that begins a transaction which is going to write."""
    most_idle = 16
    """Connections that are kept open for later use."""
    tables: str
    """The statement that lists the names of all tables."""
    stored: str
    """The statement that finds an `Appended` if it is stored; used where `persist` tries again."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.address = place
        """The place in full, however somebody named it."""
        self._idle: list[Connection] = []
        self._period = os.getpid(), 0
        """The process, and how often the connections of this object were closed."""
        weakref.finalize(self, _close_all, self._idle)
        _IN_USE.add(self)

    def connect(self) -> Any:  # noqa: ANN401
        """A new connection."""
        raise NotImplementedError

    def is_idle(self, connection: Any) -> bool:  # noqa: ANN401
        """True if a connection works and is in no transaction."""
        raise NotImplementedError

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with. A statement sees one state of the database."""
        period, connection = self._period, None
        try:
            with suppress(IndexError):  # another thread may take the last one meanwhile
                connection = self._idle.pop()
            if connection is None:
                connection = self.connect()
            yield connection
        except self.driver.Error as failed:
            raise self.explain(failed, connection) from failed
        finally:
            if connection is not None:
                self._put_back(connection, period)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is stored as a whole at its end, or not at all."""
        with self.write_lock(), self.reading() as connection:
            connection.execute(self.begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(self.driver.Error):  # undone already, or the connection is lost
                    connection.execute("ROLLBACK")
                raise

    def _put_back(self, connection: Connection, period: tuple[int, int]) -> None:
        if period[0] != os.getpid():
            _OF_THE_PARENT.append(connection)
        elif (
            period == self._period  # and not closed while another thread had this one
            and len(self._idle) < self.most_idle
            and self.is_idle(connection)
        ):
            self._idle.append(connection)
        else:
            connection.close()

    @contextmanager
    def turn(self, campaign: str) -> Iterator[Turn]:
        """Wait until nobody else writes to the campaign, and keep the others waiting."""
        del campaign
        yield Turn(self)

    def rows(self, statement: str, **values: object) -> list[Any]:
        """The rows that a statement selects."""
        return self.persist(lambda: Turn(self).rows(statement, **values))

    def now(self, turn: Turn) -> datetime:
        """The time by the clock that all who write share; for a file, that of this machine."""
        del turn
        return datetime.now(UTC)

    def announce(self, connection: Connection, campaign: str) -> int:
        """Tell those who watch the campaign; returns the number of the transaction, if any."""
        del connection, campaign
        return 0

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
        process, count = self._period
        self._period = process, count + 1
        _close_all(self._idle)

    def forked(self) -> None:
        """Open new connections in the child of a fork.

        The inherited ones stay unused: even closing them would disturb the parent's.
        """
        _OF_THE_PARENT.extend(self._idle)
        self._idle.clear()
        self._period = os.getpid(), 0

    def is_there(self) -> bool:
        """True if the database exists."""
        return True

    def prepare(self) -> None:
        """Set lasting options of the database, once it is known to be Levelled's or empty."""

    def write_lock(self) -> AbstractContextManager[object]:
        """A lock to hold while writing."""
        return nullcontext()

    def explain(self, failed: Exception, connection: Any = None) -> StorageError:  # noqa: ANN401
        """An error whose message says what happened on a connection and what to do about it."""
        del connection
        return StorageError(f"{self.place} cannot be used: {reason(failed)}.")


def reason(failed: BaseException) -> str:
    """The message of the database itself, in one line."""
    return " ".join(str(failed).split()).rstrip(".")


_IN_USE: weakref.WeakSet[Database] = weakref.WeakSet()
_OF_THE_PARENT: list[Connection] = []


def _close_all(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()


def _after_fork() -> None:
    for database in _IN_USE:
        database.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


VERSION = "0005"
"""The version of the tables below."""
_EARLIER = ("0001", "0002", "0003", "0004")
"""Versions that `upgrade_tables` brings up to date.

They have events; with snapshots; with tokens; with columns of type and time, without snapshots.
"""

_VERSION_TABLE = "levelled_version"
_LONGEST = 40

_LIMITS = ("campaigns TEXT", "expires VARCHAR(40)")
"""The columns of a token that limit it: a JSON list of names, and a time; NULL for no limit."""
_TOKENS = f"""CREATE TABLE tokens (
    hash VARCHAR(64) NOT NULL PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    role VARCHAR(20) NOT NULL,
    created VARCHAR(40) NOT NULL,
    {", ".join(_LIMITS)}
)"""
_TABLES = (
    f"""CREATE TABLE events (
        campaign VARCHAR(200) NOT NULL,
        seq INTEGER NOT NULL,
        prev_hash VARCHAR(64) NOT NULL,
        hash VARCHAR(64) NOT NULL,
        body TEXT NOT NULL,
        type VARCHAR({_LONGEST}) DEFAULT '' NOT NULL,
        at VARCHAR({_LONGEST}) DEFAULT '' NOT NULL,
        PRIMARY KEY (campaign, seq)
    )""",
    _TOKENS,
    f"CREATE TABLE {_VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
    f"INSERT INTO {_VERSION_TABLE} VALUES ('{VERSION}')",
)


def version_of(connection: Connection, database: Database) -> str | None:
    """The version of the tables; None for a database without any."""
    tables = [name for (name,) in connection.execute(database.tables).fetchall()]
    if not tables:
        return None
    row = None
    if _VERSION_TABLE in tables:
        row = connection.execute(f"SELECT version_num FROM {_VERSION_TABLE}").fetchone()
    if row is None:
        raise StorageError(
            f"{database.place} is a database, but not one of Levelled: it has the tables "
            f"{', '.join(sorted(tables)[:3])}. Nothing in it was changed; name another place."
        )
    (version,) = row
    if version not in (*_EARLIER, VERSION):
        raise StorageError(
            f"{database.place} was made by a newer Levelled (storage version {version}; this one "
            f"knows up to {VERSION}). Update with: pip install --upgrade levelled"
        )
    return str(version)


def create_tables(connection: Connection) -> None:
    """Make the tables in an empty database."""
    for statement in _TABLES:
        connection.execute(statement)


def upgrade_tables(connection: Connection, before: str) -> None:
    """Bring the tables of an earlier version up to date; no event is changed.

    Snapshots were a table of versions 0002 and 0003: they are only a cache, and lie elsewhere now.
    """
    if before < "0003":
        connection.execute(_TOKENS)
    else:
        for column in _LIMITS:
            connection.execute(f"ALTER TABLE tokens ADD COLUMN {column}")
    if before < "0004":
        connection.execute("DROP TABLE IF EXISTS snapshots")
        for name in ("type", "at"):
            connection.execute(
                f"ALTER TABLE events ADD COLUMN {name} VARCHAR({_LONGEST}) DEFAULT '' NOT NULL"
            )
        _fill_columns(connection)
    connection.execute(f"UPDATE {_VERSION_TABLE} SET version_num = '{VERSION}'")


def _fill_columns(connection: Connection) -> None:
    """Write type and time of all events into their columns, a thousand events at a time."""
    ends = connection.execute("SELECT campaign, max(seq) FROM events GROUP BY campaign").fetchall()
    for campaign, last in ends:
        for start in range(0, last + 1, 1000):
            rows = connection.execute(
                "SELECT seq, body FROM events "
                "WHERE campaign = :campaign AND seq BETWEEN :start AND :start + 999",
                {"campaign": campaign, "start": start},
            ).fetchall()
            connection.executemany(
                "UPDATE events SET type = :type, at = :at "
                "WHERE campaign = :campaign AND seq = :seq",
                [
                    {"campaign": campaign, "seq": at, **event_columns(parse_event(body))}
                    for at, body in rows
                ],
            )


def event_columns(event: object) -> dict[str, str]:
    """The columns that repeat a part of an event for queries; empty where it has none.

    >>> event_columns({"type": "answered", "at": "2026-11-17T10:00:00+00:00", "label": "spam"})
    {'type': 'answered', 'at': '2026-11-17T10:00:00+00:00'}
    """
    plain = event if isinstance(event, Mapping) else {}
    return {name: _short(plain.get(name)) for name in ("type", "at")}


def _short(value: object) -> str:
    # PostgreSQL keeps no \\0 in a text, and the column no long one; the body has the whole.
    fits = isinstance(value, str) and len(value) <= _LONGEST and value.isprintable()
    return str(value) if fits else ""


def parse_event(body: Any) -> object:  # noqa: ANN401
    """The event with this text; of a text that is none, another value or the error."""
    try:
        return json.loads(body)
    except (TypeError, ValueError, RecursionError) as wrong:
        return wrong
