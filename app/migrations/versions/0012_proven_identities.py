"""Identities that somebody else may have added before the owner proved the address."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

identities = sa.table(
    "identities", sa.column("user_id"), sa.column("created"), sa.column("proven_email", sa.String())
)
users = sa.table(
    "users", sa.column("id"), sa.column("email"), sa.column("email_verified", sa.Boolean())
)
audit = sa.table("audit", sa.column("user_id"), sa.column("action"), sa.column("time"))


def upgrade() -> None:
    """Add the column; verified users keep their identities unless the audit log raises doubts."""
    op.add_column("identities", sa.Column("proven_email", sa.String(320)))
    verified = sa.select(users.c.email).where(
        users.c.id == identities.c.user_id, users.c.email_verified
    )
    verified_later = sa.exists().where(
        audit.c.user_id == identities.c.user_id,
        audit.c.action == "email-verified",
        audit.c.time > identities.c.created,
    )
    proven = identities.update().where(~verified_later)
    op.execute(proven.values(proven_email=verified.scalar_subquery()))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("identities", "proven_email")
