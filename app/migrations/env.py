"""The Alembic environment."""

from typing import Any, Literal

import click
from alembic import context
from flask import current_app
from sqlalchemy import Connection

from app.columns import ExactDecimal, GeoPoint, Json
from app.extensions import UtcDateTime, db


def run() -> None:
    """Run the migrations, and print the new revision."""
    applied: list[str] = []
    with db.engine.connect() as connection:
        _lift_time_out(connection)
        context.configure(
            connection=connection,
            target_metadata=db.metadata,
            render_item=_render_type,
            on_version_apply=lambda step, **_: applied.append(step.up_revision_id),
            **current_app.extensions["migrate"].configure_args,
        )
        with context.begin_transaction():
            context.run_migrations()
    if applied:
        click.echo(f"Migrated the database to {applied[-1]}.")


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
