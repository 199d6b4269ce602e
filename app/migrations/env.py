"""The Alembic environment."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from flask import current_app
from sqlalchemy import BigInteger, Connection
from sqlalchemy.types import TypeEngine

from app.database.autoincrement import keep_autoincrement
from app.database.columns import ExactDecimal, GeoPoint, Json, UtcDateTime
from app.database.dialects import begin_migration, has_decimals
from app.database.ids import IdColumn
from app.database.metadata import all_metadata
from app.database.session import db


def run() -> None:
    """Run the migrations, all or none, and note each revision that the database gets.

    Of several processes that migrate at once one does, and the others wait for it.
    """
    applied: list[str] = context.config.attributes.setdefault("applied", [])
    metadata = all_metadata(current_app)
    with db.engine.connect() as connection, _transaction(connection):
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_item=_render_type,
            compare_type=_is_other_type,
            on_version_apply=lambda step, **_: applied.append(_revision(step)),
            # SQLite copies a table to change it.
            render_as_batch=True,
        )
        # What only looks at the database does not repair it either.
        reads = context.get_context().opts.get("dont_mutate")
        with (
            nullcontext() if reads else keep_autoincrement(connection, metadata, current_app.logger)
        ):
            context.run_migrations()


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    """Run a block in a transaction that waits for that of another process that migrates."""
    # The connection is not used again: it has other settings than those of the pool.
    connection.detach()
    begin_migration(connection)
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise


def _revision(step: MigrationInfo) -> str:
    return ", ".join(step.destination_revision_ids) or "base"


def _render_type(_kind: str, item: object, _context: object) -> str | Literal[False]:
    """Write our types as those that they are stored as: migrations do not depend on the service."""
    if isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, IdColumn | ExactDecimal):
        return _render_storage(item.storage)
    if isinstance(item, Json | GeoPoint):
        return "sa.JSON()"
    return False


def _render_storage(storage: TypeEngine[Any]) -> str:
    """Write a type with its variants of databases."""
    variants = (
        f".with_variant(sa.{variant!r}, {database!r})"
        for database, variant in storage._variant_mapping.items()
    )
    return "".join((f"sa.{storage!r}", *variants))


def _is_other_type(
    environment: MigrationContext,
    _stored: object,
    _column: object,
    stored_type: object,
    our_type: object,
) -> bool | None:
    """Tell whether a column has another type than the model; None leaves it to Alembic."""
    if isinstance(our_type, ExactDecimal) and not has_decimals(environment.dialect):
        return not isinstance(stored_type, BigInteger)
    return None


run()
