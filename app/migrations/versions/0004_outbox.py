"""The outbox: events, and their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "outbox",
        sa.Column("id", row_id, nullable=False),
        sa.Column("event", sa.String(64), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("lifetime", sa.Double(), nullable=False),
        sa.Column("deadline", time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_created", "outbox", ["created"])
    op.create_table(
        "deliveries",
        sa.Column("id", row_id, nullable=False),
        sa.Column("event_id", row_id, nullable=False),
        sa.Column("subscriber", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt", time, nullable=False),
        sa.Column("is_retried", sa.Boolean(), nullable=False),
        sa.Column("last_error", sa.String(200)),
        sa.Column("finished", time),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.ForeignKeyConstraint(
            ["event_id"], ["outbox.id"], name="fk_deliveries_event_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_event_id", "deliveries", ["event_id"])
    op.create_index("ix_deliveries_state_next_attempt", "deliveries", ["state", "next_attempt"])


def downgrade() -> None:
    """Drop the tables, and with them all pending deliveries."""
    op.drop_table("deliveries")
    op.drop_table("outbox")
