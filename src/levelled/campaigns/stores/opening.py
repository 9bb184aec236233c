"""From the one string that names a storage to the store itself."""

import shlex
from pathlib import Path

from levelled.campaigns.stores.database import Database
from levelled.campaigns.stores.schema import VERSIONS, create_tables, version_of
from levelled.campaigns.stores.sql import SQLStore
from levelled.campaigns.stores.sqlite import SQLite
from levelled.errors import StorageError

__all__ = ["DEFAULT_STORAGE", "connect", "open_store"]

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""Where campaigns are kept unless told otherwise: a file in the current folder."""

_FORMS = (
    "Write sqlite:///levelled.db for a file in this folder, or sqlite:////home/ann/levelled.db "
    "with four slashes for a full path"
)


def open_store(url: str | Path = DEFAULT_STORAGE, *, create: bool = True) -> SQLStore:
    """The store that `url` names: sqlite:///levelled.db, sqlite:////full/path.db, or a path.

    A database that is not there yet is made, unless `create` is False. One of an older version
    is refused until `upgrade` has been asked for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/my.db") as store:
    ...     store.append("digits", [{"type": "created"}], expected=0)
    ...     store.names()
    0
    ['digits']
    """
    database = connect(url, create=create)
    try:
        _make_ready(database)
    except BaseException:
        database.close()
        raise
    return SQLStore(database)


def _make_ready(database: Database) -> None:
    with database.reading() as connection:
        version = version_of(connection, database.place)
    if version not in (None, VERSIONS[-1]):
        raise StorageError(
            f"{database.place} was made by an older Levelled (storage version {version}, now "
            f"{VERSIONS[-1]}). Take a copy of it, then run: levelled storage upgrade --storage "
            f"{shlex.quote(database.place)}"
        )
    database.settle()
    if version is None:
        with database.writing() as connection:
            if version_of(connection, database.place) is None:  # nobody was faster
                create_tables(connection)


def connect(url: str | Path, *, create: bool) -> Database:
    """The database that `url` names, whatever is in it."""
    text = str(url).strip()
    if not text.isprintable():
        raise StorageError(f"This is no storage: {text!r}. {_FORMS}.")
    kind, found, rest = text.partition("://")
    if not found and text.endswith(".db") and not text.startswith("sqlite:"):
        return _sqlite(text, create=create)
    if found and kind != "sqlite":
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
