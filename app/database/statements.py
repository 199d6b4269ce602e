"""Prepared statements: compiled once, and executed by the driver directly."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Dialect, Engine, Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningDelete, ReturningInsert, ReturningUpdate

from . import pool
from .engine import STATEMENTS, abandon, limit_statement
from .faults import is_read_only
from .session import db, engines, may_repeat

Statement = Select[Any] | ReturningInsert[Any] | ReturningUpdate[Any] | ReturningDelete[Any]
Convert = Callable[[Any], Any]
Result = TypeVar("Result")
# Returns what is made of the rows of a driver's cursor.
Read = Callable[["Compiled", Any], Result]

# Rows that are fetched at a time.
PARTITION = 100
# A parameter of SQLAlchemy's statements, or an escaped percent sign.
PARAMETER = re.compile(r"%\((.+?)\)s|%%")


@dataclass(slots=True)
class Compiled:
    """A statement compiled for one database, with the conversions of its values and columns."""

    sql: str
    # The same for libpq.
    command: bytes
    # The names of the parameters in order, if they are positional.
    positions: Sequence[str] | None
    bind: Mapping[str, Convert]
    # The values of literals in the statement, converted for the driver.
    fixed: Mapping[str, Any]
    row: type[Any]
    columns: Sequence[ColumnElement[Any]]
    # Known from the first execution on: they may depend on the driver's type of a column.
    read: Sequence[tuple[int, Convert]] | None = None


class PreparedStatement:
    """A statement that most requests run, at a third of the cost of `session.execute`.

    It takes part in an open transaction; without one it commits by itself.
    """

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._is_read = isinstance(statement, Select)
        # By the database and the type of its ids.
        self._compiled: dict[tuple[str, str], Compiled] = {}

    def first(self, values: Mapping[str, Any]) -> Any:
        """Execute it with these values; return the first row as a named tuple, or None."""
        return self._execute(values, _first)

    def read(self, values: Mapping[str, Any], read: Callable[[Iterator[Any]], Result]) -> Result:
        """Execute it with these values; return what a function makes of its rows, named tuples.

        The rows that it leaves are not fetched.
        """

        def read_rows(compiled: Compiled, cursor: Any) -> Result:
            with closing(cursor):
                return read(_rows(compiled, cursor))

        return self._execute(values, read_rows)

    def _execute(self, values: Mapping[str, Any], read: Read[Result]) -> Result:
        """Execute it, once more if its connection was lost and it cannot have written anything."""
        engine = engines.current
        dialect: Any = engine.dialect
        key = dialect.name, dialect.id_type
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = _compile(self._statement, dialect)
        try:
            return _execute(engine, compiled, values, read)
        except DBAPIError as error:
            if not (self._changed_nothing(error) and may_repeat(error)):
                raise
        return _execute(engine, compiled, values, read)

    def _changed_nothing(self, error: DBAPIError) -> bool:
        return self._is_read or is_read_only(error)


def _compile(statement: Any, dialect: Dialect) -> Compiled:
    """Compile the statement, and collect the processors of its types."""
    compiled: SQLCompiler = statement.compile(dialect=dialect)
    columns = statement.exported_columns
    binders = {
        name: convert
        for name, parameter in compiled.binds.items()
        if (convert := parameter.type.dialect_impl(dialect).bind_processor(dialect))
    }
    fixed = {
        name: binders[name](value) if name in binders else value
        for name, parameter in compiled.binds.items()
        if (value := parameter.effective_value) is not None
    }
    sql, positions = compiled.string, compiled.positiontup
    if dialect.name == "postgresql":
        sql, positions = _numbered(sql)
    return Compiled(
        sql,
        sql.encode(),
        positions,
        {name: convert for name, convert in binders.items() if name not in fixed},
        fixed,
        namedtuple("Row", columns.keys()),
        list(columns),
    )


def _numbered(sql: str) -> tuple[str, list[str]]:
    """Return a statement with parameters such as $1, and their names in order."""
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}" if match[1] else "%"

    return PARAMETER.sub(number, sql), list(names)


def _execute(
    engine: Engine, compiled: Compiled, values: Mapping[str, Any], read: Read[Result]
) -> Result:
    """Read the driver's rows, by the session's connection if it may have a transaction."""
    if db.session.registry.has():
        connection = db.session.connection()
        return _fetch(connection.connection, compiled, values, engine, read)
    try:
        pooled = pool.take(engine)
    except engine.dialect.loaded_dbapi.Error as error:
        raise _translate(error, engine, compiled.sql) from error
    try:
        result = _fetch(pooled, compiled, values, engine, read)
    except BaseException:
        pooled.close()
        raise
    pool.keep(pooled, engine)
    return result


def _fetch(
    pooled: PoolProxiedConnection,
    compiled: Compiled,
    values: Mapping[str, Any],
    engine: Engine,
    read: Read[Result],
) -> Result:
    """Read the driver's rows; raise SQLAlchemy's errors for those of the driver."""
    bound: Any = {
        **compiled.fixed,
        **values,
        **{name: convert(values[name]) for name, convert in compiled.bind.items()},
    }
    if compiled.positions is not None:
        bound = [bound[name] for name in compiled.positions]
    limit_statement(pooled)
    try:
        if statements := pooled.info.get(STATEMENTS):
            cursor = statements.execute(compiled.command, bound)
        else:
            driver: Any = pooled.driver_connection
            cursor = driver.execute(compiled.sql, bound)
        if compiled.read is None:
            compiled.read = list(_readers(compiled.columns, cursor.description, engine.dialect))
        return read(compiled, cursor)
    except engine.dialect.loaded_dbapi.Error as error:
        used: Any = pooled.driver_connection
        lost = engine.dialect.is_disconnect(error, used, None)
        if lost:
            abandon(pooled, engine)
        raise _translate(error, engine, compiled.sql, lost) from error


def _translate(error: Any, engine: Engine, sql: str, lost: bool = False) -> BaseException:
    """Return SQLAlchemy's error for one of the driver."""
    translated: BaseException = DBAPIError.instance(
        sql,
        None,
        error,
        engine.dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=lost,
        dialect=engine.dialect,
    )
    return translated


def _readers(
    columns: Sequence[ColumnElement[Any]], description: Sequence[Any], dialect: Dialect
) -> Iterator[tuple[int, Convert]]:
    """Yield the place and conversion of each column whose driver's value is not its type's."""
    for place, (column, described) in enumerate(zip(columns, description, strict=True)):
        kind = column.type.dialect_impl(dialect)
        if convert := kind.result_processor(dialect, described[1]):
            yield place, convert


def _rows(compiled: Compiled, cursor: Any) -> Iterator[Any]:
    while records := cursor.fetchmany(PARTITION):
        for record in records:
            yield _as_row(compiled, record)


def _first(compiled: Compiled, cursor: Any) -> Any:
    record = cursor.fetchone()
    return None if record is None else _as_row(compiled, record)


def _as_row(compiled: Compiled, record: Sequence[Any]) -> Any:
    """Return a driver's row as a named tuple, its values converted."""
    values = list(record)
    for place, convert in compiled.read or ():
        values[place] = convert(values[place])
    return compiled.row._make(values)
