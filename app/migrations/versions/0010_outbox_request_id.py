"""The request that recorded an event of the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; existing events have no request id."""
    op.add_column("outbox", sa.Column("request_id", sa.String(64)))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("outbox", "request_id")
