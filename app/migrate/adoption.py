"""Adopting the migrations of a modified copy of the product, which were in its chain.

Each becomes a migration of the project and names the product's migration it was based on, so that
`upgrade` knows the state of any database of the project.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from alembic import command
from flask import current_app
from sqlalchemy import Connection

from .chains import (
    PRODUCT,
    PRODUCT_REVISION,
    Chain,
    Migration,
    MigrationError,
    ancestors,
    assignments,
    project_chain,
    read_folder,
)
from .scripts import configure

Migrations = Mapping[str, Migration]


def copy_migrations(folder: Path, chain: Chain) -> list[Path]:
    """Copy the migrations that are not the product's into the project; return the new files.

    They keep their order, without the product's migrations in between. The original folder and
    existing files are not changed. Raises MigrationError.
    """
    versions = folder / "versions" if (folder / "versions").is_dir() else folder
    found = read_folder(versions)
    theirs = {revision: found[revision] for revision in found if not _is_ours(found[revision])}
    if not theirs:
        raise MigrationError(f"the folder {versions} has no migrations besides those of Ostiary")
    every = {**PRODUCT.migrations, **found}
    texts = {
        chain.folder / migration.path.name: _rewrite(migration, every, theirs)
        for migration in theirs.values()
    }
    _check_that_same(texts)
    chain.folder.mkdir(parents=True, exist_ok=True)
    new = [path for path in texts if not path.exists()]
    for path in new:
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(texts[path])
        unfinished.rename(path)
    return new


def take_over(connection: Connection) -> None:
    """Move the project's revisions, if any, out of the product's version table."""
    chain = project_chain(current_app)
    applied = PRODUCT.applied(connection)
    strange = {revision for revision in applied if not PRODUCT_REVISION.match(revision)}
    known = chain.migrations if chain else {}
    if not chain or not strange or not strange <= known.keys():
        return
    stood_on = {known[revision].product_revision for revision in strange}
    ours = {revision for revision in {*stood_on, *applied} - strange if revision}
    heads = _reduced(strange | chain.applied(connection), known)
    command.stamp(configure(PRODUCT, connection), max(ours, default="base"), purge=True)
    command.stamp(configure(chain, connection), sorted(heads), purge=True)


def _is_ours(migration: Migration) -> bool:
    """Return True if a migration is the product's; raise MigrationError if it was modified."""
    if not PRODUCT_REVISION.match(migration.revision):
        return False
    released = PRODUCT.migrations.get(migration.revision)
    if released is None or released.path.name != migration.path.name:
        raise MigrationError(
            f"the file {migration.path} has a revision as Ostiary's migrations have them, and"
            " this release does not have it: install the release that has, or name it otherwise"
        )
    return True


def _rewrite(migration: Migration, every: Migrations, theirs: Migrations) -> bytes:
    """Return the content of a migration that follows only migrations of the project."""
    before = ancestors(every, [migration.revision])
    if unknown := set[str]().union(*(known.parents for known in before.values())) - every.keys():
        missing = " and ".join(sorted(unknown))
        raise MigrationError(f"the file {migration.path} follows {missing}, whose file is missing")
    parents = sorted(_reduced(set(_nearest(migration, every, theirs)), every))
    stood_on = max(before.keys() - theirs.keys(), default=None)
    stated = assignments(migration.path, migration.path.read_text("utf-8"))
    values: dict[str, object] = {"down_revision": None, "depends_on": None}
    values["down_revision"] = parents[0] if len(parents) == 1 else tuple(parents) or None
    lines = migration.path.read_bytes().splitlines(keepends=True)
    for name, node in sorted(stated.items(), key=_end, reverse=True):
        if name in values:
            added = f"product_revision = {stood_on!r}\n" if name == "down_revision" else ""
            _replace(lines, node, repr(values[name]), added.replace("'", '"'))
    return b"".join(lines)


def _end(stated: tuple[str, ast.expr]) -> tuple[int, int]:
    return stated[1].lineno, stated[1].col_offset


def _replace(lines: list[bytes], node: ast.expr, text: str, added: str) -> None:
    """Replace an expression in the lines of a file, and add a line after it."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    start, end = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    code = text.replace("'", '"').encode()
    lines[first : last + 1] = [start + code + end, added.encode()]


def _nearest(migration: Migration, every: Migrations, theirs: Migrations) -> Iterator[str]:
    """Yield the project's migrations that a migration follows, directly or indirectly."""
    for parent in migration.parents:
        if parent in theirs:
            yield parent
        else:
            yield from _nearest(every[parent], every, theirs)


def _reduced(revisions: set[str], migrations: Migrations) -> set[str]:
    """Return the revisions that none of the others follows."""
    followed = {
        before
        for revision in revisions
        for before in ancestors(migrations, [revision])
        if before != revision
    }
    return revisions - followed


def _check_that_same(texts: Mapping[Path, bytes]) -> None:
    """Raise MigrationError if a file exists with other content."""
    for path, text in texts.items():
        if path.exists() and path.read_bytes() != text:
            raise MigrationError(f"the file {path} exists, and is not what would be copied there")
