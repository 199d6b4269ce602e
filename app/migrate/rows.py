"""Effects of a migration on rows: values that would be dropped, and values that are missing."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic.operations import ops
from flask import current_app
from sqlalchemy import (
    Column,
    ColumnClause,
    ColumnDefault,
    ColumnElement,
    Connection,
    Dialect,
    TableClause,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from app.database.metadata import DEFAULT, all_metadata

from .chains import MigrationError
from .comparing import DIVIDER

# The databases for which a migration has literals, the first of them as the special case. With
# named parameters, a percent sign is not doubled.
DIALECTS: tuple[Dialect, ...] = (
    sqlite.dialect(),
    postgresql.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]
)
# Colons that `op.execute` would take for a parameter's, or that are escaped.
COLON = re.compile(r"(?<![:\w\\]):(?=\w)|(?<=\\):")


def check_drops(connection: Connection, operations: ops.UpgradeOps) -> None:
    """Raise MigrationError if tables or columns with values would be dropped."""
    lost = []
    for operation in operations.ops:
        if isinstance(operation, ops.DropTableOp):
            if count := _count(connection, sa.table(operation.table_name)):
                lost.append(f"the table {operation.table_name} with {_rows(count)}")
        elif isinstance(operation, ops.ModifyTableOps):
            lost += _lost_columns(connection, operation)
    if lost:
        raise MigrationError(
            f"the migration would drop {', and '.join(lost)}: give --allow-drop if they are not"
            " needed any more"
        )


def _lost_columns(connection: Connection, operation: ops.ModifyTableOps) -> Iterator[str]:
    for change in operation.ops:
        if isinstance(change, ops.DropColumnOp):
            column: ColumnClause[Any] = sa.column(change.column_name)
            table = sa.table(operation.table_name, column)
            if count := _count(connection, table, column.is_not(None)):
                yield f"{operation.table_name}.{column.name} with values in {_rows(count)}"


def fill_rows(connection: Connection, operations: ops.UpgradeOps) -> None:
    """Fill existing rows with the defaults of new columns.

    Raises MigrationError for required columns without default.
    """
    problems: list[str] = []
    for operation in operations.ops:
        if isinstance(operation, ops.ModifyTableOps):
            filled = [_filled(connection, change, problems) for change in operation.ops]
            operation.ops = [change for some in filled for change in some]
    if problems:
        raise MigrationError("; ".join(problems))


def _filled(
    connection: Connection, change: ops.MigrateOperation, problems: list[str]
) -> Sequence[ops.MigrateOperation]:
    """Return a change of a table preceded by statements that fill its rows; collect problems."""
    if isinstance(change, ops.AddColumnOp) and change.column.server_default is None:
        _fill_new(connection, change, problems)
    if isinstance(change, ops.AlterColumnOp) and change.modify_nullable is False:
        return _fill_nulls(connection, change, problems)
    return [change]


def _fill_new(connection: Connection, change: ops.AddColumnOp, problems: list[str]) -> None:
    """Make the database fill the rows with the default of a new column."""
    column = change.column
    if (default := _default(column)) is not None:
        # Alembic's copy of the model's column.
        column.server_default = sa.DefaultClause(default)
    elif not column.nullable and (count := _count(connection, sa.table(change.table_name))):
        problems.append(_explanation(f"{change.table_name}.{column.name}", count))


def _fill_nulls(
    connection: Connection, change: ops.AlterColumnOp, problems: list[str]
) -> list[ops.MigrateOperation]:
    """Fill rows without a value in a column that becomes required."""
    name = f"{change.table_name}.{change.column_name}"
    column: ColumnClause[Any] = sa.column(change.column_name)
    table = sa.table(change.table_name, column)
    default = _default(_model_column(change))
    if default is None:
        if count := _count(connection, table, column.is_(None)):
            problems.append(_explanation(name, count))
        return [change]
    quoted = f'"{change.column_name}"'
    statements = [
        # For the migration's file; all names are quoted, as keywords differ between databases.
        f'UPDATE "{change.table_name}" SET {quoted} = {_literal(text)}'  # noqa: S608
        f" WHERE {quoted} IS NULL"
        for text in default.split(DIVIDER)
    ]
    return [ops.ExecuteSQLOp(COLON.sub(r"\\:", DIVIDER.join(statements))), change]


def _explanation(name: str, count: int) -> str:
    return (
        f"column {name} needs a value and has no default, and {_rows(count)} would be without one:"
        " give it a default, or let it be optional until all rows have a value"
    )


def _model_column(change: ops.AlterColumnOp) -> Column[Any]:
    column: Column[Any] = all_metadata(current_app).tables[change.table_name].c[change.column_name]
    return column


def _default(column: Column[Any]) -> str | None:
    """Return a column's default as the text of a literal; None if it has none.

    With a DIVIDER it differs between databases. A default that differs between rows does not count.
    """
    if (made := _made_default(column)) is None:
        return None
    value = made()
    # A value that differs a moment later is a time or an id.
    time.sleep(0.002)
    if value is None or (made() != value and not isinstance(value, datetime)):
        return None
    if isinstance(value, bool):
        return str(int(value))
    literals = [_text(value, column, dialect) for dialect in DIALECTS]
    return literals[0] if len(set(literals)) == 1 else DIVIDER.join(literals)


def _made_default(column: Column[Any]) -> Callable[[], object] | None:
    """Return the function for a column's default, of a property in JSON or of a Python model."""
    if DEFAULT in column.info:
        made: Callable[[], object] = column.info[DEFAULT]
        return made
    default = column.default
    if not isinstance(default, ColumnDefault):
        return None
    if default.is_callable:
        # SQLAlchemy passes it a context, which only exists for an INSERT.
        return lambda: default.arg(None)
    return (lambda: default.arg) if default.is_scalar else None


def _text(value: object, column: Column[Any], dialect: Dialect) -> str:
    """Return a value as stored by a database, as text without quotes."""
    if isinstance(value, dict | list):
        return json.dumps(value)
    options = {"literal_binds": True}
    compiled = literal(value, column.type).compile(dialect=dialect, compile_kwargs=options)
    written = str(compiled)
    if written.startswith("'") and written.endswith("'"):
        return written[1:-1].replace("''", "'")
    return written


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _count(
    connection: Connection, table: TableClause, condition: ColumnElement[bool] | None = None
) -> int:
    query = select(func.count()).select_from(table)
    counted: int = connection.scalar(query if condition is None else query.where(condition)) or 0
    return counted


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
