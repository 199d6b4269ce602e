"""Sessions show where and when they were used; users can be disabled."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns; cookies of existing sessions persist after the browser is closed."""
    op.add_column("users", sa.Column("disabled_at", time))
    op.add_column("access_tokens", sa.Column("last_used", time))
    op.add_column(
        "access_tokens",
        sa.Column("remember_me", sa.Boolean(), nullable=False, server_default=sa.true()),
    )
    op.add_column("access_tokens", sa.Column("user_agent", sa.String(200)))
    op.add_column("access_tokens", sa.Column("address", sa.String(64)))


def downgrade() -> None:
    """Drop the columns: disabled users can log in again."""
    for name in ("address", "user_agent", "remember_me", "last_used"):
        op.drop_column("access_tokens", name)
    op.drop_column("users", "disabled_at")
