"""The commands `ostiary db`."""

import sys
from pathlib import Path

import click
from alembic import command
from alembic.util import CommandError
from flask import current_app

from app.commands import CommandGroup

from . import generation, running
from .chains import Chain, MigrationError, all_chains, newest
from .renames import Rename
from .running import Step, look
from .scripts import configure


class MigrationGroup(CommandGroup):
    """A group of commands that reports migration errors as a single sentence."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (CommandError, MigrationError) as error:
            said = str(error).rstrip(".")
            raise click.ClickException(f"{said[:1].upper()}{said[1:]}.") from None


db = MigrationGroup("db", help="Migrate the database.")


@db.command()
@click.argument("revision", default="head")
def upgrade(revision: str) -> None:
    """Upgrade the database, by default to the newest revisions."""
    _report(running.upgrade(revision))


@db.command()
@click.argument("revision", default="-1")
def downgrade(revision: str) -> None:
    """Downgrade the database, by default by one revision of the project."""
    _report(running.downgrade(revision))


@db.command()
@click.option("-m", "--message", required=True, help="What the migration changes.")
@click.option(
    *("--rename", "renames"),
    metavar="TABLE.COLUMN=NEW",
    multiple=True,
    help="A column has a new name; TABLE=NEW: a table. May be given several times.",
)
@click.option("--allow-drop", is_flag=True, help="Drop tables and columns that have values.")
def migrate(message: str, renames: tuple[str, ...], allow_drop: bool) -> None:
    """Write a migration of the project from the differences between database and models.

    On a terminal, asks whether a missing column was renamed to a new one.
    """
    done, path = generation.write_migration(
        message,
        [Rename.parse(rename) for rename in renames],
        allow_drop,
        click.confirm if is_terminal() else None,
    )
    if path is None:
        click.echo("There is nothing to migrate: the tables have what the models say.")
        return
    click.echo("\n".join([*done, f"Wrote {path}; `ostiary db upgrade` runs it."]))


@db.command()
@click.option("-m", "--message", default="Merge", help="What is merged.", show_default=True)
def merge(message: str) -> None:
    """Merge the newest migrations of the project, written by two people."""
    click.echo(f"Wrote {generation.write_merge(message)}; `ostiary db upgrade` runs it.")


@db.command()
def current() -> None:
    """Show the revisions of the database."""
    with look() as connection:
        for chain in all_chains(current_app):
            heads = newest(chain.migrations.values())
            for revision in sorted(chain.applied(connection)) or ["base"] * bool(heads):
                click.echo(f"{chain.name}: {revision}{' (head)' if revision in heads else ''}")


@db.command()
def heads() -> None:
    """List the newest migrations."""
    for chain in all_chains(current_app):
        for revision in sorted(newest(chain.migrations.values())):
            click.echo(f"{chain.name}: {revision}")


@db.command()
def history() -> None:
    """List the migrations, newest first."""
    for chain in _with_migrations():
        click.echo(f"{chain.name}:")
        command.history(configure(chain))


@db.command()
def check() -> None:
    """Fail if the database lacks a migration, or if its tables differ from the models."""
    if differences := generation.differences():
        listed = "".join(f"\n  {difference}" for difference in differences)
        raise click.ClickException(f"The models have changes without a migration:{listed}")
    click.echo("The tables have what the models say.")


@db.command()
@click.argument("revision")
def stamp(revision: str) -> None:
    """Set the revision of the database without migrating it."""
    running.stamp(revision)
    click.echo(f"Set the revision to {revision}.")


@db.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def adopt(folder: Path) -> None:
    """Adopt the migrations of a modified copy of Ostiary.

    FOLDER is its `app/migrations/versions`. They are copied into the project's migrations and
    marked as such in the database; other databases are updated by `upgrade`.
    """
    copied, applied = running.adopt(folder)
    for path in copied:
        click.echo(f"Copied {path}")
    for step in applied:
        click.echo(f"The database is at {step.revision} of the {step.chain}.")


def is_terminal() -> bool:
    """Return True if questions can be asked on a terminal."""
    return sys.stdin.isatty()


def _with_migrations() -> list[Chain]:
    """Return the chains with migrations, the last to be applied first."""
    return [chain for chain in reversed(all_chains(current_app)) if chain.migrations]


def _report(done: list[Step]) -> None:
    """Print the current revision of each chain on one line."""
    last = {step.chain: step for step in done}
    click.echo("\n".join(map(str, last.values())) or "There is nothing to migrate.")
