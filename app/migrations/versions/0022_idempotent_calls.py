"""Calls with an `Idempotency-Key`, and their answers."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

user_id = id_storage(app_id_form().name)
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "idempotent_calls",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_id", user_id),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("claim", sa.String(32), nullable=False),
        sa.Column("started", time, nullable=False),
        sa.Column("claimed_until", time, nullable=False),
        sa.Column("expires_at", time, nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.PrimaryKeyConstraint("digest", name="pk_idempotent_calls"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_idempotent_calls_user_id", ondelete="CASCADE"
        ),
    )
    for column in ("user_id", "expires_at"):
        op.create_index(f"ix_idempotent_calls_{column}", "idempotent_calls", [column])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("idempotent_calls")
