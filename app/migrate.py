"""Migrations by Alembic, and the commands `flask db`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from app.commands import CommandGroup

FOLDER = Path(__file__).with_name("migrations")

db = CommandGroup("db", help="Migrate the database.")


def upgrade(revision: str = "head") -> list[str]:
    """Upgrade the database of the current app; return the revisions that were applied."""
    return _migrate(command.upgrade, revision)


def downgrade(revision: str = "-1") -> list[str]:
    """Downgrade the database of the current app; return the revisions that it went back to."""
    return _migrate(command.downgrade, revision)


@db.command("upgrade")
@click.argument("revision", default="head")
def upgrade_(revision: str) -> None:
    """Upgrade the database, by default to the newest revision."""
    _report(upgrade, revision)


@db.command("downgrade")
@click.argument("revision", default="-1")
def downgrade_(revision: str) -> None:
    """Downgrade the database, by default by one revision."""
    _report(downgrade, revision)


@db.command()
@click.option("-m", "--message", required=True, help="What the migration changes.")
def migrate(message: str) -> None:
    """Write a migration from the database to the models."""
    _run(command.revision, message=message, autogenerate=True)


@db.command()
def current() -> None:
    """Show the revision of the database."""
    _run(command.current)


@db.command()
def history() -> None:
    """List the migrations, the newest first."""
    _run(command.history)


@db.command()
def check() -> None:
    """Fail if the tables of the migrations differ from the models."""
    _run(command.check)


@db.command()
@click.argument("revision")
def stamp(revision: str) -> None:
    """Set the revision of the database without migrating it."""
    _run(command.stamp, revision)
    click.echo(f"Set the revision to {revision}.")


def _migrate(direction: Callable[..., Any], revision: str) -> list[str]:
    config = _config()
    applied: list[str] = config.attributes.setdefault("applied", [])
    direction(config, revision)
    return applied


def _config() -> Config:
    config = Config(stdout=sys.stdout)
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _report(migration: Callable[[str], list[str]], revision: str) -> None:
    """Migrate, and say what was done in one line."""
    applied = _as_sentence(migration, revision)
    said = f"Migrated the database to {applied[-1]}." if applied else "There is nothing to migrate."
    click.echo(said)


def _run(action: Callable[..., Any], *arguments: str, **options: Any) -> None:
    _as_sentence(action, _config(), *arguments, **options)


def _as_sentence(action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; report an error of Alembic as one sentence."""
    try:
        return action(*arguments, **options)
    except CommandError as error:
        raise click.ClickException(f"{str(error).rstrip('.')}.") from None
