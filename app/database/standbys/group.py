"""The standbys of an app, with their connections and positions in the write-ahead log.

A thread of each process checks which of them may answer. See "Recovery Information Functions" and
"Control Data Functions" of PostgreSQL's documentation.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from logging import Logger
from typing import Any, NamedTuple

from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from app.database.faults import error_reason

# The primary's log position, beyond everything that was committed before.
WRITTEN = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
# The part of the log that is on disk, and a value that changes when a server is started again or
# recovered, and differs between servers.
RUN = (
    "(pg_current_wal_flush_lsn() - '0/0')::bigint,"
    " pg_postmaster_start_time()::text, (pg_control_checkpoint()).redo_lsn::text"
)
# The positions that a standby has replayed and received.
STANDBY = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END,"
    " (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::bigint"
)
# Bytes of a log page, and of the two kinds of page headers.
PAGE, HEADERS = 8192, (24, 40)
# Errors of reads on a standby after which the primary is asked instead.
FAILURES = (DBAPIError, PoolTimeout)
#: Seconds between two checks of the standbys by a process.
LOOK_INTERVAL = 0.5
#: Seconds that a server has to answer a check.
LOOK_TIMEOUT = 2.0


class Run(NamedTuple):
    """A primary since its start or last checkpoint, with its log position."""

    position: int
    started: str
    checkpoint: str


class Progress(NamedTuple):
    """The log positions that a standby has replayed and received."""

    replayed: int
    received: int


def is_level(replayed: int, written: int) -> bool:
    """Return True if a standby has replayed everything on the primary's disk.

    A primary's position may be just after a page header, which standbys reach only with the next
    record.
    """
    at_header = replayed % PAGE == 0 and written - replayed in HEADERS
    return replayed == written or at_header


def read_run(connection: Any) -> Run:
    """Return a primary's run, queried by a driver's connection."""
    position, *others = connection.query(f"SELECT {RUN}")
    return Run(int(position), *others)


def read_replayed(connection: Any) -> int | None:
    """Return the position that a standby has replayed; None if the server is not a standby."""
    position, _ = connection.query(STANDBY)
    return None if position is None else int(position)


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
            has_all = written is not None and is_level(found.replayed, written)
            if found.replayed <= self._received and not has_all:
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


class Sample(NamedTuple):
    """How much of the primary's log was on disk at a time of the monotonic clock."""

    time: float
    position: int


class Standbys:
    """Selects a standby that has replayed the log positions that a reader needs."""

    def __init__(
        self, members: Sequence[Standby], primary: Engine, max_lag: float, logger: Logger
    ) -> None:
        """Exclude standbys that are more than `max_lag` seconds behind.

        `primary` is a separate engine, so that checks do not delay requests.
        """
        self._members = members
        self._primary = primary
        self._max_lag = max_lag
        self._logger = logger
        # The primary's log position at the last check.
        self.written = 0
        # Newest last; the oldest is at most `max_lag` old.
        self._samples: deque[Sample] = deque()
        self._run: Run | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def watch(self, primary: Engine) -> None:
        """Detect another primary by the new connections of an engine."""
        event.listen(primary, "connect", self._note_run)

    def choose(self, position: int) -> Standby | None:
        """Return a standby that has replayed the log up to a position; None if there is none."""
        if self._thread is None:
            self._start()
        # If a primary was lost, the last positions that sessions hold may be lost with it.
        needed = max(position, self._run.position if self._run else 0)
        fit = [
            standby
            for standby in self._members
            if standby.replayed is not None and standby.replayed >= needed
        ]
        return random.choice(fit) if fit else None  # noqa: S311 no secret

    @property
    def in_use(self) -> int:
        """The number of standbys in use."""
        return sum(standby.replayed is not None for standby in self._members)

    def look(self) -> None:
        """Query the primary's log position, and the position that each standby has replayed."""
        moment, written = time.monotonic(), None
        try:
            with self._primary.connect() as connection:
                run = Run(*connection.exec_driver_sql(f"SELECT {RUN}").one())
        except SQLAlchemyError:
            # The standbys stay in use for as long as `max_lag` permits.
            pass
        else:
            self._note(run)
            written = self.written = run.position
            self._samples.append(Sample(moment, written))
        while self._samples and self._samples[0].time < moment - self._max_lag:
            self._samples.popleft()
        for standby in self._members:
            self._look_at(standby, written)

    def _look_at(self, standby: Standby, written: int | None) -> None:
        try:
            found = standby.look(LOOK_TIMEOUT)
        except FAILURES as error:
            standby.leave_out(error_reason(error))
            return
        if found is None:
            standby.leave_out("it is no standby")
        elif not self._samples or found.replayed < self._samples[0].position:
            standby.leave_out(f"it is more than {self._max_lag:g} s behind")
        else:
            standby.judge(found, written)

    def stop(self) -> None:
        """Stop checking, and close all connections except those of the watched engine."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(LOOK_TIMEOUT)
        for engine in (self._primary, *(standby.engine for standby in self._members)):
            engine.dispose()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._watch, name="standbys", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while True:
            self.look()
            if self._stopping.wait(LOOK_INTERVAL):
                return

    def _note_run(self, connection: object, _record: ConnectionPoolEntry) -> None:
        self._note(read_run(connection))

    def _note(self, run: Run) -> None:
        if self._run is None or run.started != self._run.started:
            for standby in self._members:
                standby.doubt()
        if self._run is None or run[1:] != self._run[1:]:
            self._run = run
