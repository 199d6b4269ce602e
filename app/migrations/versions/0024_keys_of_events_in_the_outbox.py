"""Keys of events in the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the tables to what the models have."""
    with op.batch_alter_table("outbox") as batch_op:
        batch_op.add_column(sa.Column("key", sa.String(length=255), nullable=True))
        batch_op.create_index(
            "ix_outbox_event_key",
            ["event", "key"],
            unique=True,
            sqlite_where=sa.text("key IS NOT NULL"),
            postgresql_where=sa.text("key IS NOT NULL"),
        )


def downgrade() -> None:
    """Change them back."""
    with op.batch_alter_table("outbox") as batch_op:
        batch_op.drop_index(
            "ix_outbox_event_key",
            sqlite_where=sa.text("key IS NOT NULL"),
            postgresql_where=sa.text("key IS NOT NULL"),
        )
        batch_op.drop_column("key")
