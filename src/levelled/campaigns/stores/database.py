"""Databases: connections to read and to write with, turns, and errors in plain words."""

import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, Pool
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
        self.engine.dispose()

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
