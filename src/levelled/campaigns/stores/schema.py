"""The tables of a store, and their version."""

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
)

from levelled.errors import StorageError

VERSIONS = ("0001", "0002", "0003")
"""The revisions in `migrations`, oldest first; a new database starts at the last one."""

VERSION_TABLE = "levelled_version"

METADATA = MetaData()

EVENTS = Table(
    "events",
    METADATA,
    Column("campaign", String(200), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("prev_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
)

SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    Column("campaign", String(200), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("created", String(40), nullable=False),
)

_VERSION = Table(  # as Alembic makes it
    VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True)
)


def version_of(connection: Connection, place: str) -> str | None:
    """The version of the tables; None for a database without any."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    version = connection.scalar(select(_VERSION)) if VERSION_TABLE in tables else None
    if version is None:
        raise StorageError(
            f"{place} is a database, but not one of Levelled: it has the tables "
            f"{', '.join(sorted(tables)[:3])}. Nothing in it was changed; name another place."
        )
    if version not in VERSIONS:
        raise StorageError(
            f"{place} was made by a newer Levelled (storage version {version}; this one knows up "
            f"to {VERSIONS[-1]}). Update with: pip install --upgrade levelled"
        )
    return str(version)


def create_tables(connection: Connection) -> None:
    """Make the tables of the newest version in an empty database."""
    METADATA.create_all(connection, checkfirst=False)
    _VERSION.create(connection)
    connection.execute(_VERSION.insert().values(version_num=VERSIONS[-1]))
