"""Statements of PostgreSQL by libpq's functions, at a third of the cost of psycopg's cursors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import Connection, OperationalError
from psycopg._preparing import Prepare
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult

# Enumerations are slow to read in Python 3.11.
AUTO, NOT_PREPARED, TO_PREPARE = PyFormat.AUTO, Prepare.NO, Prepare.SHOULD
FAILED, BAD = ExecStatus.FATAL_ERROR, ConnStatus.BAD


class Query(NamedTuple):
    """What psycopg knows a prepared statement by."""

    query: bytes
    types: tuple[int, ...]


class Records:
    """The rows of a result, which are read like those of a cursor."""

    def __init__(self, result: PGresult, transformer: Any) -> None:
        self._result = result
        # The connection's: others may use it between two calls.
        self._transformer = transformer
        self._next = 0

    @property
    def description(self) -> list[tuple[None, int]]:
        """The type of each column, in the second place."""
        return [(None, self._result.ftype(column)) for column in range(self._result.nfields)]

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, None after the last one."""
        if self._next == self._result.ntuples:
            return None
        self._transformer.set_pgresult(self._result)
        self._next += 1
        row: tuple[Any, ...] = self._transformer.load_row(self._next - 1, tuple)
        return row

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        """Return the next rows, at most so many."""
        first, self._next = self._next, min(self._next + size, self._result.ntuples)
        self._transformer.set_pgresult(self._result)
        rows: list[tuple[Any, ...]] = self._transformer.load_rows(first, self._next, tuple)
        return rows

    def close(self) -> None:
        """Do nothing: all rows are here."""


class Statements:
    """Executes statements that return rows by one connection.

    psycopg decides when one is prepared, as of those that its cursors execute: not behind
    PgBouncer, and anew after it has deallocated all.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._transformer: Any = Transformer(connection)

    def execute(self, sql: bytes, values: Sequence[Any]) -> Records:
        """Execute a statement with numbered parameters; raise psycopg's errors."""
        given = self._transformer.dump_sequence(values, [AUTO] * len(values))
        query, formats = Query(sql, self._transformer.types or ()), self._transformer.formats
        prepared: Any = self._connection._prepared
        pgconn = self._connection.pgconn
        state, name = prepared.get(query)
        if state is NOT_PREPARED:
            result = pgconn.exec_params(sql, given, query.types, formats)
        else:
            if state is TO_PREPARE:
                self._check(pgconn.prepare(name, sql, query.types))
            result = pgconn.exec_prepared(name, given, formats)
        if key := prepared.maybe_add_to_cache(query, state, name):
            prepared.validate(key, state, name, [result])
            self._connection.wait(prepared.maintain_gen(self._connection))
        self._check(result)
        return Records(result, self._transformer)

    def _check(self, result: PGresult) -> None:
        if result.status != FAILED:
            return
        error = error_from_result(result, self._connection.info.encoding)
        # The connection was lost before the server could give a reason.
        is_lost = error.sqlstate is None and self._connection.pgconn.status == BAD
        raise OperationalError(str(error)) if is_lost else error
