"""The two chains of migrations, the product's and the project's, read without Alembic.

Alembic would take 10 MiB of memory in every process that serves `/ready`.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Flask
from sqlalchemy import Connection, inspect, text

# Alembic's environment and template, used by both chains.
SCRIPTS = Path(__file__).parents[1] / "migrations"
# The format of the product's revisions; those of projects are longer.
PRODUCT_REVISION = re.compile(r"\d{4}$")
# Operations with table names as text arguments.
TABLE_MAKERS = ("create_table", "rename_table")
# The variables of a migration that are read.
STATED = ("revision", "down_revision", "depends_on", "product_revision")


class MigrationError(Exception):
    """The database cannot be migrated as requested; the message says why."""


@dataclass(frozen=True)
class Migration:
    """The declarations in a migration's file."""

    path: Path
    revision: str
    parents: frozenset[str]
    # The newest migration of the product when this one of a project was written.
    product_revision: str | None = None


@dataclass(frozen=True)
class Chain:
    """A folder of migrations, and the table with the applied revisions."""

    # Whose migrations they are, as used in messages.
    name: str
    folder: Path
    table: str

    @property
    def migrations(self) -> dict[str, Migration]:
        """The migrations in the folder by revision; raise MigrationError if one is missing."""
        found = read_folder(self.folder)
        for migration in found.values():
            if missing := migration.parents - found.keys():
                raise MigrationError(
                    f"{migration.path} follows {' and '.join(sorted(missing))},"
                    " of which there is no file"
                )
        return found

    @property
    def tables(self) -> set[str]:
        """The names of all tables that the migrations create, including dropped ones."""
        return {
            argument.value
            for path in self.folder.glob("*.py")
            for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path)))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if node.func.attr in TABLE_MAKERS
            for argument in node.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        }

    def applied(self, connection: Connection) -> set[str]:
        """Return the newest applied revisions; empty if the database was never migrated."""
        return self.recorded(connection) if inspect(connection).has_table(self.table) else set()

    def recorded(self, connection: Connection) -> set[str]:
        """Return the same without looking for the table; raise SQLAlchemyError if it is missing."""
        # The name is a constant of this module.
        return set(connection.scalars(text(f"SELECT version_num FROM {self.table}")))  # noqa: S608


PRODUCT = Chain("Ostiary", SCRIPTS / "versions", "alembic_version")
VERSION_TABLES = (PRODUCT.table, "ostiary_project_version")


def project_chain(app: Flask) -> Chain | None:
    """Return the chain of the app's project; in tests there may be none."""
    folder = app.config["MIGRATIONS_FOLDER"]
    if not folder:
        return None
    return Chain("the project", Path(app.instance_path, folder), VERSION_TABLES[1])


def all_chains(app: Flask) -> list[Chain]:
    """Return the chains of an app in the order in which they are applied."""
    project = project_chain(app)
    return [PRODUCT, project] if project else [PRODUCT]


def newest(migrations: Iterable[Migration]) -> set[str]:
    """Return the revisions that no other migration follows."""
    known = {migration.revision: migration.parents for migration in migrations}
    return known.keys() - set[str]().union(*known.values())


def ancestors(
    migrations: Mapping[str, Migration], revisions: Collection[str]
) -> dict[str, Migration]:
    """Return these migrations and all that they follow."""
    found: dict[str, Migration] = {}
    open_ = [revision for revision in revisions if revision in migrations]
    while open_:
        revision = open_.pop()
        if revision not in found:
            found[revision] = migrations[revision]
            open_ += migrations[revision].parents & migrations.keys()
    return found


def read_folder(folder: Path) -> dict[str, Migration]:
    """Return the migrations in a folder by revision; other files are ignored."""
    found = (read_file(path) for path in sorted(folder.glob("*.py")))
    return {migration.revision: migration for migration in found if migration}


def read_file(path: Path) -> Migration | None:
    """Return the declarations of a file, None if it is no migration; raise MigrationError."""
    try:
        return _read(path, path.read_text("utf-8"))
    except SyntaxError as error:
        if error.lineno:
            raise MigrationError(f"{path}, line {error.lineno}: {error.msg}") from None
        raise MigrationError(f"{path} cannot be read: {error.msg}") from None
    except ValueError as error:
        # The file is not in UTF-8.
        raise MigrationError(f"{path} cannot be read: {error}") from None


# Cached, because a command reads the same files several times.
@cache
def _read(path: Path, code: str) -> Migration | None:
    stated = {name: _value(node) for name, node in assignments(path, code).items()}
    if not isinstance(revision := stated.get("revision"), str):
        return None
    product_revision = stated.get("product_revision")
    return Migration(
        path,
        revision,
        _names(stated.get("down_revision")) | _names(stated.get("depends_on")),
        product_revision if isinstance(product_revision, str) else None,
    )


def assignments(path: Path, code: str) -> dict[str, ast.expr]:
    """Return the expressions that a file's code assigns to the known variables."""
    found: dict[str, ast.expr] = {}
    tree = ast.parse(code, str(path))
    for node in tree.body:
        for name, value in _assigned(node):
            if name in STATED:
                found[name] = value
    return found


def _assigned(node: ast.stmt) -> Iterable[tuple[str, ast.expr]]:
    """Return the names that a statement assigns to, with their values."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    [target, *_] = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = zip(target.elts, node.value.elts, strict=False)
    else:
        pairs = zip([target], [node.value], strict=True)
    return [(name.id, value) for name, value in pairs if isinstance(name, ast.Name)]


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _names(value: object) -> frozenset[str]:
    """Return the revisions in an assignment: one, several, or none."""
    if isinstance(value, str):
        return frozenset([value])
    return frozenset(value) if isinstance(value, list | tuple | set) else frozenset()
