"""Stores keep the events of campaigns in a database.

One string names a storage everywhere: it is opened, upgraded, copied and backed up here. A database
also keeps the tokens of those who may use the web page, of which it knows only the hashes.
"""

import hmac
import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

from levelled._check import whole
from levelled.campaigns.log.records import GENESIS, StoredEvent, canonical, hash_of, verify
from levelled.campaigns.options import DEFAULT_STORAGE
from levelled.campaigns.stores.database import (
    VERSION,
    Appended,
    Connection,
    Database,
    LostConnectionError,
    Turn,
    create_tables,
    event_columns,
    parse_event,
    reason,
    upgrade_tables,
    version_of,
)
from levelled.campaigns.stores.sqlite import SQLite
from levelled.errors import ConflictError, InputError, StorageError

__all__ = [
    "DEFAULT_STORAGE",
    "ROLES",
    "Read",
    "Store",
    "Token",
    "Upgrade",
    "backup",
    "copy",
    "find_store",
    "find_token",
    "hash_token",
    "open_store",
    "place_of",
    "upgrade",
]

Read = Callable[[int], list[StoredEvent]]
"""Reads the events of a campaign from a place on."""

Decision = Callable[[Read, datetime], tuple[Sequence[Mapping[str, Any]], int]]
"""Reads what is new and returns events to append, with the number of events it has seen.

The time is that of the turn, by the clock of the database.
"""

_LARGEST = 2**31 - 1  # of the column "seq"
_WHOLE = "SELECT seq, prev_hash, hash, body FROM events WHERE campaign = :of"
_SINCE = f"{_WHOLE} AND seq >= :since ORDER BY seq"
# The type is the last key of a draw in the text that is hashed; nothing hashes the column "type".
_WITHOUT_DRAWS = (
    "SELECT seq, prev_hash, hash, "
    """CASE WHEN body LIKE '%"type":"drawn"}' THEN NULL ELSE body END """
    "FROM events WHERE campaign = :of AND seq >= :since ORDER BY seq"
)
_LAST = f"{_WHOLE} ORDER BY seq DESC LIMIT 1"
_END = "SELECT seq, hash FROM events WHERE campaign = :of ORDER BY seq DESC LIMIT 1"
_HASHES = "SELECT seq, hash FROM events WHERE campaign = :of AND seq >= :since"
_NAMES = "SELECT DISTINCT campaign FROM events"
_APPEND = (
    "INSERT INTO events (campaign, seq, prev_hash, hash, body, type, at) "
    "VALUES (:campaign, :seq, :prev_hash, :hash, :body, :type, :at)"
)
_ERASE = "DELETE FROM events WHERE campaign = :of"
_MOVE = "UPDATE events SET campaign = :to WHERE campaign = :of"
_ADD_TOKEN = (
    "INSERT INTO tokens (hash, name, role, created, campaigns, expires) "
    "VALUES (:hash, :name, :role, :created, :campaigns, :expires)"
)
_TOKENS = (
    "SELECT hash, name, role, created, campaigns, expires FROM tokens ORDER BY created, name, hash"
)
_REMOVE_TOKENS = "DELETE FROM tokens WHERE name = :name"
_LIMITED_TOKENS = "SELECT hash, campaigns FROM tokens WHERE campaigns IS NOT NULL"
_LIMIT_TOKEN = "UPDATE tokens SET campaigns = :campaigns WHERE hash = :hash"

ROLES = ("labeller", "analyst")
"""The roles, each of which may do all that those before it may."""

