"""Open, upgrade and copy a storage, which one string names everywhere."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from levelled.campaigns.hashing import verify
from levelled.campaigns.stores.database import Database, SQLite
from levelled.campaigns.stores.schema import VERSION_TABLE, VERSIONS, create_tables, version_of
from levelled.campaigns.stores.store import SQLStore
from levelled.errors import ConflictError, StorageError

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

__all__ = ["DEFAULT_STORAGE", "copy", "find_store", "migrations", "open_store", "upgrade"]

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""The storage used where none is named: a file in the current folder."""

_FORMS = (
    "Write sqlite:///levelled.db for a file in this folder, or sqlite:////home/ann/levelled.db "
    "with four slashes for a full path"
)


def open_store(url: str | Path = DEFAULT_STORAGE, *, create: bool = True) -> SQLStore:
    """The store that `url` names: sqlite:///levelled.db, sqlite:////full/path.db, or a path.

    A database that does not exist yet is made, unless `create` is False. One of an older version
    is refused until `upgrade` has been run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/my.db") as store:
    ...     store.append("digits", [{"type": "created"}], expected=0)
    ...     store.names()
    0
    ['digits']
    """
    database = _connect(url, create=create)
    try:
        _make_ready(database)
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


def upgrade(url: str | Path) -> tuple[str, str]:
    """Migrate the database that `url` names, and return its version before and after.

    All steps are one transaction: if one fails, the database stays at the version it had.
    """
    database = _connect(url, create=False)
    try:
        with database.writing() as connection:
            before = version_of(connection, database.place)
            if before is None:
                raise StorageError(f"{database.place} is empty, so there is nothing to upgrade.")
            if before != VERSIONS[-1]:
                _migrate(connection, before)
    finally:
        database.close()
    return before, VERSIONS[-1]


def copy(from_url: str | Path, to_url: str | Path) -> list[str]:
    """Copy all campaigns, and return the names of those that were new in the target.

    Nothing is copied if a log does not verify, because its copy would, or if a campaign has
    different events in the two storages.
    """
    with open_store(from_url, create=False) as source, open_store(to_url) as target:
        missing = []
        for name in source.names():
            there = target.last(name)
            if there is None:
                missing.append(name)
            elif there != source.last(name):
                raise ConflictError(
                    f"{name!r} is in both storages with different events, so nothing was copied. "
                    f"Copy to a new storage."
                )
        for name in missing:
            broken = verify(source.events(name))
            if broken:
                raise StorageError(
                    f"{name!r} cannot be trusted from event {broken.seq} on: {broken.because}. "
                    f"Nothing was copied; levelled audit says more."
                )
        for name in missing:
            target.append(name, [stored.event for stored in source.events(name)], expected=0)
    return missing


def migrations() -> "ScriptDirectory":
    """The steps from each version to the next."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(__file__).parent / "migrations"))


def _migrate(connection: Connection, before: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext

    steps = migrations()
    plan = steps._upgrade_revs(VERSIONS[-1], before)
    with EnvironmentContext(Config(), steps, fn=lambda *_: plan) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        environment.run_migrations()


def _make_ready(database: Database) -> None:
    with database.reading() as connection:
        version = version_of(connection, database.place)
    if version not in (None, VERSIONS[-1]):
        raise StorageError(
            f"{database.place} was made by an older Levelled (storage version {version}, now "
            f"{VERSIONS[-1]}). Take a copy of it, then run: levelled storage upgrade --storage "
            f"{shlex.quote(database.place)}"
        )
    database.prepare()
    if version is None:
        with database.writing() as connection:
            if version_of(connection, database.place) is None:  # nobody was faster
                create_tables(connection)


def _connect(url: str | Path, *, create: bool) -> Database:
    """The database that `url` names, before its version is checked."""
    text = str(url).strip()
    if not text.isprintable():
        raise StorageError(f"{text!r} is no storage. {_FORMS}.")
    kind, separator, rest = text.partition("://")
    if not separator and text.endswith(".db") and not text.startswith("sqlite:"):
        return _sqlite(text, create=create)
    if separator and kind != "sqlite":
        raise StorageError(f"Levelled knows no storage of the kind {kind!r}. {_FORMS}.")
    path = rest.removeprefix("/")
    if path == rest or "?" in path or path in ("", ":memory:"):
        raise StorageError(f"This storage names no file: {text!r}. {_FORMS}.")
    return _sqlite(path, create=create)


def _sqlite(path: str, *, create: bool) -> Database:
    place = f"sqlite:///{path}"
    database = SQLite(Path(path), place)
    if not create and not Path(path).exists():
        raise StorageError(f"There is no database at {place}. {_FORMS}.")
    return database
