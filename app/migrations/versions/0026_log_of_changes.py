"""The log of changes, and what its triggers call."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Each statement is logged by one, whose rows are those that it has written. The arguments of a
# trigger are the model, the column of the id, and the columns to keep.
FUNCTION = """
CREATE FUNCTION ostiary_log_changes() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    kept CONSTANT text[] := TG_ARGV[2:];
    actor CONSTANT text := nullif(current_setting('ostiary.actor', true), '');
    request CONSTANT text := nullif(current_setting('ostiary.request_id', true), '');
    transaction CONSTANT bigint := pg_current_xact_id()::text::bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO change_log (
            transaction_id, model, row_id, kind, after, created, actor, request_id
        )
        SELECT transaction, TG_ARGV[0], n.data ->> TG_ARGV[1], 'create', coalesce((
                SELECT jsonb_object_agg(name, n.data -> name) FROM unnest(kept) AS name
            ), '{}'), clock_timestamp(), actor, request
        FROM (SELECT to_jsonb(new_rows) AS data FROM new_rows) AS n;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO change_log (
            transaction_id, model, row_id, kind, before, created, actor, request_id
        )
        SELECT transaction, TG_ARGV[0], o.data ->> TG_ARGV[1], 'remove', coalesce((
                SELECT jsonb_object_agg(name, o.data -> name) FROM unnest(kept) AS name
            ), '{}'), clock_timestamp(), actor, request
        FROM (SELECT to_jsonb(old_rows) AS data FROM old_rows) AS o;
    ELSE
        INSERT INTO change_log (
            transaction_id, model, row_id, kind, names, before, after, created, actor, request_id
        )
        SELECT transaction, TG_ARGV[0], n.data ->> TG_ARGV[1], 'update', (
                SELECT jsonb_agg(name) FROM jsonb_object_keys(n.data) AS name
                WHERE n.data -> name IS DISTINCT FROM o.data -> name
            ), coalesce((
                SELECT jsonb_object_agg(name, o.data -> name) FROM unnest(kept) AS name
            ), '{}'), coalesce((
                SELECT jsonb_object_agg(name, n.data -> name) FROM unnest(kept) AS name
            ), '{}'), clock_timestamp(), actor, request
        FROM (SELECT to_jsonb(old_rows) AS data FROM old_rows) AS o
        JOIN (SELECT to_jsonb(new_rows) AS data FROM new_rows) AS n
            ON n.data ->> TG_ARGV[1] = o.data ->> TG_ARGV[1] AND n.data <> o.data;
    END IF;
    IF FOUND THEN
        PERFORM pg_notify('ostiary_changes', '');
    END IF;
    RETURN NULL;
END
$$
"""


def upgrade() -> None:
    """Create the tables and the function."""
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
    op.create_table(
        "change_epoch",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("epoch", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_epoch"),
    )
    op.create_table(
        "change_actor",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_actor"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.get_bind().exec_driver_sql(FUNCTION)


def downgrade() -> None:
    """Drop them, and the triggers."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("DROP FUNCTION ostiary_log_changes CASCADE")
    else:
        named = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ostiary_ch%'"
        for name in connection.exec_driver_sql(named).scalars().all():
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
    op.drop_table("change_actor")
    op.drop_table("change_epoch")
    op.drop_table("change_log")
