"""PostgreSQL: one server for a team, on which everybody writes at once and in turn."""

import random
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar
from zlib import crc32

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from levelled._optional import optional
from levelled.campaigns.stores import database
from levelled.campaigns.stores.database import (
    Appended,
    Database,
    LostConnectionError,
    Turn,
    reason,
)
from levelled.errors import StorageError

T = TypeVar("T")

_DRIVER = "postgresql+psycopg"
_KINDS = ("postgresql", "postgres", _DRIVER)
_DEFAULTS = {
    "application_name": "levelled",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
_SECRET = ("password", "sslpassword")
_CHANNEL = "levelled"
_LOCKS = int.from_bytes(b"Lvld")
"""The first half of the number of each lock; the second half is that of the campaign."""

_WAIT = text(
    "SELECT set_config('lock_timeout', :patience, true), "
    "set_config('idle_in_transaction_session_timeout', '300s', true), "
    "set_config('tcp_keepalives_idle', '30', true), "
    "set_config('tcp_keepalives_interval', '10', true), "
    "pg_advisory_xact_lock(:locks, :lane)"
)
"""The lock; for this transaction nobody waits for ever, also not for a machine that vanished."""
_ANNOUNCE = text("SELECT txid_current() % 4294967296, pg_notify(:channel, :campaign)")
_HAS_STORED = text(
    "SELECT 1 FROM events WHERE campaign = :campaign AND seq = :seq AND hash = :hash "
    "AND xmin::text = :number"
)

_MESSAGES = {
    "55P03": "{place} is busy: somebody has been writing to this campaign for {patience:g} "
    "seconds. Nothing was stored; try again.",
    "42501": "{user} may not do this in {place} ({reason}). Let the owner of the database run: "
    "GRANT ALL ON SCHEMA public TO {user}; GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}",
    "25006": "{place} cannot be written: the server takes no changes ({reason}). Nothing was "
    "stored.",
    "53100": "{place} has no room left: the server's disk is full. Nothing was stored.",
}
_PASSING = ("57P01", "57P02", "57P03", "53300")
"""A server that stops, crashed, starts, or has too many connections."""

_REFUSALS = {
    "password authentication failed": "{place} refuses the password of {user}. Write it into the "
    "address, the file ~/.pgpass or the variable PGPASSWORD.",
    "no password supplied": "{place} asks for a password. Write it into the address, the file "
    "~/.pgpass or the variable PGPASSWORD.",
    "does not exist": "{place} cannot be opened: {reason}. Let the server's administrator run, for "
    "example: createuser --pwprompt team; createdb --owner team --encoding UTF8 levelled",
    "FATAL": "{place} cannot be opened: {reason}.",
    "": "{place} cannot be reached: {reason}. Check host and port, and that the server is running.",
}
_STARTING = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many")


class PostgreSQL(Database):
    """The database of a server that `url` names."""

    def __init__(self, url: URL, place: str) -> None:
        optional("psycopg", extra="postgres")
        self._user = url.username or "the user"
        engine = create_engine(
            url.set(query={**_DEFAULTS, **url.query}),
            pool_size=2,
            max_overflow=16,
            pool_timeout=database.PATIENCE,
        )
        super().__init__(engine, place)
        # without a transaction, whose begin and end would be two more trips to the server
        self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._was_reached = False

    def prepare(self) -> None:
        """Refuse a database whose encoding cannot hold every text."""
        with self.reading() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise StorageError(
                f"{self.place} has the encoding {encoding}, which cannot hold every label. Make a "
                f"database with: createdb --encoding UTF8 --template template0 levelled"
            )
        self._was_reached = True

    @contextmanager
    def turn(self, campaign: str) -> Iterator[Turn]:
        """One transaction, begun when nobody else writes to the campaign.

        The server lets those who wait for the lock have it in the order in which they came.
        """
        lane = crc32(campaign.encode()) - 2**31
        with self.writing() as connection:
            patience = f"{database.PATIENCE:g}s"
            connection.execute(_WAIT, {"patience": patience, "locks": _LOCKS, "lane": lane})
            yield _Transaction(self, connection)

    def persist(self, work: Callable[[], T]) -> T:
        """The result of `work`, which is done again if the connection is lost meanwhile.

        A server that has never answered is not waited for.
        """
        deadline, pause = time.monotonic() + database.PATIENCE, 0.05
        while True:
            try:
                return work()
            except LostConnectionError:
                if not self._was_reached or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause * random.uniform(0.5, 1))  # not all at once
            pause = min(2 * pause, 2.0)

    @contextmanager
    def watching(self, campaign: str) -> Iterator[Callable[[float], None]]:
        """A function that returns when the server says that the campaign has new events."""
        listener = _Listener(self, campaign)
        try:
            yield listener.wait
        finally:
            listener.close()

    def explain(self, failed: SQLAlchemyError) -> StorageError:
        """An error whose message says what happened and what to do about it."""
        error = getattr(failed, "orig", None)
        state = getattr(error, "sqlstate", None) or ""
        words = {
            "place": self.place,
            "user": self._user,
            "reason": reason(failed),
            "patience": database.PATIENCE,
        }
        if isinstance(failed, DBAPIError) and (
            failed.connection_invalidated or state in _PASSING or state.startswith("08")
        ):
            return LostConnectionError("{place} lost the connection: {reason}.".format(**words))
        if state in _MESSAGES:
            return StorageError(_MESSAGES[state].format(**words))
        if not state and isinstance(error, optional("psycopg", extra="postgres").OperationalError):
            return self._explain_refusal(words)
        return super().explain(failed)

    def _explain_refusal(self, words: dict[str, Any]) -> StorageError:
        """The error of a connection that could not be made. Only its text says why."""
        cause = str(words["reason"])
        words["reason"] = cause.rpartition("FATAL: ")[2].partition(" Is the server")[0].strip()
        message = next(text for part, text in _REFUSALS.items() if part in cause)
        passes = "FATAL" not in cause or any(part in cause for part in _STARTING)
        return (LostConnectionError if passes else StorageError)(message.format(**words))


