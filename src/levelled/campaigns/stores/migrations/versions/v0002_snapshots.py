"""Snapshots of computed state, so that not every command computes it again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make room for one snapshot a campaign."""
    op.create_table(
        "snapshots",
        sa.Column("campaign", sa.String(200), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
