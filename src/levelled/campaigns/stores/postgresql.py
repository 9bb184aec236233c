"""PostgreSQL: one server for a team, on which everybody writes at once and in turn."""

import logging
import random
import re
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode
from zlib import crc32

from levelled._optional import optional
from levelled.campaigns.stores import database
from levelled.campaigns.stores.database import (
    Connection,
    Database,
    LostConnectionError,
    Turn,
    reason,
)
from levelled.errors import StorageError

T = TypeVar("T")

_KINDS = ("postgresql", "postgres", "postgresql+psycopg")
_ADDRESS = re.compile(
    r"(?P<kind>[\w+]+)://"
    r"(?:(?P<user>[^:/]*)(?::(?P<password>[^?]*|.*))?@)?"
    r"(?:\[(?P<ipv6>[^/?@]+)\]|(?P<host>[^/:?@]*))(?::(?P<port>[^/?@]*))?"
    r"/(?P<dbname>[^?]+)(?:\?(?P<query>.*))?"
)
"""A password ends at the last @: those who write it by hand do not escape what is in it."""
_DEFAULTS = {
    "application_name": "levelled",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",  # as long as keepalives take, for what was sent and not received
}
_SECRET = ("password", "sslpassword")
_CHANNEL = "levelled"
_LOCKS = int.from_bytes(b"Lvld")
"""The first half of the number of each lock; the second half is that of the campaign."""

_WAIT = (
    "SELECT set_config('lock_timeout', :patience, true), "
    "set_config('idle_in_transaction_session_timeout', '300s', true), "
    "set_config('tcp_keepalives_idle', '30', true), "
    "set_config('tcp_keepalives_interval', '10', true), "
    "CASE current_setting('synchronous_commit') WHEN 'off' "
    "THEN set_config('synchronous_commit', 'local', true) END, "
    "pg_advisory_xact_lock(:locks, :lane)"
)
"""The lock; for this transaction nobody waits for ever, also not for a machine that vanished.

What is acknowledged is on the disk, also on a server that is set up to be faster.
"""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())"
_ANNOUNCE = "SELECT txid_current() % 4294967296, pg_notify(:channel, :campaign)"

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
    """The database of a server, reached with these `options` of the driver."""

    most_idle = 2  # a server has about a hundred connections for all
    tables = (
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid) "
        "AND relnamespace <> 'pg_catalog'::regnamespace"
    )
    # The event alone would not do: somebody else may have stored the same one at this place.
    stored = (
        "SELECT 1 FROM events WHERE campaign = :campaign AND seq = :seq AND hash = :hash "
        "AND xmin::text = :transaction::text"
    )

    def __init__(self, options: Mapping[str, str], place: str) -> None:
        self.driver = optional("psycopg", extra="postgres")
        self._options = {**_DEFAULTS, **options}
        super().__init__(place)
        self._was_reached = False

    def connect(self) -> "_Connection":
        """A new connection."""
        return _Connection(_impatient(self.driver).connect(**self._options, autocommit=True))

    def is_idle(self, connection: "_Connection") -> bool:
        """True if a connection works and is in no transaction."""
        idle = self.driver.pq.TransactionStatus.IDLE
        return bool(connection.driver.info.transaction_status == idle)

    def prepare(self) -> None:
        """Refuse a database whose encoding cannot hold every text."""
        with self.reading() as connection:
            (encoding,) = connection.execute("SHOW server_encoding").fetchone()
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
            yield Turn(self, connection)

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

    def now(self, turn: Turn) -> datetime:
        """The time by the clock of the server, whatever those of its clients say."""
        ((seconds,),) = turn.rows(_CLOCK)
        return datetime.fromtimestamp(float(seconds), UTC)

    def announce(self, connection: Connection, campaign: str) -> int:
        """Tell those who watch, once it is stored, and return the number of the transaction."""
        values = {"channel": _CHANNEL, "campaign": campaign}
        return int(connection.execute(_ANNOUNCE, values).fetchone()[0])

    @contextmanager
    def watching(self, campaign: str) -> Iterator[Callable[[float], None]]:
        """A function that returns when the server says that the campaign has new events.

        It returns at once where events may have been missed.
        """
        with ExitStack() as listening:
            connection: Any = None

            def wait(seconds: float) -> None:
                nonlocal connection
                try:
                    if connection is None:
                        connection = self.connect().driver
                        # In garbage with cycles it might be deleted before it is closed.
                        listening.callback(weakref.finalize(listening, connection.close))
                        connection.execute(f"LISTEN {_CHANNEL}")
                        return
                    for said in connection.notifies(timeout=max(seconds, database.PATIENCE)):
                        if said.payload == campaign:
                            break
                except self.driver.Error:
                    connection = None
                    listening.close()
                    time.sleep(seconds)

            yield wait

    def explain(self, failed: Exception, connection: "_Connection | None" = None) -> StorageError:
        """An error whose message says what happened and what to do about it."""
        state = getattr(failed, "sqlstate", None) or ""
        words = {
            "place": self.place,
            "user": self._options.get("user", "the user"),
            "reason": reason(failed),
            "patience": database.PATIENCE,
        }
        is_lost = connection is not None and connection.driver.closed
        if is_lost or state in _PASSING or state.startswith("08"):
            self.close()  # the others have most likely ended too
            return LostConnectionError("{place} lost the connection: {reason}.".format(**words))
        if state in _MESSAGES:
            return StorageError(_MESSAGES[state].format(**words))
        if not state and isinstance(failed, self.driver.OperationalError):
            return self._explain_refusal(words)
        return super().explain(failed, connection)

    def _explain_refusal(self, words: dict[str, Any]) -> StorageError:
        """The error of a connection that could not be made. Only its text says why."""
        cause = str(words["reason"])
        words["reason"] = cause.rpartition("FATAL: ")[2].partition(" Is the server")[0].strip()
        message = next(text for part, text in _REFUSALS.items() if part in cause)
        passes = "FATAL" not in cause or any(part in cause for part in _STARTING)
        return (LostConnectionError if passes else StorageError)(message.format(**words))


