"""The standbys of an app; a thread of each process checks which of them may answer."""

import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from logging import Logger
from typing import Any, NamedTuple

from sqlalchemy import Engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from app.database.faults import error_reason

from .standby import FAILURES, RUN, Run, Standby, read_run

#: Seconds between two checks of the standbys by a process.
LOOK_INTERVAL = 0.5
#: Seconds that a server has to answer a check.
LOOK_TIMEOUT = 2.0


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

    def _note_run(self, connection: Any, _record: ConnectionPoolEntry) -> None:
        self._note(read_run(connection))

    def _note(self, run: Run) -> None:
        if self._run is None or run.started != self._run.started:
            for standby in self._members:
                standby.doubt()
        if self._run is None or run[1:] != self._run[1:]:
            self._run = run
