"""Factors and passkeys are added to proved addresses only, which need not be noted with each."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the columns, which no release had."""
    for table in ("factors", "passkeys"):
        op.drop_column(table, "proven_email")


def downgrade() -> None:
    """Add them again, without what they had."""
    for table in ("factors", "passkeys"):
        op.add_column(table, sa.Column("proven_email", sa.String(320)))
