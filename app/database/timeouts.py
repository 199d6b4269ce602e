"""Statement time-out on SQLite: a thread interrupts statements that take too long.

SQLite checks for an interrupt at every row. A progress handler is called only after a number of its
instructions, and a single one may search a long text.
"""

import os
import sqlite3
import threading
import time
from contextlib import suppress

#: Seconds between two checks for statements that exceed `STATEMENT_TIMEOUT` on SQLite.
INTERVAL = 0.2
# Checks without a running statement after which the thread ends.
IDLE_ROUNDS = 50


class Interrupter:
    """Interrupts statements at their deadlines, on one background thread of a process.

    The first statement after an idle period starts the thread, so that others need neither a system
    call nor a new thread.
    """

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        # By the monotonic clock.
        self._deadlines: dict[sqlite3.Connection, float] = {}

    def limit(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Limit the next statement of a connection, or the current one, to `seconds`."""
        with self._lock:
            self._deadlines[connection] = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timeouts", daemon=True)
                self._thread.start()

    def release(self, connection: sqlite3.Connection) -> None:
        """Forget a connection."""
        with self._lock:
            self._deadlines.pop(connection, None)

    def _run(self) -> None:
        idle_rounds = 0
        while idle_rounds < IDLE_ROUNDS:
            time.sleep(INTERVAL)
            # The lock keeps the connection from beginning a new statement, which would be
            # interrupted.
            with self._lock:
                idle_rounds = 0 if self._deadlines else idle_rounds + 1
                self._interrupt_late()
                if idle_rounds == IDLE_ROUNDS:
                    self._thread = None

    def _interrupt_late(self) -> None:
        moment = time.monotonic()
        late = [one for one, deadline in self._deadlines.items() if deadline < moment]
        for connection in late:
            del self._deadlines[connection]
            # It may have been closed.
            with suppress(sqlite3.ProgrammingError):
                connection.interrupt()


interrupter = Interrupter()
