"""The Alembic environment: runs migrations in the open transaction."""

from contextlib import nullcontext

from alembic import context
from alembic.runtime.migration import MigrationInfo
from flask import current_app

from app.database.autoincrement import keep_autoincrement
from app.database.metadata import all_metadata


def run() -> None:
    """Run migrations of a chain, and record each revision."""
    attributes = context.config.attributes
    connection, applied = attributes["connection"], attributes["applied"]
    context.configure(
        connection=connection,
        version_table=attributes["chain"].table,
        on_version_apply=lambda step, **_: applied.append(_revision(step)),
    )
    # Commands that only read the database do not repair it.
    reads = context.get_context().opts.get("dont_mutate")
    metadata = all_metadata(current_app)
    with nullcontext() if reads else keep_autoincrement(connection, metadata, current_app.logger):
        context.run_migrations()


def _revision(step: MigrationInfo) -> str:
    return ", ".join(step.destination_revision_ids) or "base"


run()
