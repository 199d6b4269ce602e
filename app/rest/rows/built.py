"""Statements of a repository for rows with given values, such as an id and an owner: prepared.

Most requests about single rows execute one. To build it anew, and to execute it by SQLAlchemy, is
most of the cost of a change.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import eq
from typing import Any

from sqlalchemy import BinaryExpression, BindParameter, Column, Connection, bindparam
from sqlalchemy.sql.roles import SQLRole

from app.database.columns import AnyColumn
from app.database.statements import PreparableStatement, PreparedStatement, RowReader

from .values import Conditions, Values

#: Most recently used statements for single rows that a process keeps.
# About 15 kB each; new and changed rows have one for each combination of properties.
MAX_STATEMENTS = 256
# Returns the statement for the rows that meet conditions, with new values by attribute.
Build = Callable[[Conditions, Values], PreparableStatement]
NO_VALUES: Values = {}
# What the name of the parameter for a new value has after the attribute. SQLAlchemy's own names,
# such as title_1 in a condition of title, end in a number.
NEW = "_"


def execute_built(
    reader: RowReader,
    build: Build,
    conditions: Conditions,
    values: Values = NO_VALUES,
    parameters: Mapping[str, object] | None = None,
) -> Sequence[Any]:
    """Execute the statement that a method builds, with values for its parameters; return its rows.

    It is prepared if each condition is that a column equals a value, and no new value is SQL.
    """
    chosen, parameters = list(conditions), parameters or {}
    found = _equalities(chosen)
    if found is None or any(isinstance(value, SQLRole) for value in values.values()):
        return execute_once(reader, build(chosen, values), parameters)
    columns, equal = found
    prepared = prepare_built(reader.prepare, build, columns, tuple(values))
    return prepared.all({**new_values(values), **equal, **parameters})


def new_values(values: Values) -> Values:
    """Return new values by the parameters of a statement that `prepare_built` returns."""
    return {name + NEW: value for name, value in values.items()}


def bound(columns: Mapping[str, AnyColumn], values: Values) -> Values:
    """Return new values as parameters of a statement that is not prepared, unless they are SQL."""
    return {
        name: value
        if isinstance(value, SQLRole)
        else bindparam(name + NEW, value, columns[name].type)
        for name, value in values.items()
    }


def execute_once(
    reader: RowReader,
    statement: PreparableStatement,
    parameters: Mapping[str, object] | None = None,
) -> Sequence[Any]:
    """Execute a statement that is not prepared; return its rows."""

    def work(database: Connection) -> Sequence[Any]:
        return database.execute(statement, parameters or {}).all()

    return reader.read(work)


def _equalities(conditions: Conditions) -> tuple[tuple[AnyColumn, ...], Values] | None:
    """Return the columns of conditions, and the values that they equal by parameter, if they do."""
    columns, values = [], {}
    for place, condition in enumerate(conditions):
        if not isinstance(condition, BinaryExpression) or condition.operator is not eq:
            return None
        column, value = condition.left, condition.right
        if not isinstance(column, Column) or not isinstance(value, BindParameter):
            return None
        # Otherwise SQLAlchemy converts the value for another type, or it is not known yet.
        if value.type is not column.type or value.required:
            return None
        columns.append(column)
        # No attribute has such a name.
        values[str(place)] = value.effective_value
    return tuple(columns), values


@lru_cache(maxsize=MAX_STATEMENTS)
def prepare_built(
    prepare: Callable[[PreparableStatement], PreparedStatement],
    build: Build,
    columns: Sequence[AnyColumn],
    names: Sequence[str],
) -> PreparedStatement:
    """Return the statement for rows with values of these columns, and new values by these names."""
    conditions = [column == bindparam(str(place)) for place, column in enumerate(columns)]
    values: Values = {name: bindparam(name + NEW) for name in names}
    return prepare(build(conditions, values))
