"""The languages of the client whose request recorded an event of the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; the languages of existing events are unknown."""
    op.add_column("outbox", sa.Column("languages", sa.String(20)))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("outbox", "languages")
