"""Open, upgrade, copy and back up a storage, which one string names everywhere."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from levelled.campaigns.log.hashing import StoredEvent, verify
from levelled.campaigns.options import DEFAULT_STORAGE
from levelled.campaigns.stores.database import Database
from levelled.campaigns.stores.postgresql import PostgreSQL, parse_url
from levelled.campaigns.stores.schema import VERSION, create_tables, upgrade_tables, version_of
from levelled.campaigns.stores.sqlite import SQLite
from levelled.campaigns.stores.store import SQLStore, Store
from levelled.errors import ConflictError, StorageError

_FORMS = (
    "Write sqlite:///levelled.db for a file in this folder, or sqlite:////home/ann/levelled.db "
    "with four slashes for a full path, or postgresql://user@host/database for a server"
)


class Upgrade(NamedTuple):
    """The version of a storage before and after, and the copy that was made in between."""

    before: str
    after: str
    backup: Path | None


def open_store(url: str | Path = DEFAULT_STORAGE, *, create: bool = True) -> SQLStore:
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
    return SQLStore(database)


def find_store(url: str | Path) -> SQLStore | None:
    """The store that `url` names, or None where nothing is stored yet; nothing is made there."""
    database = _connect(url, create=True)
    is_there = database.is_there()
    database.close()
    return open_store(url) if is_there else None


def place_of(url: str | Path) -> str:
    """The address of a storage as it may be shown: without a password.

    >>> place_of("postgresql://team:secret@host/levelled")
    'postgresql://team@host/levelled'
    """
    parsed = parse_url(str(url).strip())
    return _hide(str(url)) if parsed is None else parsed[1]


def upgrade(url: str | Path) -> Upgrade:
    """Bring the database that `url` names up to date, after a backup of its file beside it.

    It is one transaction: if a step fails, the database stays at the version it had. A
    server has backups of its own: run pg_dump first.
    """
    database = _connect(url, create=False)
    try:
        with database.reading() as connection:
            before = _version(connection, database)
        if before == VERSION:
            return Upgrade(before, before, None)
        kept = database.keep_version(before) if isinstance(database, SQLite) else None
        with database.turn("") as turn, turn.writing() as connection:
            if _version(connection, database) == before:  # nobody was faster
                upgrade_tables(connection, before)
    finally:
        database.close()
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
    database = _connect(url, create=False)
    try:
        if isinstance(database, SQLite):
            with database.reading() as connection:
                _version(connection, database)
            database.backup(target)
            return target
    finally:
        database.close()
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
        version = version_of(connection, database.place)
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
            if version_of(connection, database.place) is None:  # nobody was faster
                create_tables(connection)


def _version(connection: Connection, database: Database) -> str:
    version = version_of(connection, database.place)
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
    return re.sub(
        r"://[^/]*@|(?<=password=)[^&]*",
        lambda match: "://...@" if "@" in match[0] else "...",
        address,
    )


def _sqlite(path: str, *, create: bool) -> Database:
    place = f"sqlite:///{path}"
    database = SQLite(Path(path), place)
    if not create and not Path(path).exists():
        raise StorageError(f"There is no database at {place}. {_FORMS}.")
    return database
