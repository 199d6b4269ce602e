"""Notifications of PostgreSQL that the log has changes, which is otherwise read each second."""

from collections.abc import Callable
from select import select
from threading import Event as ThreadEvent
from threading import Thread

from flask import Flask

from app.database.session import engines

CHANNEL = "ostiary_changes"
#: Seconds until listening is tried again after its connection was lost.
RETRY = 5
# Seconds after which a listener looks whether it shall stop.
CHECK_INTERVAL = 1


class Listener:
    """A thread that waits for notifications, by a connection of its own."""

    def __init__(self, app: Flask, notify: Callable[[], None]) -> None:
        self._app, self._notify = app, notify
        self._thread: Thread | None = None
        self._stopped = ThreadEvent()

    def start(self) -> None:
        """Listen, unless it does, or the database has no notifications that reach it."""
        is_possible = engines.current.dialect.name == "postgresql"
        if not is_possible or self._app.config["PGBOUNCER"] or self._thread:
            return
        self._stopped = ThreadEvent()
        self._thread = Thread(target=self._run, args=(self._stopped,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, within a second."""
        self._stopped.set()
        if self._thread:
            self._thread.join()
        self._thread = None

    def _run(self, stopped: ThreadEvent) -> None:
        engine = engines.of(self._app)
        while not stopped.is_set():
            try:
                with engine.connect() as connection:
                    connection.detach()
                    connection.exec_driver_sql(f"LISTEN {CHANNEL}")
                    libpq = connection.connection.driver_connection.pgconn  # type: ignore[union-attr]
                    while not stopped.is_set():
                        # psycopg's own generator would look for input many times a second.
                        if select([libpq.socket], [], [], CHECK_INTERVAL)[0]:
                            libpq.consume_input()
                            while libpq.notifies():
                                self._notify()
            except Exception as error:  # the log is looked at each second all the same
                name = type(error).__name__
                self._app.logger.warning("no notifications of changes: %s", name)
                stopped.wait(RETRY)
