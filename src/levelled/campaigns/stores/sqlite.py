"""SQLite: all campaigns in one file, many readers and one writer at a time.

What was acknowledged is on the disk.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from sqlalchemy import URL, Connection, QueuePool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from levelled.campaigns.stores import database
from levelled.campaigns.stores.database import WRITES, Database, Turn, reason
from levelled.campaigns.stores.file_system import network_kind
from levelled.campaigns.stores.turns import Turns, lane_of
from levelled.errors import StorageError

_MESSAGES = {
    sqlite3.SQLITE_BUSY: "{place} is locked: another process has been writing to it for "
    "{patience:g} seconds. Nothing was stored; try again, or end that process.",
    sqlite3.SQLITE_READONLY: "{place} cannot be written: the file or its folder is read-only. "
    "Nothing was stored; make both writable.",
    sqlite3.SQLITE_FULL: "{place} has no room left: the disk is full. Nothing was stored; make "
    "room and try again.",
    sqlite3.SQLITE_CANTOPEN: "{place} cannot be opened. Check that you may read and write the "
    "file and its folder.",
    sqlite3.SQLITE_NOTADB: "{place} is not a database. It was left as it is; name another file.",
    sqlite3.SQLITE_CORRUPT: "{place} is damaged ({reason}). Take a copy of it first, then go back "
    "to a backup or try: sqlite3 FILE .recover",
}


class SQLite(Database):
    """The database in the file at `path`, which need not exist yet."""

    def __init__(self, path: Path, place: str) -> None:
        self._path = _checked(path, place)
        engine = create_engine(
            _url(self._path),
            poolclass=QueuePool,
            pool_size=16,
            max_overflow=-1,
            connect_args={"timeout": database.PATIENCE, "check_same_thread": False},
        )
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        super().__init__(engine, place)
        self.address = f"sqlite:///{os.path.realpath(self._path)}"
        self._turns = Turns(self._path)
        weakref.finalize(self, self._turns.tidy)
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None

    def forked(self) -> None:
        """Open new connections in the child of a fork, where no other thread holds the lock."""
        self._lock = threading.Lock()
        self._turns.forked()
        super().forked()

    def is_there(self) -> bool:
        """True if the file exists."""
        return self._path.exists()

    def prepare(self) -> None:
        """Turn on write-ahead logging, so that others can read while one writes.

        On a network drive it is not safe, and turned off.
        """
        mode = "wal" if network_kind(self._path) is None else "delete"
        with self._explained(), self.engine.connect() as connection:
            _set_journal(connection.connection.cursor(), mode)
        self._file = self._file_identity()

    @contextmanager
    def turn(self, campaign: str) -> Iterator[Turn]:
        """Wait in line until nobody else writes to the campaign."""
        with self._turns.take(lane_of(campaign), patience=database.PATIENCE):
            yield Turn(self)

    def close(self) -> None:
        """Close the connections that are open, and leave one file behind."""
        super().close()
        self._turns.tidy()

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Wait in line until nobody else writes to the file."""
        with self._turns.take(0, patience=database.PATIENCE), self._lock:
            if self._file is not None and self._file_identity() != self._file:
                raise StorageError(
                    f"{self.place} was moved, replaced or deleted while it was in use. Nothing was "
                    f"stored; put the file back, or start again to use what is there now."
                )
            yield

    def explain(self, failed: SQLAlchemyError) -> StorageError:
        """An error whose message says what happened and what to do about it."""
        code = getattr(getattr(failed, "orig", None), "sqlite_errorcode", 0) & 0xFF
        message = _MESSAGES.get(code)
        if message is None:
            return super().explain(failed)
        return StorageError(
            message.format(place=self.place, patience=database.PATIENCE, reason=reason(failed))
        )

    def backup(self, target: Path) -> None:
        """Write one state of the database to a new file; others may go on writing meanwhile."""
        if target.exists():
            raise StorageError(f"{target} is there already, and a backup replaces nothing.")
        part = target.with_name(f"{target.name}.part")
        try:
            part.unlink(missing_ok=True)  # of a backup that was interrupted
            with self.reading() as connection, closing(sqlite3.connect(part)) as copy:
                source = connection.connection.driver_connection
                assert isinstance(source, sqlite3.Connection)
                source.backup(copy)  # in one step, so that no writer can make it start again
                copy.execute("PRAGMA journal_mode = DELETE")
                (outcome,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if outcome != "ok":
                raise StorageError(f"{self.place} is damaged, and so would be its copy: {outcome}.")
            part.rename(target)
        except (OSError, sqlite3.Error) as failed:
            raise StorageError(f"{target} cannot be written: {failed}.") from failed
        finally:
            part.unlink(missing_ok=True)

    def keep_version(self, version: str) -> Path:
        """Back the file up beside itself, under a name with its version, and return the path."""
        stem = self._path.with_suffix("")
        names = chain([""], (f"-{n}" for n in count(2)))
        paths = (stem.with_name(f"{stem.name}.version-{version}{more}.db") for more in names)
        target = next(path for path in paths if not path.exists())
        self.backup(target)
        return target

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _checked(path: Path, place: str) -> Path:
    # SQLite itself says no more than "unable to open database file", and waits for ever on a pipe.
    try:
        path = path.absolute()  # a later change of folder must not lead elsewhere
        if path.is_dir():
            raise StorageError(f"{place} is a folder. Name a file in it: {place}/levelled.db")
        if path.exists() and not path.is_file():
            raise StorageError(f"{place} is not a file. Name a file, as in sqlite:///levelled.db")
        if not path.parent.is_dir():
            raise StorageError(
                f"{place} cannot be made: there is no folder {path.parent}. Make it first, or "
                f"name another place."
            )
    except OSError as wrong:
        raise StorageError(f"{place} cannot be opened: {wrong.strerror}.") from wrong
    return path


def _on_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where _on_begin says so
    try:
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:  # no database: let go of the file
        connection.close()
        raise


def _on_begin(connection: Connection) -> None:
    # A transaction that reads first and asks for the lock later can be refused half-way.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _url(path: Path) -> URL:
    """The URL of a file; in a folder that cannot be written, to read only.

    A reader of a write-ahead log keeps notes beside it. Where it cannot, SQLite has to be told
    that nobody writes, unless those who do have left their notes there.
    """
    if not path.exists() or os.access(path.parent, os.W_OK):
        return URL.create("sqlite", database=str(path))
    how = {"mode": "ro"} if path.with_name(f"{path.name}-wal").exists() else {"immutable": "1"}
    return URL.create("sqlite", database=path.as_uri(), query={"uri": "true", **how})


def _set_journal(cursor: DBAPICursor, mode: str) -> None:
    # A file that cannot change its mode is slower, and just as safe.
    deadline = time.monotonic() + database.PATIENCE
    while time.monotonic() < deadline:
        try:
            cursor.execute("PRAGMA journal_mode")
            if cursor.fetchone() != (mode,):
                cursor.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite3.Error as failed:
            if failed.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                return
            time.sleep(0.01)  # SQLite does not wait by itself here
