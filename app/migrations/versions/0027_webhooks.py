"""Webhooks and their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "webhooks",
        sa.Column("id", big, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("is_ordered", sa.Boolean(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("old_secret", sa.Text()),
        sa.Column("old_secret_until", time),
        sa.Column("created", time, nullable=False),
        sa.Column("position", sa.JSON(), nullable=False),
        sa.Column("read_at", time, nullable=False),
        sa.Column("next_attempt", time, nullable=False),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", time),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", big, nullable=False),
        sa.Column("webhook_id", big, nullable=False),
        sa.Column("message_id", sa.String(40), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("row_key", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("deadline", time, nullable=False),
        sa.Column("next_attempt", time, nullable=False),
        sa.Column("finished", time),
        sa.Column("status", sa.Integer()),
        sa.Column("answer", sa.String(200)),
        sa.Column("last_error", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["webhooks.id"],
            name="fk_webhook_deliveries_webhook_id_webhooks",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    for columns in (
        ["webhook_id", "state", "next_attempt"],
        ["webhook_id", "state", "row_key", "id"],
        ["created"],
    ):
        op.create_index(f"ix_webhook_deliveries_{'_'.join(columns)}", "webhook_deliveries", columns)


def downgrade() -> None:
    """Drop them."""
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
