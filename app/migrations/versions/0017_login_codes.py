"""Pending logins by mail."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "login_codes",
        sa.Column("ticket_digest", sa.String(64), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ticket_digest", name="pk_login_codes"),
    )
    op.create_index("ix_login_codes_expires_at", "login_codes", ["expires_at"])


def downgrade() -> None:
    """Drop the table and the tickets of pending logins."""
    op.execute("DELETE FROM access_tokens WHERE scope = 'login-code'")
    op.drop_table("login_codes")
