"""Log positions of the last writes of sessions, for reads from standbys."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; it is empty for existing sessions."""
    op.add_column("access_tokens", sa.Column("write_position", sa.BigInteger()))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("access_tokens", "write_position")
