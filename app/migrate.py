"""Migrations by Alembic, and the commands `flask db`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from app.commands import CommandGroup

FOLDER = Path(__file__).with_name("migrations")


class MigrationGroup(CommandGroup):
    """A group of commands that reports an error of Alembic as one sentence, too."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except CommandError as error:
            raise click.ClickException(f"{str(error).rstrip('.')}.") from None


db = MigrationGroup("db", help="Migrate the database.")


def upgrade(revision: str = "head") -> list[str]:
    """Upgrade the database of the current app; return the revisions that were applied."""
    config = _config()
    command.upgrade(config, revision)
    return _applied(config)


def downgrade(revision: str = "-1") -> list[str]:
    """Downgrade the database of the current app; return the revisions that it went back to."""
    config = _config()
    command.downgrade(config, revision)
    return _applied(config)


@db.command("upgrade")
@click.argument("revision", default="head")
def upgrade_(revision: str) -> None:
    """Upgrade the database, by default to the newest revision."""
    _report(upgrade(revision))


@db.command("downgrade")
@click.argument("revision", default="-1")
def downgrade_(revision: str) -> None:
    """Downgrade the database, by default by one revision."""
    _report(downgrade(revision))


@db.command()
@click.option("-m", "--message", required=True, help="What the migration changes.")
def migrate(message: str) -> None:
    """Write a migration from the database to the models."""
    command.revision(_config(), message=message, autogenerate=True)


@db.command()
def current() -> None:
    """Show the revision of the database."""
    command.current(_config())


@db.command()
def history() -> None:
    """List the migrations, the newest first."""
    command.history(_config())


@db.command()
def check() -> None:
    """Fail if the tables of the migrations differ from the models."""
    command.check(_config())


@db.command()
@click.argument("revision")
def stamp(revision: str) -> None:
    """Set the revision of the database without migrating it."""
    command.stamp(_config(), revision)
    click.echo(f"Set the revision to {revision}.")


def _config() -> Config:
    config = Config(stdout=sys.stdout, attributes={"applied": []})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _applied(config: Config) -> list[str]:
    """Return the revisions that the migrations have noted."""
    applied: list[str] = config.attributes["applied"]
    return applied


def _report(applied: Sequence[str]) -> None:
    """Say in one line what was done."""
    said = f"Migrated the database to {applied[-1]}." if applied else "There is nothing to migrate."
    click.echo(said)
