"""Upgrading and downgrading a database: the product's migrations first, then the project's."""

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from flask import current_app
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.database.exclusive import begin_migration
from app.database.faults import error_reason, is_missing_value
from app.database.metadata import derived_objects
from app.database.session import db
from app.problems import describe_error

from .adoption import copy_migrations, take_over
from .chains import (
    PRODUCT,
    PRODUCT_REVISION,
    Chain,
    MigrationError,
    all_chains,
    newest,
    project_chain,
)
from .scripts import configure

# Revisions that mean both chains, and revisions relative to the current one.
BOTH = ("head", "heads", "base")
RELATIVE = re.compile(r"[+-]\d+$")


class Step(NamedTuple):
    """A migration that was applied or reverted, and the resulting revision."""

    chain: str
    revision: str

    def __str__(self) -> str:
        return f"Migrated {self.chain} to {self.revision}."


def upgrade(revision: str = "head") -> list[Step]:
    """Upgrade the current app's database, all or nothing; return the applied migrations.

    The product's migrations come first. If the database has those of a newer release, nothing is
    done. Raises MigrationError.
    """
    with migration() as connection:
        done: list[Step] = []
        _check_that_apart()
        take_over(connection)
        chains = _chains_of(revision)
        if PRODUCT not in chains:
            # It may need tables of the product.
            done += _upgrade(connection, PRODUCT, "head")
        for chain in chains:
            done += _upgrade(connection, chain, revision)
        derived_objects.current.update(connection)
    return done


def _upgrade(connection: Connection, chain: Chain, revision: str) -> list[Step]:
    applied, known = chain.applied(connection), chain.migrations
    if unknown := applied - known.keys():
        _check_that_newer(chain, unknown)
        current_app.logger.warning(
            "the database is at %s, of a newer release of %s, and is left as it is",
            " and ".join(sorted(unknown)),
            chain.name,
        )
        return []
    if revision == "head":
        check_one_head(chain)
    return run(connection, chain, command.upgrade, revision) if known else []


def downgrade(revision: str = "-1") -> list[Step]:
    """Downgrade the current app's database, all or nothing; return the reverted migrations.

    By default, reverts the newest migration of the project. Raises MigrationError.
    """
    with migration() as connection:
        done: list[Step] = []
        for chain in reversed(_chains_of(revision)):
            if RELATIVE.match(revision) and not chain.applied(connection):
                raise MigrationError(
                    f"the database has no migration of {chain.name} to take back;"
                    " those of Ostiary are taken back to the revision that is named"
                )
            if chain.applied(connection):
                done += run(connection, chain, command.downgrade, revision)
        derived_objects.current.update(connection)
    return done


def stamp(revision: str) -> None:
    """Set the revision of the database without migrating it; raise MigrationError."""
    with migration() as connection:
        for chain in _chains_of(revision):
            if chain.migrations or chain.applied(connection):
                config = configure(chain, connection)
                command.stamp(config, revision, purge=True)


def adopt(folder: Path) -> tuple[list[Path], list[Step]]:
    """Adopt the migrations of a modified copy of the product; raise MigrationError.

    Returns the project's new files, and the revisions of the database.
    """
    project = project_chain(current_app)
    if project is None:
        raise MigrationError("there is no project: MIGRATIONS_FOLDER is not set")
    copied = copy_migrations(folder, project)
    with migration() as connection:
        take_over(connection)
        chains = (PRODUCT, project)
        applied = [
            Step(chain.name, revision)
            for chain in chains
            for revision in sorted(chain.applied(connection))
        ]
    return copied, applied


def check_one_head(chain: Chain) -> None:
    """Raise MigrationError if a chain has several newest migrations."""
    heads = sorted(newest(chain.migrations.values()))
    if len(heads) < 2:
        return
    several = " and ".join(heads)
    if chain is PRODUCT:
        raise MigrationError(
            f"{chain.folder} has the newest migrations {several}: those that are not of this"
            " release belong in the project, where `ostiary db adopt` puts them"
        )
    raise MigrationError(
        f"the project has the newest migrations {several}: `ostiary db merge` joins them"
    )


def _check_that_apart() -> None:
    """Raise MigrationError if a revision is both the product's and the project's."""
    project = project_chain(current_app)
    both = PRODUCT.migrations.keys() & (project.migrations.keys() if project else set())
    if both:
        names = ", ".join(sorted(PRODUCT.migrations[revision].path.name for revision in both))
        raise MigrationError(f"remove {names} from {PRODUCT.folder}: they are the project's now")


def _check_that_newer(chain: Chain, unknown: set[str]) -> None:
    """Raise MigrationError for revisions that no release of the product can have."""
    strange = sorted(name for name in unknown if not PRODUCT_REVISION.match(name))
    if chain is PRODUCT and strange:
        raise MigrationError(
            f"the database is at {' and '.join(strange)}, which no release of Ostiary has:"
            " `ostiary db adopt FOLDER` takes over the migrations of a changed copy of it"
        )


def _chains_of(revision: str) -> list[Chain]:
    """Return the chains that have a revision; raise MigrationError if there is none."""
    chains = all_chains(current_app)
    if revision in BOTH:
        return chains
    start = RELATIVE.sub("", revision)
    if not start:
        return chains[-1:]
    for is_meant in (str.__eq__, str.startswith):
        for chain in chains:
            if any(is_meant(known, start) for known in chain.migrations):
                return [chain]
    raise MigrationError(f"there is no migration {start!r}")


def run(
    connection: Connection,
    chain: Chain,
    action: Callable[[Config, str], object],
    revision: str,
) -> list[Step]:
    """Run an Alembic command that migrates; return the resulting revisions."""
    config = configure(chain, connection)
    try:
        action(config, revision)
    except click.ClickException:
        raise
    except CommandError as error:
        raise MigrationError(str(error).rstrip(".")) from None
    except Exception as error:
        if (chain is PRODUCT and not isinstance(error, SQLAlchemyError)) or not (
            place := _place(error, chain.folder)
        ):
            raise
        raise MigrationError(
            f"{place} cannot be run: {_reason(error)}; nothing was changed{_hint(error)}"
        ) from error
    applied: Sequence[str] = config.attributes["applied"]
    return [Step(chain.name, revision) for revision in applied]


def _reason(error: Exception) -> str:
    return error_reason(error) if isinstance(error, SQLAlchemyError) else describe_error(error)


def _hint(error: Exception) -> str:
    """Return advice if rows lack a value."""
    if not is_missing_value(error):
        return ""
    return "; a server_default of the column fills the rows"


def _place(error: BaseException, folder: Path) -> str | None:
    """Return the file and line of a migration where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame for frame in frames if Path(frame.filename).parent == folder.resolve()]
    return f"migration {Path(lines[-1].filename).name}, line {lines[-1].lineno}," if lines else None


@contextmanager
def migration() -> Iterator[Connection]:
    """Run a block in a transaction, after that of any other process that migrates."""
    with db.engine.connect() as connection:
        # The connection is not reused: its settings differ from those of the pool.
        connection.detach()
        begin_migration(connection)
        try:
            yield connection
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise


@contextmanager
def look() -> Iterator[Connection]:
    """Run a block in a transaction that is rolled back."""
    with db.engine.connect() as connection:
        connection.detach()
        connection.exec_driver_sql("BEGIN")
        try:
            yield connection
        finally:
            connection.exec_driver_sql("ROLLBACK")
