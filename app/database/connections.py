"""Pooled connections: which one a request uses, and executing compiled statements on it.

On SQLite, a thread interrupts statements that take too long. SQLite checks for an interrupt at
every row. A progress handler is called only after a number of its instructions, and a single one
may search a long text.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from flask import Flask, g, has_request_context
from sqlalchemy import ColumnElement, Connection, Dialect, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection, QueuePool

Convert = Callable[[Any], Any]
Result = TypeVar("Result")
# Returns a result made from the rows of a driver's cursor.
ReadCursor = Callable[["Compiled", Any], Result]

# Rows fetched at a time.
PARTITION = 100
# The attribute of `g` with the connection kept for the request's next statement.
KEPT = "kept_connection"
# The key in the `info` of a PostgreSQL connection for the executor of prepared statements.
STATEMENTS = "statements"
#: Seconds between two checks for statements that exceed `STATEMENT_TIMEOUT` on SQLite.
TIMEOUT_INTERVAL = 0.2
# Checks without a running statement after which the thread ends.
IDLE_ROUNDS = 50


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
    fixed: Mapping[str, object]
    row: type[Any]
    columns: Sequence[ColumnElement[Any]]
    # Set at the first execution: it may depend on the driver's type of a column.
    read: Sequence[tuple[int, Convert]] | None = None


class RequestPool(QueuePool):
    """A pool that prefers the connection which the request has kept."""

    # The logger of SQLAlchemy's pools; this package's own logger is more verbose.
    _sqla_logger_namespace = "sqlalchemy.pool.QueuePool"

    def connect(self) -> PoolProxiedConnection:
        """Return the connection that the request has kept, or a new one, which is not kept."""
        return _taken() or super().connect()


def init_app(app: Flask) -> None:
    """Release the connection that a request has kept."""
    app.teardown_request(lambda _: release_connection())


def take_connection(engine: Engine, sql: str = "") -> PoolProxiedConnection:
    """Return a pooled connection; raise SQLAlchemy's errors in place of the driver's."""
    try:
        return engine.raw_connection()
    except engine.dialect.loaded_dbapi.Error as error:
        raise _translate(error, engine, sql) from error


def keep_connection(connection: PoolProxiedConnection, engine: Engine) -> None:
    """Keep a connection for the request's next statement; close it outside of requests."""
    if isinstance(engine.pool, RequestPool) and has_request_context():
        kept = g._get_current_object().setdefault(KEPT, connection)
        if kept is connection:
            return
    connection.close()


def release_connection() -> None:
    """Return the kept connection to the pool, because the request will wait for long."""
    if connection := _taken():
        connection.close()


def _taken() -> PoolProxiedConnection | None:
    connection: PoolProxiedConnection | None = None
    if has_request_context():
        # The object behind the proxy, since every use of a proxy costs several calls.
        connection = g._get_current_object().pop(KEPT, None)
    return connection


def control(pooled: PoolProxiedConnection, engine: Engine, sql: str) -> None:
    """Execute a statement that begins or ends a transaction, at a third of SQLAlchemy's cost."""
    compiled = Compiled(sql, sql.encode(), (), {}, {}, tuple, (), read=())
    fetch(pooled, compiled, {}, engine, lambda *_: None)


def execute_alone(
    engine: Engine, compiled: Compiled, values: Mapping[str, object], read: ReadCursor[Result]
) -> Result:
    """Read the driver's rows by a connection of the pool."""
    pooled = take_connection(engine, compiled.sql)
    try:
        result = fetch(pooled, compiled, values, engine, read)
    except BaseException:
        pooled.close()
        raise
    keep_connection(pooled, engine)
    return result