_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the database knows it: the hash, whose it is, what it allows, since when."""

    hash: str
    name: str
    role: str
    created: str
    campaigns: tuple[str, ...] | None = None
    """The only campaigns that it is for; None for all."""
    expires: str | None = None
    """The time from which on it is not valid; None for never."""

    @property
    def is_valid(self) -> bool:
        """True if it has not expired."""
        return self.expires is None or _time(datetime.now(UTC)) < self.expires


def hash_token(token: str) -> str:
    """The sha256 of a token.

    A token is 256 random bits, so that nothing is gained by a hash that is slow to compute.
    """
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_token(tokens: Iterable[Token], digest: str) -> Token | None:
    """The token with this hash; the time it takes does not tell how near a guess was."""
    found = [one for one in tokens if hmac.compare_digest(one.hash, digest)]
    return found[-1] if found else None


class SQLTokens:
    """The tokens in the tables of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        role: str,
        *,
        campaigns: Sequence[str] | None = None,
        expires: datetime | None = None,
    ) -> str:
        """A new token for a person, who may have others; it cannot be read again later.

        Parameters
        ----------
        name
            The person, who owns what is asked and told with the token.
        role
            One of `ROLES`.
        campaigns
            The only campaigns that the token is for; by default all, also those of later.
        expires
            The time from which on the token is not valid; by default it does not expire.
        """
        if role not in ROLES:
            raise InputError(f"There is no role {role!r}: choose one of {', '.join(ROLES)}.")
        if not (1 <= len(name) <= 100 and name.isprintable() and name == name.strip()):
            raise InputError(
                f"{name!r:.80} is no name for a labeller: up to 100 printable characters, without "
                f"blanks at the ends."
            )
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), datetime.now(UTC)
        if expires is not None and expires <= now:
            raise InputError(
                f"A token until {_time(expires)} would never be valid: name a later time."
            )
        row = {
            "hash": hash_token(token),
            "name": name,
            "role": role,
            "created": _time(now),
            "campaigns": None if campaigns is None else json.dumps([*dict.fromkeys(campaigns)]),
            "expires": None if expires is None else _time(expires),
        }
        with self._database.turn("") as turn, turn.writing() as connection:
            for one in campaigns or ():
                if connection.execute(_END, {"of": _checked(one)}).fetchone() is None:
                    raise InputError(
                        f"There is no campaign {one!r} in this storage: levelled list names all."
                    )
            connection.execute(_ADD_TOKEN, row)
        return token

    def all(self) -> list[Token]:
        """All tokens, the oldest first, with those that have expired."""
        return [
            Token(hash_, name, role, created, names and tuple(json.loads(names)), expires)
            for hash_, name, role, created, names, expires in self._database.rows(_TOKENS)
        ]

    def remove(self, name: str) -> int:
        """Remove all tokens of a person, and return how many there were."""
        with self._database.turn("") as turn, turn.writing() as connection:
            return int(connection.execute(_REMOVE_TOKENS, {"name": name}).rowcount)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _limit_tokens(connection: Connection, old: str, new: str | None) -> None:
    """Let tokens for a campaign follow its new name, or forget it, so that no other takes it up."""
    for hash_, names in connection.execute(_LIMITED_TOKENS).fetchall():
        before = json.loads(names)
        if old in before:
            after = [one for one in before if one != old] + ([] if new is None else [new])
            connection.execute(_LIMIT_TOKEN, {"hash": hash_, "campaigns": json.dumps(after)})


