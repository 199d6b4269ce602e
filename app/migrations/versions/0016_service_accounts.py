"""Service accounts: users who cannot log in."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no existing user is a service account."""
    op.add_column(
        "users",
        sa.Column("service_account", sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Drop the column: service accounts become users without a password."""
    op.drop_column("users", "service_account")
