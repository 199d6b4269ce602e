"""PostgreSQL statements by libpq's functions, at a third of the cost of psycopg's cursors."""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from psycopg import Connection, OperationalError
from psycopg._preparing import Prepare
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import _WaitTimeout, error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import wait

Awaited = TypeVar("Awaited")

# Enumerations are slow to access in Python 3.11.
AUTO, NOT_PREPARED, TO_PREPARE = PyFormat.AUTO, Prepare.NO, Prepare.SHOULD
FAILED, IDLE = ExecStatus.FATAL_ERROR, TransactionStatus.IDLE
#: Seconds to wait for PostgreSQL beyond `STATEMENT_TIMEOUT`, at which it ends a statement itself.
# A server process that is stopped, or waits for a disk, does not answer, although its host
# acknowledges packets. A commit has no time-out on the server: it may wait for a standby.
GRACE = 5.0
# Seconds between psycopg's checks for a signal.
INTERVAL = 0.1
# The server's statement time-out in seconds, and whether it is a standby.
SERVER = (
    "SELECT extract(epoch FROM current_setting('statement_timeout')::interval)::float8,"
    " pg_is_in_recovery()"
)


class BoundedConnection(Connection[Any]):
    """A connection that is closed if PostgreSQL does not answer in time."""

    #: Seconds to wait for an answer; None without a limit.
    bound: float | None = None
    #: Whether the server was a standby when the connection was opened.
    is_standby = False

    def wait(
        self,
        gen: Generator[Any, Any, Awaited],
        interval: float = INTERVAL,
        timeout: float | None = None,
    ) -> Awaited:
        """Run a generator of psycopg to its result; raise OperationalError after the bound."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.bound)
        except _WaitTimeout:
            raise self._give_up() from None

    def result(self) -> PGresult:
        """Return the result of a statement that was sent, as `wait` does."""
        pgconn = self.pgconn
        try:
            result: PGresult = wait(execute(pgconn), pgconn.socket, INTERVAL, self.bound)[-1]
        except _WaitTimeout:
            raise self._give_up() from None
        return result

    def rollback(self) -> None:
        """Roll back the transaction, if there is one: SQLAlchemy's pool calls this each time."""
        if self.pgconn.transaction_status != IDLE:
            super().rollback()

    def _give_up(self) -> OperationalError:
        self.close()
        return OperationalError(f"the server has not answered for {self.bound:g} s")

    def ask_server(self, seconds: float) -> None:
        """Query the server's statement time-out, and whether it is a standby.

        The server has `seconds` plus GRACE for this answer, and its own time-out plus GRACE for
        later ones. If it has no time-out, such as for a role behind PgBouncer, there is no limit
        here either.
        """
        self.bound = seconds + GRACE
        value, is_standby = self.query(SERVER)
        time_out = float(value or 0)
        self.is_standby = is_standby == "t"
        self.bound = time_out + GRACE if time_out else None

    def refuse_standby(self) -> None:
        """Close the connection and raise OperationalError if the server was a standby."""
        if self.is_standby:
            self.close()
            raise OperationalError("the server is a standby, and not the primary")

    def query(self, sql: str) -> list[str | None]:
        """Return the only row of a query, as text values; close the connection if it fails."""
        try:
            self.pgconn.send_query_params(sql.encode(), None)
            result = self.result()
            if result.status == FAILED:
                raise error_from_result(result, self.info.encoding)
        except BaseException:
            self.close()
            raise
        values = [result.get_value(0, column) for column in range(result.nfields)]
        return [None if value is None else value.decode() for value in values]


class Query(NamedTuple):
    """The key by which psycopg knows a prepared statement."""

    query: bytes
    types: tuple[int, ...]


class Records:
    """The rows of a result, read like those of a cursor."""

    def __init__(self, result: PGresult, transformer: Any) -> None:
        self._result = result
        # The connection's own, which others may use between two calls.
        self._transformer = transformer
        self._next = 0

    @property
    def description(self) -> list[tuple[None, int]]:
        """The columns' types, each in second place."""
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
        """Return the next rows, at most `size`."""
        first, self._next = self._next, min(self._next + size, self._result.ntuples)
        self._transformer.set_pgresult(self._result)
        rows: list[tuple[Any, ...]] = self._transformer.load_rows(first, self._next, tuple)
        return rows

    def close(self) -> None:
        """Do nothing: all rows are already loaded."""


class Statements:
    """Executes row-returning statements on one connection.

    psycopg decides when to prepare a statement, as for its cursors: not behind PgBouncer, and again
    after all were deallocated.
    """

    def __init__(self, connection: BoundedConnection) -> None:
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
            pgconn.send_query_params(sql, given, query.types, formats)
        else:
            if state is TO_PREPARE:
                pgconn.send_prepare(name, sql, query.types)
                self._check(self._connection.result())
            pgconn.send_query_prepared(name, given, formats)
        result = self._connection.result()
        if key := prepared.maybe_add_to_cache(query, state, name):
            prepared.validate(key, state, name, [result])
            self._connection.wait(prepared.maintain_gen(self._connection))
        self._check(result)
        return Records(result, self._transformer)

    def _check(self, result: PGresult) -> None:
        if result.status == FAILED:
            raise error_from_result(result, self._connection.info.encoding)