class Store:
    """A place for the events of campaigns: they are appended, read back, and never changed.

    It is a database with the tables of the newest version; made by `open_store`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.tokens = SQLTokens(database)
        """The tokens of those who may use the web page."""

    @property
    def address(self) -> str:
        """The address of the storage in full, without a password."""
        return self._database.address

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event.

        `expected` is the number of events that the caller has read. If there are more by now, it
        raises a `ConflictError` and stores nothing: read them, decide again, try again.
        """
        whole("expected", expected, least=0)
        list(map(canonical, events))  # refuses what is no JSON before anybody has to wait
        return self.update(campaign, lambda _, __: (events, expected))

    def update(self, campaign: str, decide: Decision) -> int:
        """Append what `decide` returns, and return the place of the last event.

        Others who want to write to the campaign wait meanwhile, and writers get their turns in the
        order in which they came. `decide` may be called more than once; only what its last call
        returned is stored.
        """
        name, unsure = _checked(campaign), list[Appended]()

        def attempt() -> int:
            last: Appended | None = None
            try:
                with self._database.turn(name) as turn:
                    for appended in unsure:
                        if turn.rows(self._database.stored, **appended._asdict()):
                            return appended.seq
                    unsure.clear()  # in this turn nobody else can still be storing them
                    now, read = self._database.now(turn), partial(self._events, turn.rows, name)
                    events, expected = decide(read, now)
                    with turn.writing() as connection:
                        rows = _new_rows(connection, name, events, expected)
                        if not rows:
                            return expected - 1
                        try:
                            connection.executemany(_APPEND, rows)
                        except self._database.driver.IntegrityError as taken:
                            raise _conflict(name, expected) from taken  # by one who did not wait
                        number = self._database.announce(connection, name)
                        last = Appended(name, rows[-1]["seq"], rows[-1]["hash"], number)
                    return last.seq
            except LostConnectionError:  # perhaps after the events were stored
                if last is not None:
                    unsure.append(last)
                raise

        try:
            return self._database.persist(attempt)
        except StorageError as failed:
            if unsure:  # whatever came of later attempts
                raise StorageError(
                    f"{self._database.place} did not confirm the last step, which may have been "
                    f"stored or not ({reason(failed.__cause__ or failed)}). To tell the same "
                    f"labels again is harmless; before another step, look if it was taken."
                ) from failed
            if isinstance(failed, LostConnectionError):
                raise StorageError(f"{failed} Nothing was stored; try again.") from failed
            raise

    def events(self, campaign: str, since: int = 0, *, draws: bool = True) -> list[StoredEvent]:
        """The events from place `since` on; empty for a campaign that does not exist.

        Without `draws` those of the type "drawn", which are most of a log, have no content: of
        them only the places and the hashes are read.
        """
        return self._events(self._database.rows, _checked(campaign), since, draws=draws)

    def _events(
        self, read: Callable[..., list[Any]], name: str, since: int, *, draws: bool = True
    ) -> list[StoredEvent]:
        since = min(whole("since", since, least=0), _LARGEST)
        rows = read(_SINCE if draws else _WITHOUT_DRAWS, of=name, since=since)
        return [self._stored(name, *row) for row in rows]

    def hashes(self, campaign: str, since: int = 0) -> dict[int, str]:
        """The hashes of the events from place `since` on, by their places."""
        return dict(self._database.rows(_HASHES, of=_checked(campaign), since=since))

    def last(self, campaign: str) -> StoredEvent | None:
        """The last event."""
        rows = self._database.rows(_LAST, of=_checked(campaign))
        return self._stored(campaign, *rows[0]) if rows else None

    def count(self, campaign: str) -> int:
        """The number of events; 0 for a campaign that does not exist."""
        rows = self._database.rows(_END, of=_checked(campaign))
        return int(rows[0][0]) + 1 if rows else 0

    def now(self) -> datetime:
        """The time by the clock of a server; in a file, by that of this machine."""
        return self._database.persist(lambda: self._database.now(Turn(self._database)))

    def names(self) -> list[str]:
        """The campaigns that have events, sorted."""
        return sorted(name for (name,) in self._database.rows(_NAMES))

    def watching(self, campaign: str) -> AbstractContextManager[Callable[[float], None]]:
        """A function that waits until there may be new events, about as long as it is told to."""
        return self._database.watching(_checked(campaign))

    def rename(self, campaign: str, name: str, event: Mapping[str, Any], *, expected: int) -> None:
        """Move all events to another name and add `event`, in one step.

        Raises a `ConflictError` like `append`, and an `InputError` if the name is taken.
        """
        old, new = _checked(campaign), _checked(name)
        with self._database.turn(old) as turn, turn.writing() as connection:
            rows = _new_rows(connection, old, [event], expected)
            if not expected:
                raise _conflict(old, expected)
            if connection.execute(_END, {"of": new}).fetchone() is not None:
                raise InputError(f"There is a campaign {new!r} already: choose another name.")
            connection.executemany(_APPEND, rows)
            connection.execute(_MOVE, {"of": old, "to": new})
            _limit_tokens(connection, old, new)

    def delete(self, campaign: str) -> None:
        """Remove all events of a campaign, in one step."""
        name = _checked(campaign)
        with self._database.turn(name) as turn, turn.writing() as connection:
            connection.execute(_ERASE, {"of": name})
            _limit_tokens(connection, name, None)

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store at {self._database.place}>"

    def _stored(
        self, campaign: str, seq: int, prev_hash: str, hash_: str, body: object
    ) -> StoredEvent:
        if body is None:
            return StoredEvent(seq, prev_hash, hash_, {}, None)
        event = parse_event(body)
        if not (isinstance(body, str) and isinstance(event, dict)):
            raise StorageError(
                f"Event {seq} of {campaign!r} in {self._database.place} cannot be read, so the "
                f"database was changed by something else ({event}). Go back to a backup."
            )
        return StoredEvent(seq, prev_hash, hash_, event, body)


