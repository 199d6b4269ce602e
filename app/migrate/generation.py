"""Writing migrations of the project, from differences between models and database."""

from collections.abc import Sequence
from pathlib import Path

from flask import current_app
from sqlalchemy import Connection

from .chains import PRODUCT, Chain, MigrationError, all_chains, newest, project_chain
from .comparing import compare, describe, render
from .renames import Ask, Rename, perform_renames
from .rows import check_drops, fill_rows
from .running import check_one_head, look
from .writing import Draft


def write_migration(
    message: str,
    renames: Sequence[Rename] = (),
    allow_drop: bool = False,
    ask: Ask | None = None,
) -> tuple[list[str], Path | None]:
    """Write a migration of the project that makes the database match the models.

    Asks, if it can, whether dropped names were renamed to new ones. Returns the migration's steps
    and its file, or None if there is nothing to do. Raises MigrationError.
    """
    chain = _project()
    with look() as connection:
        _check_migrated(connection)
        performed, script = perform_renames(connection, renames, ask, allow_drop)
        upgrade, downgrade = script.upgrade_ops, script.downgrade_ops
        if not upgrade or not downgrade or not (upgrade.ops or performed):
            return [], None
        done = [*(rename.description for rename in performed), *describe(upgrade)]
        if not allow_drop:
            check_drops(connection, upgrade)
        fill_rows(connection, upgrade)
        upgrade.ops = [*(rename.operation for rename in performed), *upgrade.ops]
        downgrade.ops += [rename.reverse.operation for rename in reversed(performed)]
        [product] = newest(PRODUCT.migrations.values())
        draft = Draft(
            message,
            sorted(newest(chain.migrations.values())),
            upgrade=render(upgrade, connection),
            downgrade=render(downgrade, connection),
            product_revision=product,
        )
    return done, draft.write(chain.folder)


def write_merge(message: str) -> Path:
    """Write a migration that merges the newest ones of the project; raise MigrationError."""
    chain = _project()
    heads = sorted(newest(chain.migrations.values()))
    if len(heads) < 2:
        raise MigrationError("there is nothing to merge: one migration of the project is newest")
    return Draft(message, heads).write(chain.folder)


def differences() -> list[str]:
    """Return the differences between the tables and the models, a line each.

    Raises MigrationError if the database lacks a migration.
    """
    with look() as connection:
        _check_migrated(connection)
        operations = compare(connection).upgrade_ops
        return describe(operations) if operations else []


def _project() -> Chain:
    if chain := project_chain(current_app):
        return chain
    raise MigrationError("there is no project: MIGRATIONS_FOLDER is not set")


def _check_migrated(connection: Connection) -> None:
    """Raise MigrationError unless all migrations are applied."""
    for chain in all_chains(current_app):
        check_one_head(chain)
        known, applied = chain.migrations, chain.applied(connection)
        if unknown := sorted(applied - known.keys()):
            raise MigrationError(
                f"the database is at {' and '.join(unknown)} of a newer release of"
                f" {chain.name}, which {chain.folder} lacks: get that release first"
            )
        if applied != newest(known.values()):
            raise MigrationError(
                f"the database lacks migrations of {chain.name}: run `ostiary db upgrade` first"
            )
