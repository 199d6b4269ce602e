"""A standby: its connections, and how far it has replayed the log of the primary."""

import threading
from logging import Logger
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from . import positions
from .positions import STANDBY, Progress, read_replayed

# What reading from a standby may raise, for which the primary is asked instead.
FAILURES = (DBAPIError, PoolTimeout)


class Standby:
    """A server that replays what the primary writes, and is asked while it is in use."""

    def __init__(self, name: str, engine: Engine, logger: Logger) -> None:
        self.name = name
        self.engine = engine
        # The position up to which it had replayed when it was last asked; None: not in use.
        self.replayed: int | None = None
        # How far it had received the log when it was first asked beside this primary; None: before.
        self._received: int | None = None
        # Requests notice another primary while the thread that looks judges.
        self._judging = threading.Lock()
        self._logger = logger
        event.listen(engine, "connect", self._check)

    def look(self, seconds: float) -> Progress | None:
        """Return how far it has come, None if it is no standby; raise one of FAILURES.

        Waits no longer than this for its answer.
        """
        with self.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.bound = seconds
            replayed, received = connection.exec_driver_sql(STANDBY).one()
            return None if replayed is None else Progress(replayed, received)

    def doubt(self) -> None:
        """Ask it no longer, until it is known to follow another primary than before."""
        with self._judging:
            self._received = None
            self.leave_out("the primary is another one")

    def judge(self, found: Progress, written: int | None) -> None:
        """Ask it from now on if it follows the primary, which had written so far a moment ago.

        One that does not may have come further: what it replays was written by the last primary,
        and never reached this one. It receives nothing more. So it must have replayed more than it
        had received at first, or, as where nothing is written, exactly what the primary has.
        """
        with self._judging:
            if self._received is None:
                self._received = found.received
            is_level = written is not None and positions.is_level(found.replayed, written)
            if found.replayed <= self._received and not is_level:
                self.leave_out("it has received nothing from the primary yet")
                return
            if self.replayed is None:
                self._logger.info("standby %s is in use", self.name)
            self.replayed = found.replayed

    def leave_out(self, reason: str) -> None:
        """Ask it no longer."""
        if self.replayed is not None:
            self._logger.warning("standby %s is left out: %s", self.name, reason)
        self.replayed = None

    def _check(self, connection: Any, _record: ConnectionPoolEntry) -> None:
        """Refuse a new connection if the server is behind what it had replayed.

        It was started again, or is another one.
        """
        needed, found = self.replayed, read_replayed(connection)
        if needed is not None and (found is None or found < needed):
            self.leave_out("it was started again")
            connection.close()
            raise self.engine.dialect.loaded_dbapi.OperationalError("the standby is behind")
