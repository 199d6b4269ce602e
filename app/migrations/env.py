"""The Alembic environment."""

from typing import Any, Literal

from alembic import context
from alembic.runtime.migration import MigrationInfo
from flask import current_app
from sqlalchemy import Connection

from app.columns import ExactDecimal, GeoPoint, Json
from app.extensions import UtcDateTime, all_metadata, db


def run() -> None:
    """Run the migrations, and note each revision that the database gets."""
    applied: list[str] = context.config.attributes.setdefault("applied", [])
    with db.engine.connect() as connection:
        _lift_time_out(connection)
        context.configure(
            connection=connection,
            target_metadata=all_metadata(current_app),
            render_item=_render_type,
            on_version_apply=lambda step, **_: applied.append(_revision(step)),
            # SQLite copies a table to change it.
            render_as_batch=True,
        )
        with context.begin_transaction():
            context.run_migrations()


def _revision(step: MigrationInfo) -> str:
    return ", ".join(step.destination_revision_ids) or "base"


def _render_type(_kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our types as those that they are stored as: migrations do not depend on the service."""
    if isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, Json | GeoPoint):
        return "sa.JSON()"
    if isinstance(item, ExactDecimal):
        exact = f"sa.Numeric({item.precision}, {item.scale})"
        return f'{exact}.with_variant(sa.BigInteger(), "sqlite")'
    return False


def _lift_time_out(connection: Connection) -> None:
    """Disable the statement time-out of migrations, on a dedicated connection.

    The lock time-out stays: requests would queue behind a migration that waits for a lock.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.commit()
        connection.detach()


run()
