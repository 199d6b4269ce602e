"""Reads rows from the standby that a request has selected, else from the primary."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flask import g
from sqlalchemy import BigInteger, Select, literal_column, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.database.execution import ReadCursor, Result
from app.database.faults import error_code, error_reason, is_timeout
from app.database.reading import PRIMARY, Work
from app.database.session import TRANSACTION
from app.database.statements import PreparedStatement, execute_alone
from app.state import AppState

from .group import Standbys
from .standby import WRITTEN, Standby

# The attributes of `g` with the request's standby, and whether the request has written.
CHOSEN, WROTE = "standby", "wrote_rows"

standbys = AppState[Standbys]("standbys")


class StandbyFailedError(Exception):
    """A standby has failed to answer, and the primary may be asked instead."""


class StandbyReader:
    """Runs statements that read rows on a standby."""

    def prepare(self, statement: Select[Any]) -> PreparedStatement:
        """Return a prepared statement that reads rows."""
        return StandbyStatement(statement)

    def read(self, work: Work[Result]) -> Result:
        """Return the result of a function that reads by a connection."""
        if standby := chosen():
            try:
                with answering(standby), standby.engine.connect() as connection:
                    return work(connection)
            except StandbyFailedError:
                pass
        return PRIMARY.read(work)

    def note_write(self) -> None:
        """Make this request read from the primary, because rows are about to be written."""
        setattr(g, WROTE, True)

    def position(self) -> int:
        """Return the primary's log position."""
        position: int = POSITION.first({}).position
        return position


# Queries the primary's log position.
POSITION = PreparedStatement(select(literal_column(WRITTEN, BigInteger()).label("position")))


class StandbyStatement(PreparedStatement):
    """A prepared statement that may run on a standby."""

    def _execute(self, values: Mapping[str, Any], read: ReadCursor[Result]) -> Result:
        if standby := chosen():
            try:
                with answering(standby):
                    compiled = self._compile_for(standby.engine.dialect)
                    return execute_alone(standby.engine, compiled, values, read)
            except StandbyFailedError:
                pass
        return super()._execute(values, read)


def choose(position: int) -> None:
    """Let a standby that has replayed the log up to a position answer this request's reads."""
    setattr(g, CHOSEN, standbys.current.choose(position))


def is_written(position: int) -> bool:
    """Return True if the primary has reached a log position; if in doubt, it is asked."""
    return position <= standbys.current.written or position <= POSITION.first({}).position


def chosen() -> Standby | None:
    """Return the selected standby; None for the primary.

    None once the request has written or has opened a transaction.
    """
    context = g._get_current_object()
    standby: Standby | None = context.get(CHOSEN)
    return None if standby is None or has_written() else standby


def has_written() -> bool:
    """Return True if the request may have written rows."""
    context = g._get_current_object()
    return WROTE in context or TRANSACTION in context


@contextmanager
def answering(standby: Standby) -> Iterator[None]:
    """Raise StandbyFailedError if the primary is to be asked instead, not for time-outs."""
    try:
        yield
    except PoolTimeout as error:
        setattr(g, CHOSEN, None)
        raise StandbyFailedError from error
    except DBAPIError as error:
        if is_timeout(error):
            raise
        # An error with a code, such as a conflict with replay, does not mean that the standby is
        # down.
        if error.connection_invalidated or error_code(error) is None:
            standby.leave_out(error_reason(error))
        setattr(g, CHOSEN, None)
        raise StandbyFailedError from error