def fetch(
    pooled: PoolProxiedConnection,
    compiled: Compiled,
    values: Mapping[str, object],
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
        bound = list(map(bound.__getitem__, compiled.positions))
    try:
        if statements := pooled.info.get(STATEMENTS):
            cursor = statements.execute(compiled.command, bound)
        else:
            _limit_statement(pooled)
            driver: Any = pooled.driver_connection
            cursor = driver.execute(compiled.sql, bound)
        if compiled.read is None:
            compiled.read = list(_readers(compiled.columns, cursor.description, engine.dialect))
        return read(compiled, cursor)
    except engine.dialect.loaded_dbapi.Error as error:
        used: Any = pooled.driver_connection
        lost = engine.dialect.is_disconnect(error, used, None)
        if lost:
            _abandon(pooled, engine)
        raise _translate(error, engine, compiled.sql, lost) from error


def _translate(error: Any, engine: Engine, sql: str, lost: bool = False) -> BaseException:
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


def _abandon(pooled: PoolProxiedConnection, engine: Engine) -> None:
    """Invalidate this connection and all older ones, which lead to the same server.

    SQLAlchemy does the same after errors of its own executions, and has no public name for it.
    """
    engine.pool._invalidate(pooled)


def _readers(
    columns: Sequence[ColumnElement[Any]], description: Sequence[Any], dialect: Dialect
) -> Iterator[tuple[int, Convert]]:
    """Yield position and processor of each column whose driver values need conversion."""
    for place, (column, described) in enumerate(zip(columns, description, strict=True)):
        kind = column.type.dialect_impl(dialect)
        if convert := kind.result_processor(dialect, described[1]):
            yield place, convert


def read_cursor(
    read: Callable[[Iterator[object]], Result], compiled: Compiled, cursor: Any
) -> Result:
    """Return the result of a function of the rows, named tuples, and close the cursor.

    Rows are fetched in parts. Each row is converted when the function reads it; the function may
    stop early.
    """
    with closing(cursor):
        part = cursor.fetchmany(PARTITION)
        further = _further_parts(compiled, cursor) if len(part) == PARTITION else ()
        return read(chain(_converted(compiled, part), chain.from_iterable(further)))


def first(compiled: Compiled, cursor: Any) -> object:
    """Return the first row as a named tuple, or None."""
    record = cursor.fetchone()
    return None if record is None else _as_row(compiled, record)


def _further_parts(compiled: Compiled, cursor: Any) -> Iterator[Iterator[object]]:
    while part := cursor.fetchmany(PARTITION):
        yield _converted(compiled, part)


def _converted(compiled: Compiled, records: Iterable[Sequence[object]]) -> Iterator[object]:
    return map(partial(_as_row, compiled) if compiled.read else compiled.row._make, records)


def _as_row(compiled: Compiled, record: Sequence[object]) -> object:
    """Return a driver's row as a named tuple of converted values."""
    values = list(record)
    for place, convert in compiled.read or ():
        values[place] = convert(values[place])
    return compiled.row._make(values)


def milliseconds(seconds: float) -> int:
    """Return whole milliseconds, at least one: a time-out of 0 would be none."""
    return max(1, round(seconds * 1000))


def limit_statements(engine: Engine, seconds: float) -> None:
    """Limit the waiting for locks on SQLite, and the statements of requests.

    Statements of migrations and commands are not limited.
    """

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        def limit() -> None:
            if has_request_context():
                interrupter.limit(connection, seconds)

        record.info.update(limit=limit, busy_timeout=milliseconds(seconds))
        connection.execute(f"PRAGMA busy_timeout={milliseconds(seconds)}")

    @event.listens_for(engine, "before_cursor_execute")
    def start_with_statement(connection: Connection, *_: object) -> None:
        _limit_statement(connection)

    @event.listens_for(engine, "checkin")
    def release(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
        interrupter.release(connection)


def _limit_statement(connection: Connection | PoolProxiedConnection) -> None:
    """Start the time-out of a SQLite connection's next statement."""
    if limit := connection.info.get("limit"):
        limit()


class Interrupter:
    """Interrupts statements at their deadlines, on one background thread of a process.

    The first statement after an idle period starts the thread, so that others need neither a system
    call nor a new thread.
    """

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        # By the monotonic clock.
        self._deadlines: dict[sqlite3.Connection, float] = {}

    def limit(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Limit the next statement of a connection, or the current one, to `seconds`."""
        with self._lock:
            self._deadlines[connection] = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timeouts", daemon=True)
                self._thread.start()

    def release(self, connection: sqlite3.Connection) -> None:
        """Forget a connection."""
        with self._lock:
            self._deadlines.pop(connection, None)

    def _run(self) -> None:
        idle_rounds = 0
        while idle_rounds < IDLE_ROUNDS:
            time.sleep(TIMEOUT_INTERVAL)
            # The lock keeps the connection from beginning a new statement, which would be
            # interrupted.
            with self._lock:
                idle_rounds = 0 if self._deadlines else idle_rounds + 1
                self._interrupt_late()
                if idle_rounds == IDLE_ROUNDS:
                    self._thread = None

    def _interrupt_late(self) -> None:
        moment = time.monotonic()
        late = [one for one, deadline in self._deadlines.items() if deadline < moment]
        for connection in late:
            del self._deadlines[connection]
            # It may have been closed.
            with suppress(sqlite3.ProgrammingError):
                connection.interrupt()


interrupter = Interrupter()
