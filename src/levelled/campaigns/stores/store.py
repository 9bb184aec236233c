"""Stores: the protocol of a place that keeps events, and the store in a database.

A database also keeps the tokens of those who may use the web page, of which it knows only the
hashes.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from levelled._check import whole
from levelled.campaigns.log.hashing import GENESIS, StoredEvent, canonical, hash_of
from levelled.campaigns.stores.database import Appended, Database, LostConnectionError, Turn
from levelled.campaigns.stores.schema import EVENTS, TOKENS, event_columns
from levelled.errors import ConflictError, InputError, StorageError

Read = Callable[[int], list[StoredEvent]]
"""Reads the events of a campaign from a place on."""

Decision = Callable[[Read], tuple[Sequence[Mapping[str, Any]], int]]
"""Reads what is new and returns events to append, with the number of events it has seen."""

T = TypeVar("T")

_LARGEST = 2**31 - 1  # of the column "seq"
_NAMED = EVENTS.c.campaign == bindparam("of")
_WHOLE = select(EVENTS.c.seq, EVENTS.c.prev_hash, EVENTS.c.hash, EVENTS.c.body).where(_NAMED)
_SINCE = _WHOLE.where(EVENTS.c.seq >= bindparam("since")).order_by(EVENTS.c.seq)
_WITHOUT_DRAWS = _SINCE.where(EVENTS.c.type != "drawn")
_LAST = _WHOLE.order_by(EVENTS.c.seq.desc()).limit(1)
_END = _LAST.with_only_columns(EVENTS.c.seq, EVENTS.c.hash)
_NAMES = select(EVENTS.c.campaign).where(EVENTS.c.seq == 0)
_APPEND = insert(EVENTS)
_ERASE = delete(EVENTS).where(_NAMED)
_MOVE = update(EVENTS).where(_NAMED).values(campaign=bindparam("to"))

ROLES = ("labeller", "analyst")
"""The roles, each of which may do all that those before it may."""

_TOKEN_BYTES = 32
_TOKENS_IN_ORDER = select(TOKENS.c.hash, TOKENS.c.name, TOKENS.c.role, TOKENS.c.created).order_by(
    TOKENS.c.created, TOKENS.c.name, TOKENS.c.hash
)


class Store(Protocol):
    """A place for the events of campaigns: they are appended, read back, and never changed.

    `tests/contracts/stores.py` tests all that a store must do; inherit it to test another one.
    """

    @property
    def address(self) -> str:
        """The address of the storage in full, without a password."""
        ...

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event.

        `expected` is the number of events that the caller has read. If there are more by now, it
        raises a `ConflictError` and stores nothing: read them, decide again, try again.
        """
        ...

    def update(self, campaign: str, decide: Decision) -> int:
        """Append what `decide` returns, and return the place of the last event.

        Others who want to write to the campaign wait meanwhile, and writers get their turns in the
        order in which they came. `decide` may be called more than once; only what its last call
        returned is stored.
        """
        ...

    def events(self, campaign: str, since: int = 0, *, draws: bool = True) -> list[StoredEvent]:
        """The events from place `since` on; empty for a campaign that does not exist.

        Without `draws` those of the type "drawn" are left out, which are most of a log.
        """
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

    def watching(self, campaign: str) -> AbstractContextManager[Callable[[float], None]]:
        """A function that waits until there may be new events, about as long as it is told to."""
        ...

    def rename(self, campaign: str, name: str, event: Mapping[str, Any], *, expected: int) -> None:
        """Move all events to another name and add `event`, in one step.

        Raises a `ConflictError` like `append`, and an `InputError` if the name is taken.
        """
        ...

    def delete(self, campaign: str) -> None:
        """Remove all events of a campaign, in one step."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the database knows it: the hash, whose it is, what it allows, since when."""

    hash: str
    name: str
    role: str
    created: str


def hash_token(token: str) -> str:
    """The sha256 of a token.

    A token is 256 random bits, so that nothing is gained by a hash that is slow to compute.
    """
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_token(tokens: Iterable[Token], digest: str) -> Token | None:
    """The token with this hash; the time it takes does not tell how near a guess was."""
    found = None
    for one in tokens:
        if hmac.compare_digest(one.hash, digest):
            found = one
    return found


