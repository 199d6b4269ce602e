"""A mailed token proves the address that it was mailed to."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

users = sa.table("users", sa.column("id"), sa.column("email"))
tokens = sa.table(
    "access_tokens", sa.column("user_id"), sa.column("scope"), sa.column("email", sa.String())
)


def upgrade() -> None:
    """Add the column; pending resets were mailed to their user's address."""
    op.add_column("access_tokens", sa.Column("email", sa.String(320)))
    owner = sa.select(users.c.email).where(users.c.id == tokens.c.user_id).scalar_subquery()
    op.execute(tokens.update().where(tokens.c.scope.is_not(None)).values(email=owner))


def downgrade() -> None:
    """Drop the column, and the tokens that require it."""
    scopes = ("verify-email", "change-email")
    op.execute(tokens.delete().where(tokens.c.scope.in_(scopes)))
    op.drop_column("access_tokens", "email")
