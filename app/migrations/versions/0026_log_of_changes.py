"""The log of changes."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# The triggers of each database, and their functions, which are created after the migrations.
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ostiary_changes_%'"
FUNCTIONS = "SELECT proname FROM pg_proc WHERE proname LIKE 'ostiary_changes_%'"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "change_log",
        sa.Column("seq", big, nullable=False),
        sa.Column("transaction_id", sa.BigInteger()),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("row_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(6), nullable=False),
        sa.Column("names", sa.JSON()),
        sa.Column("before", sa.JSON()),
        sa.Column("after", sa.JSON()),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text()),
        sa.Column("request_id", sa.Text()),
        sa.PrimaryKeyConstraint("seq", name="pk_change_log"),
        sqlite_autoincrement=True,
    )
    for column in ("transaction_id", "created"):
        op.create_index(f"ix_change_log_{column}", "change_log", [column])
    op.create_index("ix_change_log_model", "change_log", ["model", "seq"])
    op.create_table(
        "change_epoch",
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("epoch", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_change_epoch"),
    )
    op.create_table(
        "change_actor",
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_change_actor"),
    )


def downgrade() -> None:
    """Drop them, and the triggers."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for name in connection.execute(sa.text(FUNCTIONS)).scalars().all():
            op.execute(f'DROP FUNCTION "{name}" CASCADE')
    else:
        for name in connection.execute(sa.text(TRIGGERS)).scalars().all():
            op.execute(f'DROP TRIGGER "{name}"')
    op.drop_table("change_actor")
    op.drop_table("change_epoch")
    op.drop_table("change_log")
