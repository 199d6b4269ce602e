"""Passkeys, and pending ceremonies."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
user_id = id_storage(app_id_form().name)
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "passkeys",
        sa.Column("id", row_id, nullable=False),
        sa.Column("user_id", user_id, nullable=False),
        sa.Column("name", sa.String(100)),
        sa.Column("credential_id", sa.String(1364), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("transports", sa.JSON(), nullable=False),
        sa.Column("backup_eligible", sa.Boolean(), nullable=False),
        sa.Column("backed_up", sa.Boolean(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("last_used", time),
        sa.Column("proven_email", sa.String(320)),
        sa.PrimaryKeyConstraint("id", name="pk_passkeys"),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_passkeys_user_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_passkeys_user_id", "passkeys", ["user_id"])
    op.create_table(
        "passkey_challenges",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_id", user_id),
        sa.Column("expires_at", time, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_passkey_challenges"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_passkey_challenges_user_id", ondelete="CASCADE"
        ),
    )
    for column in ("user_id", "expires_at"):
        op.create_index(f"ix_passkey_challenges_{column}", "passkey_challenges", [column])


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("passkey_challenges")
    op.drop_table("passkeys")
