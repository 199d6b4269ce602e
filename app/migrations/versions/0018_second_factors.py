"""Second factors, recovery codes and logins in two steps."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
user_id = id_storage(app_id_form().name)
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "factors",
        sa.Column("id", row_id, nullable=False),
        sa.Column("user_id", user_id, nullable=False),
        sa.Column("name", sa.String(100)),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("confirmed_at", time),
        sa.Column("last_used", time),
        sa.Column("last_step", sa.BigInteger()),
        sa.Column("proven_email", sa.String(320)),
        sa.PrimaryKeyConstraint("id", name="pk_factors"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_factors_user_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_factors_user_id", "factors", ["user_id"])
    op.create_table(
        "recovery_codes",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_id", user_id, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_recovery_codes"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_recovery_codes_user_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_recovery_codes_user_id", "recovery_codes", ["user_id"])
    op.create_table(
        "login_tickets",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("first_step", sa.JSON(), nullable=False),
        sa.Column("enrols", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_login_tickets"),
        sa.ForeignKeyConstraint(
            ["digest"],
            ["access_tokens.digest"],
            name="fk_login_tickets_digest",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    """Drop the tables and pending logins."""
    op.execute("DELETE FROM access_tokens WHERE scope = 'login-ticket'")
    for name in ("login_tickets", "recovery_codes", "factors"):
        op.drop_table(name)