def _checked(campaign: object) -> str:
    if not (isinstance(campaign, str) and 1 <= len(campaign) <= 200 and campaign.isprintable()):
        raise InputError(
            f"The name of a campaign must be 1 to 200 printable characters; it is {campaign!r:.80}."
        )
    return campaign


def _new_rows(
    connection: Connection, campaign: str, events: Sequence[Mapping[str, Any]], expected: int
) -> list[dict[str, Any]]:
    """The rows of events behind the `expected` ones, with hashes and what the columns repeat."""
    last, hash_ = connection.execute(_END, {"of": campaign}).fetchone() or (-1, GENESIS)
    if last + 1 != expected:
        raise _conflict(campaign, expected)
    rows = []
    for seq, event in enumerate(events, start=expected):
        body = canonical(event)
        row = {"campaign": campaign, "seq": seq, "prev_hash": hash_, "body": body}
        hash_ = hash_of(hash_, body)
        rows.append({**row, "hash": hash_, **event_columns(event)})
    return rows


def _conflict(campaign: str, expected: int) -> ConflictError:
    return ConflictError(
        f"{campaign!r} no longer has {expected} events, because somebody else wrote to it at the "
        f"same time. Nothing was stored; load it again and try again."
    )


_FORMS = (
    "Write sqlite:///levelled.db for a file in this folder, or sqlite:////home/ann/levelled.db "
    "with four slashes for a full path, or postgresql://user@host/database for a server"
)


class Upgrade(NamedTuple):
    """The version of a storage before and after, and the copy that was made in between."""

    before: str
    after: str
    backup: Path | None


def open_store(url: str | Path = DEFAULT_STORAGE, *, create: bool = True) -> Store:
    """The store that `url` names: sqlite:///levelled.db, a path, or postgresql://user@host/name.

    An SQLite file that does not exist yet is made, and the tables of an empty database, unless
    `create` is False. A database of an older version is refused until `upgrade` has been run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/my.db") as store:
    ...     store.append("digits", [{"type": "created"}], expected=0)
    ...     store.names()
    0
    ['digits']
    """
    database = _connect(url, create=create)
    try:
        _make_ready(database, create=create)
    except BaseException:
        database.close()
        raise
    return Store(database)


def find_store(url: str | Path) -> Store | None:
    """The store that `url` names, or None where nothing is stored yet; nothing is made there."""
    with closing(_connect(url, create=True)) as database:
        is_there = database.is_there()
    return open_store(url) if is_there else None


def place_of(url: str | Path) -> str:
    """The address of a storage as it may be shown: without a password.

    >>> place_of("postgresql://team:secret@host/levelled")
    'postgresql://team@host/levelled'
    """
    from levelled.campaigns.stores.postgresql import parse_url

    parsed = parse_url(str(url).strip())
    return _hide(str(url)) if parsed is None else parsed[1]


def upgrade(url: str | Path) -> Upgrade:
    """Bring the database that `url` names up to date, after a backup of its file beside it.

    It is one transaction: if a step fails, the database stays at the version it had. A
    server has backups of its own: run pg_dump first.
    """
    with closing(_connect(url, create=False)) as database:
        with database.reading() as connection:
            before = _version(connection, database)
        if before == VERSION:
            return Upgrade(before, before, None)
        kept = database.keep_version(before) if isinstance(database, SQLite) else None
        with database.turn("") as turn, turn.writing() as connection:
            if _version(connection, database) == before:  # nobody was faster
                upgrade_tables(connection, before)
    return Upgrade(before, VERSION, kept)


def backup(url: str | Path, to: str | Path) -> Path:
    """Write the storage that `url` names to a new SQLite file, also while others use it.

    An SQLite file is copied by SQLite itself, whatever its version. The file alone, copied by
    other means, may lack the newest events, which SQLite keeps in a second file (-wal) for a while.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_store(f"{folder}/my.db") as store:
    ...         _ = store.append("digits", [{"type": "created"}], expected=0)
    ...         safe = backup(f"{folder}/my.db", f"{folder}/safe.db")
    ...     with open_store(safe) as store:
    ...         store.names()
    ['digits']
    """
    target = Path(str(to).removeprefix("sqlite:///"))
    if "://" in str(to) and not str(to).startswith("sqlite:///"):
        raise StorageError(f"A backup is a file, and this is none: {_hide(str(to))!r}.")
    with closing(_connect(url, create=False)) as database:
        if isinstance(database, SQLite):
            with database.reading() as connection:
                _version(connection, database)
            database.backup(target)
            return target
    if target.exists():
        raise StorageError(f"{target} is there already, and a backup replaces nothing.")
    copy(url, f"sqlite:///{target}")
    return target


