"""Users are found by email or username in any realm."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Begin the unique index with the email, and index usernames as typed."""
    op.create_index("uq_users_email_realm", "users", ["email", "realm"], unique=True)
    op.drop_index("uq_users_realm_email", "users")
    op.create_index("ix_users_username", "users", ["username"])


def downgrade() -> None:
    """Begin the unique index with the realm again."""
    op.drop_index("ix_users_username", "users")
    op.create_index("uq_users_realm_email", "users", ["realm", "email"], unique=True)
    op.drop_index("uq_users_email_realm", "users")
