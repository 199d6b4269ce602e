"""Identities at providers; users without a password."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
user_id = id_storage(app_id_form().name)
time = sa.DateTime(timezone=True)
# Matches no password.
NO_PASSWORD = "!"  # noqa: S105 no password


def upgrade() -> None:
    """Create the tables; passwords become optional."""
    _set_nullable(True)
    op.create_table(
        "identities",
        sa.Column("id", row_id, nullable=False),
        sa.Column("user_id", user_id, nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("last_used", time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_identities"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_identities_user_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
    op.create_index(
        "uq_identities_issuer_subject", "identities", ["issuer", "subject"], unique=True
    )
    op.create_table(
        "login_flows",
        sa.Column("state_digest", sa.String(64), nullable=False),
        sa.Column("browser_digest", sa.String(64), nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("verifier", sa.String(128), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("link_user_id", user_id),
        sa.Column("expires_at", time, nullable=False),
        sa.PrimaryKeyConstraint("state_digest", name="pk_login_flows"),
        sa.ForeignKeyConstraint(
            ["link_user_id"], ["users.id"], name="fk_login_flows_link_user_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_login_flows_link_user_id", "login_flows", ["link_user_id"])
    op.create_index("ix_login_flows_expires_at", "login_flows", ["expires_at"])


def downgrade() -> None:
    """Drop the tables; users without a password can set one by a reset."""
    op.drop_table("login_flows")
    op.drop_table("identities")
    op.execute(
        sa.text("UPDATE users SET password_hash = :none WHERE password_hash IS NULL").bindparams(
            none=NO_PASSWORD
        )
    )
    _set_nullable(False)


def _set_nullable(nullable: bool) -> None:
    """Change the column of password hashes.

    SQLite cannot change the column, and copying the table would drop it and every row that refers
    to it: there another column takes its place.
    """
    if op.get_context().dialect.name == "postgresql":
        op.alter_column("users", "password_hash", nullable=nullable)
        return
    default = None if nullable else NO_PASSWORD
    op.drop_index("ix_users_password_hash", "users")
    op.execute("ALTER TABLE users RENAME COLUMN password_hash TO old_hash")
    column = sa.Column("password_hash", sa.String(255), nullable=nullable, server_default=default)
    op.add_column("users", column)
    op.execute("UPDATE users SET password_hash = old_hash")
    op.drop_column("users", "old_hash")
    op.create_index("ix_users_password_hash", "users", ["password_hash"])
