"""How and when a session's user was authenticated."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; the methods of open sessions are unknown."""
    op.add_column("access_tokens", sa.Column("methods", sa.String(64)))
    op.add_column("access_tokens", sa.Column("authenticated_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Drop the columns."""
    for name in ("authenticated_at", "methods"):
        op.drop_column("access_tokens", name)
