"""How Alembic reaches the app's database and models."""

import click
from alembic import context
from flask import current_app

from app.extensions import db


def run() -> None:
    """Run the migrations, and say where the database stands afterwards."""
    applied: list[str] = []
    with db.engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=db.metadata,
            on_version_apply=lambda step, **_: applied.append(step.up_revision_id),
            **current_app.extensions["migrate"].configure_args,
        )
        with context.begin_transaction():
            context.run_migrations()
    if applied:
        click.echo(f"Migrated the database to {applied[-1]}.")


run()
