"""Prepared statements, compiled once and executed by the driver, and what reads rows of models.

Only statements that read rows of models may be answered by standbys.
"""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect, Engine, Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningDelete, ReturningInsert, ReturningUpdate

from app.state import AppState

from .connections import (
    Compiled,
    Convert,
    ReadCursor,
    Result,
    execute_alone,
    fetch,
    first,
    read_cursor,
)
from .faults import is_read_only
from .session import connection, engines, may_repeat, open_connection

PreparableStatement = (
    Select[Any] | ReturningInsert[Any] | ReturningUpdate[Any] | ReturningDelete[Any]
)
# Reads by a connection; called again with another one if that fails.
Work = Callable[[Connection], Result]
# A parameter of SQLAlchemy's statements, or an escaped percent sign.
PARAMETER = re.compile(r"%\((.+?)\)s|%%")


class PreparedStatement:
    """A statement that most requests run, at a third of the cost of `session.execute`.

    Takes part in an open transaction; otherwise it commits by itself.
    """

    def __init__(self, statement: PreparableStatement) -> None:
        self._statement = statement
        self._is_read = isinstance(statement, Select)
        # Compiled statements by database and type of ids.
        self._compiled: dict[tuple[str, str], Compiled] = {}

    def first(self, values: Mapping[str, object]) -> Any:
        """Execute it with these values; return the first row as a named tuple, or None."""
        return self._execute(values, first)

    def all(self, values: Mapping[str, object]) -> list[Any]:
        """Execute it with these values; return all rows as named tuples."""
        return self._execute(values, partial(read_cursor, list))

    def read(self, values: Mapping[str, object], read: Callable[[Iterator[Any]], Result]) -> Result:
        """Execute it with these values; return the result of a function of its rows, named tuples.

        Rows are fetched in parts, and converted when the function reads them.
        """
        return self._execute(values, partial(read_cursor, read))

    def _execute(self, values: Mapping[str, object], read: ReadCursor[Result]) -> Result:
        """Execute it; repeat it once if its connection was lost before it can have written."""
        engine = engines.current
        compiled = self._compile_for(engine.dialect)
        try:
            return _execute(engine, compiled, values, read)
        except DBAPIError as error:
            if not (self._changed_nothing(error) and may_repeat(error)):
                raise
        return _execute(engine, compiled, values, read)

    def _compile_for(self, dialect: Any) -> Compiled:
        key = dialect.name, dialect.id_type
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = _compile(self._statement, dialect)
        return compiled

    def _changed_nothing(self, error: DBAPIError) -> bool:
        return self._is_read or is_read_only(error)


def _compile(statement: Any, dialect: Dialect) -> Compiled:
    """Compile the statement, and collect the processors of its types."""
    compiled: SQLCompiler = statement.compile(dialect=dialect)
    # Lists of values are written into the statement, so that each value is a parameter.
    given = {name: None for parameter, name in compiled.bind_names.items() if parameter.required}
    expanded = compiled.construct_expanded_state(given)
    columns = statement.exported_columns
    binders, fixed = dict[str, Convert](), dict[str, object]()
    for parameter, name in compiled.bind_names.items():
        convert = parameter.type.dialect_impl(dialect).bind_processor(dialect)
        for each in expanded.parameter_expansion.get(name, [name]):
            if not parameter.required or each != name:
                value = expanded.parameters[each]
                fixed[each] = convert(value) if convert else value
            elif convert:
                binders[each] = convert
    sql, positions = expanded.statement, expanded.positiontup
    if dialect.name == "postgresql":
        sql, positions = _numbered(sql)
    return Compiled(
        sql,
        sql.encode(),
        positions,
        binders,
        fixed,
        namedtuple("Row", columns.keys()),
        list(columns),
    )


def _numbered(sql: str) -> tuple[str, list[str]]:
    """Return the statement with parameters such as $1, and their names in order."""
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}" if match[1] else "%"

    return PARAMETER.sub(number, sql), list(names)


def _execute(
    engine: Engine, compiled: Compiled, values: Mapping[str, object], read: ReadCursor[Result]
) -> Result:
    """Read the driver's rows, by the session's connection if it may have a transaction."""
    if joined := open_connection():
        return fetch(joined, compiled, values, engine, read)
    return execute_alone(engine, compiled, values, read)


class RowReader(Protocol):
    """Runs statements that read rows of models."""

    def prepare(self, statement: PreparableStatement) -> PreparedStatement:
        """Return a prepared statement that reads rows."""

    def read(self, work: Work[Result]) -> Result:
        """Return the result of a function that reads by a connection."""

    def note_write(self) -> None:
        """Make this request read from the primary, because rows are about to be written."""

    def position(self) -> int | None:
        """Return the primary's log position; None without standbys."""


class PrimaryReader:
    """Runs statements that read rows of models on the same server as all others."""

    def prepare(self, statement: PreparableStatement) -> PreparedStatement:
        """Return a prepared statement."""
        return PreparedStatement(statement)

    def read(self, work: Work[Result]) -> Result:
        """Return the result of a function that reads by a connection."""
        with connection() as database:
            return work(database)

    def note_write(self) -> None:
        """Do nothing: all reads use the primary."""

    def position(self) -> None:
        """Return None: positions are not used."""


PRIMARY = PrimaryReader()
# The reader of an app, replaced if READ_DATABASE_URL is set.
readers = AppState[RowReader]("reader", factory=lambda _app: PRIMARY)
