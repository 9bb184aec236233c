"""Bring an older database to the current version, when somebody asks for it."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from levelled.campaigns.stores.opening import connect
from levelled.campaigns.stores.schema import VERSION_TABLE, VERSIONS, version_of
from levelled.errors import StorageError

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

__all__ = ["migrations", "upgrade"]


def upgrade(url: str | Path) -> tuple[str, str]:
    """Migrate the database that `url` names, and return its version before and after.

    All steps are one transaction: if one fails, the database stays at the version it had.
    """
    database = connect(url, create=False)
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
