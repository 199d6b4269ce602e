"""Factors and passkeys require a proved address, so their rows need not record it."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the columns, which were in no release."""
    for table in ("factors", "passkeys"):
        op.drop_column(table, "proven_email")


def downgrade() -> None:
    """Add them again, empty."""
    for table in ("factors", "passkeys"):
        op.add_column(table, sa.Column("proven_email", sa.String(320)))
