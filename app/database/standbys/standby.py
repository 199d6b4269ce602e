"""A standby: its connections, and how far it has replayed the log of the primary."""

from logging import Logger
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from .positions import STANDBY, read_replayed

# What reading from a standby may raise, for which the primary is asked instead.
FAILURES = (DBAPIError, PoolTimeout)


class Standby:
    """A server that replays what the primary writes, and is asked while it is in use."""

    def __init__(self, name: str, engine: Engine, logger: Logger) -> None:
        self.name = name
        self.engine = engine
        # The position up to which it had replayed when it was last asked; None: not in use.
        self.replayed: int | None = None
        self._logger = logger
        event.listen(engine, "connect", self._check)

    def look(self, seconds: float) -> int | None:
        """Return how far it has replayed, None if it is no standby; raise one of FAILURES.

        Waits no longer than this for its answer.
        """
        with self.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.bound = seconds
            replayed: int | None = connection.exec_driver_sql(STANDBY).scalar_one()
            return replayed

    def use(self, replayed: int) -> None:
        """Ask it from now on; it has replayed so far."""
        if self.replayed is None:
            self._logger.info("standby %s is in use", self.name)
        self.replayed = replayed

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
