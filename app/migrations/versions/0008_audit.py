"""The audit log."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
user_id = id_storage(app_id_form().name)


def upgrade() -> None:
    """Create the table; without foreign keys, because records outlive deleted users."""
    op.create_table(
        "audit",
        sa.Column("id", row_id, nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("actor_id", user_id),
        sa.Column("user_id", user_id),
        sa.Column("address", sa.String(64)),
        sa.Column("request_id", sa.String(64)),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_user_id", "audit", ["user_id", "id"])
    op.create_index("ix_audit_action", "audit", ["action", "time"])


def downgrade() -> None:
    """Drop the table with all records."""
    op.drop_table("audit")
