"""Statements that read rows of models; only these may be answered by standbys."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Select

from app.state import AppState

from .session import connection
from .statements import PreparedStatement

Result = TypeVar("Result")
# Reads by a connection; called again with another one if that fails.
Work = Callable[[Connection], Result]


class RowReader(Protocol):
    """Runs statements that read rows of models."""

    def prepare(self, statement: Select[Any]) -> PreparedStatement:
        """Return a prepared statement that reads rows."""

    def read(self, work: Work[Result]) -> Result:
        """Return the result of a function that reads by a connection."""

    def note_write(self) -> None:
        """Make this request read from the primary, because rows are about to be written."""

    def position(self) -> int | None:
        """Return the primary's log position; None without standbys."""


class PrimaryReader:
    """Runs them on the same server as all other statements."""

    def prepare(self, statement: Select[Any]) -> PreparedStatement:
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
