"""A database as the rest of the stores sees it: connections to read and to write with."""

import os
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sqlalchemy import Connection, Engine, Pool
from sqlalchemy.exc import SQLAlchemyError

from levelled.errors import StorageError

__all__ = ["WRITES", "Database"]

WRITES = "levelled_writes"
"""The execution option of a transaction that is going to write."""


class Database:
    """Connections that stay open, transactions around them, and errors in plain words.

    What is particular to one kind of database stands in a class that inherits from this one.
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
        with self._explained(), self.turn(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections that are open."""
        self._close()

    def forked(self) -> None:
        """Open connections anew in the child of a fork.

        The inherited ones are kept unused: even closing them would disturb the parent's.
        """
        _OF_THE_PARENT.append(self.engine.pool)
        self.engine.dispose(close=False)

    def settle(self) -> None:
        """Set what the database keeps for good, once it is known to be Levelled's or empty."""

    def turn(self) -> AbstractContextManager[object]:
        """What must be held while writing."""
        return nullcontext()

    def explain(self, failed: SQLAlchemyError) -> str:
        """What happened, and what to do about it, on one line."""
        return f"{self.place} cannot be used: {reason(failed)}."

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as failed:
            raise StorageError(self.explain(failed)) from failed


def reason(failed: SQLAlchemyError) -> str:
    """The database's own words, without the statement."""
    told = str(getattr(failed, "orig", None) or failed)
    return " ".join(told.split()).rstrip(".")


_IN_USE: weakref.WeakSet[Database] = weakref.WeakSet()
_OF_THE_PARENT: list[Pool] = []


def _after_fork() -> None:
    for database in _IN_USE:
        database.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
