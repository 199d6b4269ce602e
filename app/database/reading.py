"""Statements that read rows of models: standbys may answer them, unlike all others."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Select

from app.state import AppState

from .session import connection
from .statements import PreparedStatement

Result = TypeVar("Result")
# Reads by a connection; called again with another one if that fails.
Work = Callable[[Connection], Result]


class Reader(Protocol):
    """Sends statements that read rows of models to a server."""

    def prepare(self, statement: Select[Any]) -> PreparedStatement:
        """Return a prepared statement that reads rows."""

    def read(self, work: Work[Result]) -> Result:
        """Return what a function reads by a connection."""

    def note_write(self) -> None:
        """Read what follows in this request from the primary: rows are about to be written."""

    def position(self) -> int | None:
        """Return how far the primary has written its log; None without standbys."""


class PrimaryReader:
    """Sends them where all other statements go."""

    def prepare(self, statement: Select[Any]) -> PreparedStatement:
        """Return a prepared statement."""
        return PreparedStatement(statement)

    def read(self, work: Work[Result]) -> Result:
        """Return what a function reads by a connection."""
        with connection() as database:
            return work(database)

    def note_write(self) -> None:
        """Do nothing: the primary has what it has written."""

    def position(self) -> None:
        """Return None: nobody needs it."""


PRIMARY = PrimaryReader()
# The reader of an app: another one where READ_DATABASE_URL is set.
readers = AppState[Reader]("reader", factory=lambda _app: PRIMARY)
