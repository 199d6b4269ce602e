"""Execution of compiled statements by the driver."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Dialect, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection

from .engine import STATEMENTS, abandon, limit_statement

Convert = Callable[[Any], Any]
Result = TypeVar("Result")
# Returns a result made from the rows of a driver's cursor.
ReadCursor = Callable[["Compiled", Any], Result]

# Rows fetched at a time.
PARTITION = 100


@dataclass(slots=True)
class Compiled:
    """A statement compiled for one database, with the processors of its values and columns."""

    sql: str
    # The same for libpq.
    command: bytes
    # The names of the parameters in order, if the driver's are positional.
    positions: Sequence[str] | None
    bind: Mapping[str, Convert]
    # The literal values in the statement, converted for the driver.
    fixed: Mapping[str, Any]
    row: type[Any]
    columns: Sequence[ColumnElement[Any]]
    # Set at the first execution: it may depend on the driver's type of a column.
    read: Sequence[tuple[int, Convert]] | None = None


def take(engine: Engine, sql: str = "") -> PoolProxiedConnection:
    """Return a pooled connection; raise SQLAlchemy's errors in place of the driver's."""
    try:
        return engine.raw_connection()
    except engine.dialect.loaded_dbapi.Error as error:
        raise translate(error, engine, sql) from error


def control(pooled: PoolProxiedConnection, engine: Engine, sql: str) -> None:
    """Execute a statement that begins or ends a transaction, at a third of SQLAlchemy's cost."""
    compiled = Compiled(sql, sql.encode(), (), {}, {}, tuple, (), read=())
    fetch(pooled, compiled, {}, engine, lambda *_: None)


def fetch(
    pooled: PoolProxiedConnection,
    compiled: Compiled,
    values: Mapping[str, Any],
    engine: Engine,
    read: ReadCursor[Result],
) -> Result:
    """Read the driver's rows; raise SQLAlchemy's errors in place of the driver's."""
    bound: Any = {
        **compiled.fixed,
        **values,
        **{name: convert(values[name]) for name, convert in compiled.bind.items()},
    }
    if compiled.positions is not None:
        bound = [bound[name] for name in compiled.positions]
    try:
        if statements := pooled.info.get(STATEMENTS):
            cursor = statements.execute(compiled.command, bound)
        else:
            limit_statement(pooled)
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
        raise translate(error, engine, compiled.sql, lost) from error


def translate(error: Any, engine: Engine, sql: str, lost: bool = False) -> BaseException:
    """Return SQLAlchemy's error for an error of the driver."""
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
    """Yield position and processor of each column whose driver values need conversion."""
    for place, (column, described) in enumerate(zip(columns, description, strict=True)):
        kind = column.type.dialect_impl(dialect)
        if convert := kind.result_processor(dialect, described[1]):
            yield place, convert


def rows(compiled: Compiled, cursor: Any) -> Iterator[Any]:
    """Yield the rows as named tuples of converted values."""
    while records := cursor.fetchmany(PARTITION):
        for record in records:
            yield _as_row(compiled, record)


def first(compiled: Compiled, cursor: Any) -> Any:
    """Return the first row as a named tuple, or None."""
    record = cursor.fetchone()
    return None if record is None else _as_row(compiled, record)


def _as_row(compiled: Compiled, record: Sequence[Any]) -> Any:
    """Return a driver's row as a named tuple of converted values."""
    values = list(record)
    for place, convert in compiled.read or ():
        values[place] = convert(values[place])
    return compiled.row._make(values)