@lru_cache
def _impatient(driver: Any) -> Any:  # noqa: ANN401
    """The class of connections of psycopg that end when the server is silent for too long.

    The system notices a machine that vanished, but not a server behind a tunnel or relay that keeps
    its end open and lets nothing through.
    """

    # Or it would print lines of its own beside the error that says it all.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())

    class Impatient(driver.Connection):  # type: ignore[misc]
        def wait(self, gen: Any, *more: Any, **options: Any) -> Any:  # noqa: ANN401
            return super().wait(self._listen(gen), *more, **options)

        def _listen(self, gen: Generator[T, Any, Any]) -> Generator[T, Any, Any]:
            # A lock is waited for as long as `PATIENCE`, during which the server is silent.
            heard, patience = time.monotonic(), 2 * database.PATIENCE
            try:
                state = next(gen)
                while True:
                    ready = yield state
                    if ready:
                        heard = time.monotonic()
                    elif time.monotonic() > heard + patience:
                        self.pgconn.finish()
                        raise driver.OperationalError(f"no answer for {patience:g} seconds")
                    state = gen.send(ready)
            except StopIteration as done:
                return done.value

    return Impatient


class _Connection:
    """A connection of psycopg, which writes the names of values in another way."""

    def __init__(self, driver: Any) -> None:  # noqa: ANN401
        self.driver = driver

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
        """Run a statement, and return a cursor over its rows."""
        return self.driver.execute(_translate(statement), values or {})

    def executemany(self, statement: str, values: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement with each of some values."""
        self.driver.cursor().executemany(_translate(statement), values)

    def close(self) -> None:
        """Close it."""
        self.driver.close()


@lru_cache
def _translate(statement: str) -> str:
    """A statement with `:campaign` written as `%(campaign)s`, but not the cast in `xmin::text`."""
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", statement.replace("%", "%%"))


def parse_url(address: str) -> tuple[dict[str, str], str] | None:
    """The options for the driver, and the address without passwords; None if it names no database.

    >>> options, place = parse_url("postgresql://team:secret@host/levelled?sslmode=require")
    >>> place
    'postgresql://team@host/levelled?sslmode=require'
    >>> options["password"], options["sslmode"]
    ('secret', 'require')
    >>> parse_url("mysql://team:secret@host/levelled")
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or match["kind"] not in _KINDS or not (match["port"] or "0").isdecimal():
        return None
    query = dict(parse_qsl(match["query"] or ""))
    options = {
        "user": unquote(match["user"] or ""),
        "password": unquote(match["password"] or ""),
        "host": match["ipv6"] or match["host"],
        "port": match["port"],
        "dbname": match["dbname"],
    }
    options = {name: value for name, value in options.items() if value}
    user = f"{quote(options['user'], safe=' +')}@" if "user" in options else ""
    host = f"[{match['ipv6']}]" if match["ipv6"] else match["host"]
    port = f":{match['port']}" if match["port"] else ""
    shown = sorted((name, value) for name, value in query.items() if name not in _SECRET)
    place = f"postgresql://{user}{host}{port}/{match['dbname']}"
    return {**options, **query}, f"{place}?{urlencode(shown)}" if shown else place
