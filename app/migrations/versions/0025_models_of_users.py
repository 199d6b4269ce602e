"""Several models of users."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

EMAILS, NAMES = "uq_users_email_realm", "uq_users_realm_username_key"


def upgrade() -> None:
    """Add the model to users, who are of the first one, and to what is unique in it.

    A copy of the table, made by older releases, may lack the indexes.
    """
    kind = sa.String(63)
    op.add_column("users", sa.Column("principal_type", kind, nullable=False, server_default=""))
    columns = ["email", "realm", "principal_type"]
    op.create_index(f"{EMAILS}_type", "users", columns, unique=True)
    columns = ["realm", "username_key", "principal_type"]
    op.create_index(f"{NAMES}_type", "users", columns, unique=True)
    op.drop_index(EMAILS, "users", if_exists=True)
    op.drop_index(NAMES, "users", if_exists=True)


def downgrade() -> None:
    """Drop the model; it fails if users of two models have the same email or username."""
    op.create_index(EMAILS, "users", ["email", "realm"], unique=True)
    op.create_index(NAMES, "users", ["realm", "username_key"], unique=True)
    op.drop_index(f"{EMAILS}_type", "users")
    op.drop_index(f"{NAMES}_type", "users")
    op.drop_column("users", "principal_type")