class _Transaction(Turn):
    """A turn that is one transaction, from the lock to the last event."""

    def __init__(self, owner: Database, connection: Connection) -> None:
        super().__init__(owner)
        self._connection = connection

    def reading(self) -> AbstractContextManager[Connection]:
        """The transaction of the turn, which sees all that others have stored by now."""
        return nullcontext(self._connection)

    def writing(self) -> AbstractContextManager[Connection]:
        """The transaction of the turn, which is stored at its end."""
        return nullcontext(self._connection)

    def announce(self, campaign: str) -> int:
        """Tell those who watch, once it is stored, and return the number of the transaction."""
        values = {"channel": _CHANNEL, "campaign": campaign}
        return int(self._connection.execute(_ANNOUNCE, values).one()[0])

    def has_stored(self, appended: Appended) -> bool:
        """True if the event is there and was written by that very transaction.

        The event alone would not do: somebody else may have stored the same one at this place.
        """
        values = appended._asdict()
        values["number"] = str(values.pop("transaction"))
        return self._connection.execute(_HAS_STORED, values).first() is not None


class _Listener:
    """A connection on which the server announces new events of a campaign."""

    def __init__(self, owner: PostgreSQL, campaign: str) -> None:
        self._owner, self._campaign = owner, campaign
        self._connection: Any = None

    def wait(self, seconds: float) -> None:
        """Return when there are new events; at once where events may have been missed."""
        try:
            if self._connection is None:
                self._listen()
                return
            for said in self._connection.notifies(timeout=max(seconds, database.PATIENCE)):
                if said.payload == self._campaign:
                    break
        except (StorageError, optional("psycopg", extra="postgres").Error):
            self.close()
            time.sleep(seconds)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None

    def _listen(self) -> None:
        with self._owner._explained():
            pooled = self._owner.engine.raw_connection()
            connection: Any = pooled.driver_connection
            pooled.detach()
            self._connection = connection  # before anything can fail, so that `close` finds it
            # In garbage with cycles the connection might be deleted before this object closes it.
            weakref.finalize(self, connection.close)
            connection.autocommit = True
            connection.execute(f"LISTEN {_CHANNEL}")


def parse_url(address: str) -> tuple[URL, str] | None:
    """The address for the driver, and the same without passwords; None if it names no database.

    >>> url, place = parse_url("postgresql://team:secret@host/levelled?sslmode=require")
    >>> place
    'postgresql://team@host/levelled?sslmode=require'
    >>> parse_url("mysql://team:secret@host/levelled")
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        return None
    if url.drivername not in _KINDS or not url.database:
        return None
    shown = url.set(drivername="postgresql", password=None).difference_update_query(_SECRET)
    if url.password is not None:  # `set` keeps what it is given None for
        shown = URL.create(
            "postgresql", url.username, None, url.host, url.port, url.database, shown.query
        )
    return url.set(drivername=_DRIVER), shown.render_as_string(hide_password=False)
