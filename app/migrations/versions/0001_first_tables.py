"""Users, access tokens, to-dos and roles."""

import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

row_id = id_storage(app_id_form().name)
time = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "users",
        sa.Column("id", row_id, nullable=False),
        sa.Column("realm", sa.String(255), nullable=False),
        sa.Column("email", sa.String(320), nullable=False),
        sa.Column("username", sa.String(255)),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("email_verified", sa.Boolean(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_users_realm_email", "users", ["realm", "email"], unique=True)
    op.create_index("uq_users_realm_username", "users", ["realm", "username"], unique=True)

    op.create_table(
        "access_tokens",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("handle", sa.String(16), nullable=False),
        sa.Column("user_id", row_id, nullable=False),
        sa.Column("ttl", sa.Double(), nullable=False),
        sa.Column("scope", sa.String(32)),
        sa.Column("created", time, nullable=False),
        sa.Column("expires_at", time, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_access_tokens"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_access_tokens_user_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_access_tokens_user_id", "access_tokens", ["user_id"])
    op.create_index("ix_access_tokens_expires_at", "access_tokens", ["expires_at"])

    op.create_table(
        "todos",
        sa.Column("id", row_id, nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("desc", sa.Text()),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.Column("created", time, nullable=False),
        sa.Column("owner_id", row_id, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_todos"),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name="fk_todos_owner_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_todos_owner_id_id", "todos", ["owner_id", "id"])

    op.create_table(
        "roles",
        sa.Column("id", row_id, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_roles"),
        sa.UniqueConstraint("name", name="uq_roles_name"),
    )
    op.create_table(
        "role_mappings",
        sa.Column("user_id", row_id, nullable=False),
        sa.Column("role_id", row_id, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "role_id", name="pk_role_mappings"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_role_mappings_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name="fk_role_mappings_role_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_role_mappings_role_id", "role_mappings", ["role_id"])


def downgrade() -> None:
    """Drop all tables with their contents."""
    op.drop_table("role_mappings")
    op.drop_table("roles")
    op.drop_table("todos")
    op.drop_table("access_tokens")
    op.drop_table("users")