def copy(from_url: str | Path, to_url: str | Path) -> list[str]:
    """Copy all campaigns, and return the names of those that are new in the target or longer.

    A campaign that has gone on since it was copied is continued. Nothing is copied if a log does
    not verify, because its copy would, or if a campaign has different events in the two storages.
    """
    with open_store(from_url, create=False) as source:
        logs = {name: source.events(name) for name in source.names()}
        for name, events in logs.items():
            if broken := verify(events):
                raise StorageError(
                    f"{name!r} cannot be trusted from event {broken.seq} on: {broken.because}. "
                    f"Nothing was copied; levelled audit says more."
                )
    with open_store(to_url) as target:
        there = {name: _count_common(target, name, events) for name, events in logs.items()}
        longer = [name for name, events in logs.items() if there[name] < len(events)]
        for name in longer:
            new = [stored.event for stored in logs[name][there[name] :]]
            target.append(name, new, expected=there[name])
    return longer


def _count_common(target: Store, name: str, events: list[StoredEvent]) -> int:
    """The number of events that a campaign has in the target, which must be those of its log."""
    last = target.last(name)
    if last is None:
        return 0
    if last.seq >= len(events) or last.hash != events[last.seq].hash:
        raise ConflictError(
            f"{name!r} is in both storages with different events, so nothing was copied. "
            f"Copy to a new storage."
        )
    return last.seq + 1


def _make_ready(database: Database, *, create: bool) -> None:
    with database.reading() as connection:
        version = version_of(connection, database)
    if version not in (None, VERSION):
        raise StorageError(
            f"{database.place} was made by an older Levelled (storage version {version}, now "
            f"{VERSION}). Run: levelled storage upgrade --storage "
            f"{shlex.quote(database.place)}"
        )
    if version is None and not create:
        raise StorageError(
            f"{database.place} is empty: it has no campaigns yet. levelled create makes the first."
        )
    database.prepare()
    if version is None:
        with database.turn("") as turn, turn.writing() as connection:
            if version_of(connection, database) is None:  # nobody was faster
                create_tables(connection)


def _version(connection: Connection, database: Database) -> str:
    version = version_of(connection, database)
    if version is None:
        raise StorageError(f"{database.place} is empty: there is nothing in it.")
    return version


def _connect(url: str | Path, *, create: bool) -> Database:
    """The database that `url` names, before its version is checked."""
    text = str(url).strip()
    if not text.isprintable():
        raise StorageError(f"{_hide(text)!r} is no storage. {_FORMS}.")
    kind, separator, rest = text.partition("://")
    if not separator and text.endswith(".db") and not text.startswith("sqlite:"):
        return _sqlite(text, create=create)
    if separator and kind != "sqlite":
        from levelled.campaigns.stores.postgresql import PostgreSQL, parse_url  # SQLite needs none

        parsed = parse_url(text)
        if parsed is not None:
            return PostgreSQL(*parsed)
        raise StorageError(
            f"This names no database that Levelled knows: {_hide(text)!r}. {_FORMS}."
        )
    path = rest.removeprefix("/")
    if path == rest or "?" in path or path in ("", ":memory:"):
        raise StorageError(f"This storage names no file: {_hide(text)!r}. {_FORMS}.")
    return _sqlite(path, create=create)


def _hide(address: str) -> str:
    """An address that cannot be parsed, without what may be a password in it."""
    address = re.sub(r"(?<=password=)[^&]*", "...", address)
    return re.sub(r"(?s)://.*@", "://...@", address)


def _sqlite(path: str, *, create: bool) -> Database:
    database = SQLite(Path(path), f"sqlite:///{path}")
    if not create and not database.is_there():
        none_yet = "No campaigns here yet: levelled create makes the first, or name --storage."
        missing = f"There is no database at {database.place}. {_FORMS}."
        raise StorageError(none_yet if database.place == DEFAULT_STORAGE else missing)
    return database
