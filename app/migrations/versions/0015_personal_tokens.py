"""Personal tokens: their names and scopes."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; existing tokens leave them empty."""
    op.add_column("access_tokens", sa.Column("name", sa.String(100)))
    op.add_column("access_tokens", sa.Column("scopes", sa.Text()))


def downgrade() -> None:
    """Drop the columns and all personal tokens."""
    op.execute("DELETE FROM access_tokens WHERE scope = 'personal'")
    for name in ("scopes", "name"):
        op.drop_column("access_tokens", name)
