"""A standby: its connections, and the log position that it has replayed."""

import threading
from logging import Logger
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from . import positions
from .positions import STANDBY, Progress, read_replayed

# Errors of reads on a standby after which the primary is asked instead.
FAILURES = (DBAPIError, PoolTimeout)


class Standby:
    """A server that replays the primary's log, and is read from while it is in use."""

    def __init__(self, name: str, engine: Engine, logger: Logger) -> None:
        self.name = name
        self.engine = engine
        # The position it had replayed at the last check; None: not in use.
        self.replayed: int | None = None
        # The position it had received at its first check since the last change of primary; None:
        # not yet checked.
        self._received: int | None = None
        # Requests may detect another primary while the checking thread judges.
        self._judging = threading.Lock()
        self._logger = logger
        event.listen(engine, "connect", self._check)

    def look(self, seconds: float) -> Progress | None:
        """Return its progress, None if it is not a standby; raise one of FAILURES.

        Waits at most `seconds` for the answer.
        """
        with self.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.bound = seconds
            replayed, received = connection.exec_driver_sql(STANDBY).one()
            return None if replayed is None else Progress(replayed, received)

    def doubt(self) -> None:
        """Stop using it until it is known to follow the new primary."""
        with self._judging:
            self._received = None
            self.leave_out("the primary is another one")

    def judge(self, found: Progress, written: int | None) -> None:
        """Use it if it follows the primary, whose log position was `written` a moment ago.

        A standby that does not follow the primary may even be ahead: it replays log of the last
        primary that never reached the new one, and receives nothing more. So it must have replayed
        more than it had first received, or, if nothing is being written, exactly what the primary
        has.
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
        """Stop using it."""
        if self.replayed is not None:
            self._logger.warning("standby %s is left out: %s", self.name, reason)
        self.replayed = None

    def _check(self, connection: Any, _record: ConnectionPoolEntry) -> None:
        """Refuse a new connection if the server is behind the position it had replayed.

        It was then started again, or is another server.
        """
        needed, found = self.replayed, read_replayed(connection)
        if needed is not None and (found is None or found < needed):
            self.leave_out("it was started again")
            connection.close()
            raise self.engine.dialect.loaded_dbapi.OperationalError("the standby is behind")