class SQLTokens:
    """The tokens in the tables of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: str) -> str:
        """A new token for a person, who may have others; it cannot be read again later."""
        if role not in ROLES:
            raise InputError(f"There is no role {role!r}: choose one of {', '.join(ROLES)}.")
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), datetime.now(UTC)
        row = {
            "hash": hash_token(token),
            "name": _checked_person(name),
            "role": role,
            "created": now.isoformat(timespec="seconds"),
        }
        with self._database.turn("") as turn, turn.writing() as connection:
            connection.execute(insert(TOKENS), [row])
        return token

    def all(self) -> list[Token]:
        """All tokens, the oldest first."""

        def attempt() -> list[Token]:
            with self._database.reading() as connection:
                return [Token(*row) for row in connection.execute(_TOKENS_IN_ORDER)]

        return self._database.persist(attempt)

    def remove(self, name: str) -> int:
        """Remove all tokens of a person, and return how many there were."""
        with self._database.turn("") as turn, turn.writing() as connection:
            return connection.execute(delete(TOKENS).where(TOKENS.c.name == name)).rowcount


class SQLStore:
    """The store in a database with the tables of the newest version; made by `open_store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.tokens = SQLTokens(database)
        """The tokens of those who may use the web page."""

    @property
    def address(self) -> str:
        """The address of the storage in full, without a password."""
        return self._database.address

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event."""
        whole("expected", expected, least=0)
        list(map(canonical, events))  # refuses what is no JSON before anybody has to wait
        return self.update(campaign, lambda _: (events, expected))

    def update(self, campaign: str, decide: Decision) -> int:
        """Append what `decide` returns, while others who write to the campaign wait."""
        name, unsure = _checked(campaign), list[Appended]()

        def attempt() -> int:
            with self._database.turn(name) as turn:
                for appended in unsure:  # the connection was lost, perhaps after it was stored
                    if turn.has_stored(appended):
                        return appended.seq
                events, expected = decide(lambda since: self._events(turn, name, since))
                return self._append(turn, name, events, expected, unsure)

        try:
            return self._database.persist(attempt)
        except LostConnectionError as lost:
            known = (
                "Look if the last step was stored before you" if unsure else "Nothing was stored;"
            )
            raise StorageError(f"{lost} {known} try again.") from lost

    def _append(
        self,
        turn: Turn,
        name: str,
        events: Sequence[Mapping[str, Any]],
        expected: int,
        unsure: list[Appended],
    ) -> int:
        """Write events in a turn, and note them as long as it is not known that they are stored."""
        with turn.writing() as connection:
            end = connection.execute(_END, {"of": name}).one_or_none()
            count, hash_ = (end.seq + 1, end.hash) if end else (0, GENESIS)
            if count != expected:
                raise _conflict(name, expected)
            rows = []
            for seq, event in enumerate(events, start=count):
                rows.append(_row(name, seq, hash_, event))
                hash_ = rows[-1]["hash"]
            last = count + len(rows) - 1
            try:
                if rows:
                    connection.execute(_APPEND, rows)
                    unsure.append(Appended(name, last, hash_, turn.announce(name)))
            except IntegrityError as taken:  # by somebody who did not wait
                raise _conflict(name, expected) from taken
        return last

    def events(self, campaign: str, since: int = 0, *, draws: bool = True) -> list[StoredEvent]:
        """The events from place `since` on, without those that draw if `draws` is False."""
        name = _checked(campaign)
        return self._database.persist(
            lambda: self._events(self._database, name, since, draws=draws)
        )

    def _events(
        self, reader: Database | Turn, name: str, since: int, *, draws: bool = True
    ) -> list[StoredEvent]:
        values = {"of": name, "since": min(whole("since", since, least=0), _LARGEST)}
        with reader.reading() as connection:
            rows = connection.execute(_SINCE if draws else _WITHOUT_DRAWS, values).all()
        return [self._stored(name, *row) for row in rows]

    def last(self, campaign: str) -> StoredEvent | None:
        """The last event."""
        row = self._first_row(_LAST, _checked(campaign))
        return self._stored(campaign, row.seq, row.prev_hash, row.hash, row.body) if row else None

    def count(self, campaign: str) -> int:
        """The number of events; 0 for a campaign that does not exist."""
        end = self._first_row(_END, _checked(campaign))
        return end.seq + 1 if end else 0

    def names(self) -> list[str]:
        """The campaigns that have events, sorted."""
        return sorted(self._read(lambda connection: connection.scalars(_NAMES).all()))

    def _first_row(self, statement: Select[Any], name: str) -> Row[Any] | None:
        return self._read(lambda connection: connection.execute(statement, {"of": name}).first())

    def _read(self, query: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with self._database.reading() as connection:
                return query(connection)

        return self._database.persist(attempt)

    def watching(self, campaign: str) -> AbstractContextManager[Callable[[float], None]]:
        """A function that waits until there may be new events, about as long as it is told to."""
        return self._database.watching(_checked(campaign))

    def rename(self, campaign: str, name: str, event: Mapping[str, Any], *, expected: int) -> None:
        """Move all events to another name and add `event`, in one step."""
        old, new = _checked(campaign), _checked(name)
        with self._database.turn(old) as turn, turn.writing() as connection:
            end = connection.execute(_END, {"of": old}).one_or_none()
            if end is None or end.seq + 1 != expected:
                raise _conflict(old, expected)
            if connection.execute(_END, {"of": new}).one_or_none() is not None:
                raise InputError(f"There is a campaign {new!r} already: choose another name.")
            connection.execute(_MOVE, {"of": old, "to": new})
            connection.execute(_APPEND, [_row(new, expected, end.hash, event)])

    def delete(self, campaign: str) -> None:
        """Remove all events of a campaign, in one step."""
        name = _checked(campaign)
        with self._database.turn(name) as turn, turn.writing() as connection:
            connection.execute(_ERASE, {"of": name})

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


def _checked_person(name: str) -> str:
    if not (1 <= len(name) <= 100 and name.isprintable() and name == name.strip()):
        raise InputError(
            f"{name!r:.80} is no name for a labeller: up to 100 printable characters, without "
            f"blanks at the ends."
        )
    return name


def _row(campaign: str, seq: int, prev_hash: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an event, with its hash and the columns that repeat a part of it."""
    body = canonical(event)
    return {
        "campaign": campaign,
        "seq": seq,
        "prev_hash": prev_hash,
        "hash": hash_of(prev_hash, body),
        "body": body,
        **event_columns(event),
    }


def _conflict(campaign: str, expected: int) -> ConflictError:
    return ConflictError(
        f"{campaign!r} no longer has {expected} events, because somebody else wrote to it at the "
        f"same time. Nothing was stored; load it again and try again."
    )
