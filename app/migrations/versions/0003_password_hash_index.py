"""An index of password hashes by their beginning."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Sort hashes by code point, as SQLite does by default, and index them."""
    _collate("C")
    op.create_index("ix_users_password_hash", "users", ["password_hash"])


def downgrade() -> None:
    """Drop the index."""
    op.drop_index("ix_users_password_hash", "users")
    _collate("default")


def _collate(collation: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        kind = sa.String(255, collation=collation)
        op.alter_column("users", "password_hash", type_=kind, existing_nullable=False)
