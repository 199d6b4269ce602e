"""Comparing the tables of a database with the models."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from alembic.autogenerate import produce_migrations, render_python_code, renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from flask import current_app
from sqlalchemy import BigInteger, Connection, Table, UniqueConstraint
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

from app.database.columns import ExactDecimal, FileReference, GeoPoint, Json, UtcDateTime
from app.database.dialects import has_decimals
from app.database.ids import IdColumn
from app.database.metadata import all_metadata

from .chains import VERSION_TABLES, project_chain

# Separates SQLite's text from PostgreSQL's until the code is rendered.
DIVIDER = "<or>"
# Python's string literals, as written by `repr`.
LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
# PostgreSQL types that can be converted without an expression.
TEXTS = {"TEXT", "VARCHAR"}


def compare(connection: Connection) -> ops.MigrationScript:
    """Return the operations that make the database match the models, and their inverse."""
    metadata = all_metadata(current_app)
    project = project_chain(current_app)
    made = project.tables if project else set[str]()
    known = {*metadata.tables, *made} - {*VERSION_TABLES}

    def is_compared(name: str | None, kind: str, _parents: object) -> bool:
        """Return True if a name in the database belongs to this service: others may share it."""
        return kind != "table" or name in known

    options = {"include_name": is_compared, "compare_type": _is_other_type}
    return produce_migrations(MigrationContext.configure(connection, opts=options), metadata)


def render(operations: ops.UpgradeOps | ops.DowngradeOps, connection: Connection) -> str:
    """Return operations as Python code."""
    # SQLite copies a table to change it.
    code = render_python_code(
        operations,
        render_as_batch=True,
        render_item=_render_type,
        migration_context=MigrationContext.configure(connection),
    )
    return LITERAL.sub(_choose, code)


def _choose(literal: re.Match[str]) -> str:
    """Write a text that differs between databases as an expression that selects one."""
    if DIVIDER not in literal[0]:
        return literal[0]
    sqlite, postgresql = ast.literal_eval(literal[0]).split(DIVIDER)
    return f"{sqlite!r} if op.get_bind().dialect.name == 'sqlite' else {postgresql!r}"


def describe(operations: ops.UpgradeOps) -> list[str]:
    """Return a line for each operation: `add column users.phone`."""
    lines: list[str] = []
    for difference in operations.as_diffs():
        # Several changes of one column are in a list.
        for kind, *about in difference if isinstance(difference, list) else [difference]:
            lines.append(f"{kind.replace('_', ' ')} {_subject(kind, about)}")
    return lines


def _subject(kind: str, about: list[Any]) -> str:
    if kind.startswith("modify"):
        return f"{about[1]}.{about[2]}"
    if kind.endswith("column"):
        return f"{about[1]}.{about[2].name}"
    [subject, *_] = about
    if isinstance(subject, Table):
        return " ".join([subject.name, *sorted(_unique_pairs(subject))])
    columns: Iterable[Any] = getattr(subject, "columns", ())
    names = ", ".join(column.name for column in columns)
    return f"{subject.table.name} ({names})"


def _unique_pairs(table: Table) -> Iterator[str]:
    """Yield the unique constraints of a new table over several columns."""
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint) and len(constraint.columns) > 1:
            yield f"unique ({', '.join(column.name for column in constraint.columns)})"


@renderers.dispatch_for(ops.RenameTableOp)
def _render_rename(_context: AutogenContext, operation: ops.RenameTableOp) -> str:
    return f"op.rename_table({operation.table_name!r}, {operation.new_table_name!r})"


_render_alter_column = renderers.dispatch(ops.AlterColumnOp)


@renderers.dispatch_for(ops.AlterColumnOp, replace=True)
def _render_conversion(context: AutogenContext, operation: ops.AlterColumnOp) -> str:
    """Write a change of a column; PostgreSQL needs an expression to convert its values."""
    code = str(_render_alter_column(context, operation))
    before, after = operation.existing_type, operation.modify_type
    if after is None or before is None or {_name(before), _name(after)} <= TEXTS:
        return code
    using = f'"{operation.column_name}"::{_name(after)}'
    return code.removesuffix(")") + f", postgresql_using={using!r})"


def _name(type_: TypeEngine[Any]) -> str:
    """Return the name of a type on PostgreSQL, without its length."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return type_.compile(dialect).partition("(")[0]


def _render_type(_kind: str, item: object, _context: object) -> str | Literal[False]:
    """Write the service's types as the types that store them, so that none is imported."""
    if isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, IdColumn | ExactDecimal):
        return _render_storage(item.storage)
    if isinstance(item, Json | GeoPoint | FileReference):
        return "sa.JSON()"
    return False


def _render_storage(storage: TypeEngine[Any]) -> str:
    """Write a type with its variants for other databases."""
    variants = (
        f".with_variant(sa.{variant!r}, {database!r})"
        for database, variant in storage._variant_mapping.items()
    )
    return "".join((f"sa.{storage!r}", *variants))


def _is_other_type(
    environment: MigrationContext,
    _stored: object,
    _column: object,
    stored_type: object,
    our_type: object,
) -> bool | None:
    """Return True if a column's type differs from the model's; None leaves it to Alembic."""
    if isinstance(our_type, ExactDecimal) and not has_decimals(environment.dialect):
        return not isinstance(stored_type, BigInteger)
    return None
