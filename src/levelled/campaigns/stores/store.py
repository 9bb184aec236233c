"""Stores: the protocol of a place that keeps events, and the store in a database."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from levelled._check import whole
from levelled.campaigns.hashing import GENESIS, StoredEvent, canonical, hash_of
from levelled.campaigns.stores.database import Database
from levelled.campaigns.stores.schema import EVENTS, SNAPSHOTS
from levelled.errors import ConflictError, InputError, StorageError

__all__ = ["SQLStore", "Snapshot", "Store"]

_LARGEST = 2**31 - 1  # of the column "seq"
_NAMED = EVENTS.c.campaign == bindparam("of")
_WHOLE = select(EVENTS.c.seq, EVENTS.c.prev_hash, EVENTS.c.hash, EVENTS.c.body).where(_NAMED)
_SINCE = _WHOLE.where(EVENTS.c.seq >= bindparam("since")).order_by(EVENTS.c.seq)
_LAST = _WHOLE.order_by(EVENTS.c.seq.desc()).limit(1)
_END = _LAST.with_only_columns(EVENTS.c.seq, EVENTS.c.hash)
_NAMES = select(EVENTS.c.campaign).where(EVENTS.c.seq == 0)
_APPEND = insert(EVENTS)

_SNAPSHOT = select(SNAPSHOTS.c.hash, SNAPSHOTS.c.data).where(
    SNAPSHOTS.c.campaign == bindparam("of")
)
_FORGET = delete(SNAPSHOTS).where(SNAPSHOTS.c.campaign == bindparam("of"))
_KEEP = insert(SNAPSHOTS)
_ERASE = delete(EVENTS).where(_NAMED)
_MOVE = [
    update(table).where(table.c.campaign == bindparam("of")).values(campaign=bindparam("to"))
    for table in (EVENTS, SNAPSHOTS)
]


class Snapshot(NamedTuple):
    """Computed state as bytes, and the hash of the last event it contains."""

    hash: str
    data: bytes


class Store(Protocol):
    """A place for the events of campaigns: they are appended, read back, and never changed.

    `tests/contracts/stores.py` tests all that a store must do; inherit it to test another one.
    """

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event.

        `expected` is the number of events that the caller has read. If there are more by now, it
        raises a `ConflictError` and stores nothing: read them, decide again, try again.
        """
        ...

    def events(self, campaign: str, since: int = 0) -> list[StoredEvent]:
        """The events from place `since` on; empty for a campaign that does not exist."""
        ...

    def last(self, campaign: str) -> StoredEvent | None:
        """The last event."""
        ...

    def count(self, campaign: str) -> int:
        """The number of events; 0 for a campaign that does not exist."""
        ...

    def names(self) -> list[str]:
        """The campaigns that have events, sorted."""
        ...

    def snapshot(self, campaign: str) -> Snapshot | None:
        """The snapshot that was stored last."""
        ...

    def keep_snapshot(self, campaign: str, last_hash: str, data: bytes) -> None:
        """Store a snapshot in place of the one before; `last_hash` is that of its last event."""
        ...

    def rename(self, campaign: str, name: str, event: Mapping[str, Any], *, expected: int) -> None:
        """Move all events to another name and add `event`, in one step.

        Raises a `ConflictError` like `append`, and an `InputError` if the name is taken.
        """
        ...

    def delete(self, campaign: str) -> None:
        """Remove all events of a campaign and its snapshot, in one step."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class SQLStore:
    """The store in a database with the tables of the newest version; made by `open_store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event."""
        whole("expected", expected, least=0)
        name = _checked(campaign)
        texts = [canonical(event) for event in events]
        with self._database.writing() as connection:
            end = connection.execute(_END, {"of": name}).one_or_none()
            count, hash_ = (end.seq + 1, end.hash) if end else (0, GENESIS)
            if count != expected:
                raise _conflict(name, expected)
            rows = []
            for seq, text in enumerate(texts, start=count):
                row = {"campaign": name, "seq": seq, "prev_hash": hash_, "body": text}
                hash_ = hash_of(hash_, text)
                rows.append({**row, "hash": hash_})
            try:
                if rows:
                    connection.execute(_APPEND, rows)
            except IntegrityError as taken:  # in databases with several writers at once
                raise _conflict(name, expected) from taken
        return count + len(texts) - 1

    def events(self, campaign: str, since: int = 0) -> list[StoredEvent]:
        """The events from place `since` on; empty for a campaign that does not exist."""
        values = {"of": _checked(campaign), "since": min(whole("since", since, least=0), _LARGEST)}
        with self._database.reading() as connection:
            rows = connection.execute(_SINCE, values).all()
        return [self._stored(campaign, *row) for row in rows]

    def last(self, campaign: str) -> StoredEvent | None:
        """The last event."""
        with self._database.reading() as connection:
            row = connection.execute(_LAST, {"of": _checked(campaign)}).one_or_none()
        return self._stored(campaign, *row) if row else None

    def count(self, campaign: str) -> int:
        """The number of events; 0 for a campaign that does not exist."""
        with self._database.reading() as connection:
            end = connection.execute(_END, {"of": _checked(campaign)}).one_or_none()
        return end.seq + 1 if end else 0

    def names(self) -> list[str]:
        """The campaigns that have events, sorted."""
        with self._database.reading() as connection:
            return sorted(connection.scalars(_NAMES))

    def snapshot(self, campaign: str) -> Snapshot | None:
        """The snapshot that was stored last."""
        with self._database.reading() as connection:
            row = connection.execute(_SNAPSHOT, {"of": _checked(campaign)}).one_or_none()
        return Snapshot(row.hash, row.data) if row else None

    def keep_snapshot(self, campaign: str, last_hash: str, data: bytes) -> None:
        """Store a snapshot in place of the one before; `last_hash` is that of its last event."""
        if not isinstance(data, bytes):
            raise InputError(f"A snapshot must be bytes; it is of type {type(data).__name__}.")
        row = {"campaign": _checked(campaign), "hash": last_hash, "data": data}
        with self._database.writing() as connection:
            connection.execute(_FORGET, {"of": campaign})
            with suppress(
                IntegrityError
            ):  # one that another process stored meanwhile serves as well
                connection.execute(_KEEP, row)

    def rename(self, campaign: str, name: str, event: Mapping[str, Any], *, expected: int) -> None:
        """Move all events to another name and add `event`, in one step."""
        old, new, text = _checked(campaign), _checked(name), canonical(event)
        with self._database.writing() as connection:
            end = connection.execute(_END, {"of": old}).one_or_none()
            if end is None or end.seq + 1 != expected:
                raise _conflict(old, expected)
            if connection.execute(_END, {"of": new}).one_or_none() is not None:
                raise InputError(f"There is a campaign {new!r} already: choose another name.")
            connection.execute(_FORGET, {"of": new})
            for statement in _MOVE:
                connection.execute(statement, {"of": old, "to": new})
            row = {"campaign": new, "seq": expected, "prev_hash": end.hash, "body": text}
            connection.execute(_APPEND, [{**row, "hash": hash_of(end.hash, text)}])

    def delete(self, campaign: str) -> None:
        """Remove all events of a campaign and its snapshot, in one step."""
        with self._database.writing() as connection:
            for statement in (_ERASE, _FORGET):
                connection.execute(statement, {"of": _checked(campaign)})

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store at {self._database.place}>"

    def _stored(
        self, campaign: str, seq: int, prev_hash: str, hash_: str, body: str
    ) -> StoredEvent:
        try:
            event = json.loads(body)
        except (TypeError, ValueError, RecursionError) as wrong:
            event = wrong
        if not isinstance(event, dict):
            raise StorageError(
                f"Event {seq} of {campaign!r} in {self._database.place} cannot be read, so the "
                f"database was changed by something else ({event}). Go back to a backup."
            )
        return StoredEvent(seq, prev_hash, hash_, event)


def _checked(campaign: object) -> str:
    if not (isinstance(campaign, str) and 1 <= len(campaign) <= 200 and campaign.isprintable()):
        raise InputError(
            f"The name of a campaign must be 1 to 200 printable characters; it is {campaign!r:.80}."
        )
    return campaign


def _conflict(campaign: str, expected: int) -> ConflictError:
    return ConflictError(
        f"{campaign!r} no longer has {expected} events, because somebody else wrote to it at the "
        f"same time. Nothing was stored; load it again and try again."
    )
