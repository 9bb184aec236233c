"""Databases: connections to read and to write with, and errors in plain words.

SQLite keeps all campaigns in one file, with many readers and one writer at a time; what was
acknowledged is on the disk.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, Pool, QueuePool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from levelled.campaigns.stores.file_system import network_kind
from levelled.errors import StorageError

__all__ = ["Database", "SQLite"]

WRITES = "levelled_writes"
"""The execution option of a transaction that is going to write."""

PATIENCE = 30.0
"""Seconds to wait for another process to finish writing."""

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


class Database:
    """Connections that stay open, transactions around them, and errors in plain words.

    A subclass adds what one kind of database needs.
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self.place = place
        self.engine = engine
        self._writer = engine.execution_options(**{WRITES: True})
        self._close = weakref.finalize(self, engine.dispose)
        _IN_USE.add(self)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and writes nothing."""
        with self._explained(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is stored as a whole at its end, or not at all."""
        with self._explained(), self.write_lock(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections that are open."""
        self._close()

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
        """Set lasting options of the file, once it is known to be Levelled's or empty."""

    def write_lock(self) -> AbstractContextManager[object]:
        """A lock to hold while writing."""
        return nullcontext()

    def explain(self, failed: SQLAlchemyError) -> str:
        """A sentence on what happened and what to do about it."""
        return f"{self.place} cannot be used: {reason(failed)}."

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as failed:
            raise StorageError(self.explain(failed)) from failed


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


class SQLite(Database):
    """The database in the file at `path`, which need not exist yet."""

    def __init__(self, path: Path, place: str) -> None:
        self._path = _checked(path, place)
        engine = create_engine(
            _url(self._path),
            poolclass=QueuePool,
            pool_size=16,
            max_overflow=-1,
            connect_args={"timeout": PATIENCE, "check_same_thread": False},
        )
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        super().__init__(engine, place)
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None

    def forked(self) -> None:
        """Open new connections in the child of a fork, where no other thread holds the lock."""
        self._lock = threading.Lock()
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
    def write_lock(self) -> Iterator[None]:
        """Let one thread write at a time; processes wait for each other by trying again."""
        with self._lock:
            if self._file is not None and self._file_identity() != self._file:
                raise StorageError(
                    f"{self.place} was moved, replaced or deleted while it was in use. Nothing was "
                    f"stored; put the file back, or start again to use what is there now."
                )
            yield

    def explain(self, failed: SQLAlchemyError) -> str:
        """A sentence on what happened and what to do about it."""
        code = getattr(getattr(failed, "orig", None), "sqlite_errorcode", 0) & 0xFF
        message = _MESSAGES.get(code)
        if message is None:
            return super().explain(failed)
        return message.format(place=self.place, patience=PATIENCE, reason=reason(failed))

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
    deadline = time.monotonic() + PATIENCE
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
