"""Purging of expired rows, by a thread of each process of the service."""

import atexit
import random
import threading
from collections.abc import Callable
from typing import Any

from flask import Flask
from sqlalchemy import ColumnElement, Select, delete, select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from app.state import AppState

from .session import connection

#: Expired rows that one statement deletes, in some milliseconds, so that it does not hold locks for
#: long.
PURGE_BATCH = 200
#: Seconds between two such statements of a process, in which others may write.
PAUSE = 0.1
#: Seconds until a process looks for expired rows again, up to half as much again, so that processes
#: do not look at once.
PURGE_INTERVAL = 60.0
# Seconds for the batch in progress when a process ends.
STOP_TIMEOUT = 5.0

# Deletes at most PURGE_BATCH rows; returns their number.
PurgeBatch = Callable[[], int]


class Purger:
    """Purges the tables of an app on one background thread; `start` may follow `stop`."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._batches: dict[str, PurgeBatch] = {}
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def add(self, table: str, purge_batch: PurgeBatch) -> None:
        """Purge a table by a function that deletes a batch."""
        self._batches[table] = purge_batch

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="purge", daemon=True)
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Finish the batch in progress."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
        self._thread = None
        atexit.unregister(self.stop)

    def purge_some(self) -> bool:
        """Delete a batch of each table; tell whether there may be more in any of them."""
        counts = [self._purge(table, batch) for table, batch in self._batches.items()]
        return max(counts, default=0) >= PURGE_BATCH

    def _run(self) -> None:
        seconds = _interval()
        while not self._stopping.wait(seconds):
            seconds = PAUSE if self.purge_some() else _interval()

    def _purge(self, table: str, purge_batch: PurgeBatch) -> int:
        try:
            with self._app.app_context():
                return purge_batch()
        except SQLAlchemyError as error:
            # The rows are left to the next time.
            name = type(error).__name__
            self._app.logger.warning("%s could not be purged: %s", table, name)
            return 0


purger = AppState("purger", factory=Purger)


def delete_batch(candidates: Select[Any], *conditions: ColumnElement[bool]) -> int:
    """Delete PURGE_BATCH rows, those of the candidates that fulfil the conditions too.

    `candidates` selects the primary key in the order of an index. Returns the number of rows; takes
    no write lock if there are none. Processes do not wait for the rows that others delete.
    """
    batch, columns = candidates.limit(PURGE_BATCH), list(candidates.selected_columns)
    key = columns[0] if len(columns) == 1 else tuple_(*columns)
    # As a CTE it is evaluated once; PostgreSQL may evaluate a subquery for each row, and each time
    # find others.
    once = batch.with_for_update(skip_locked=True).cte("candidates")
    chosen = key.in_(select(once)), *conditions
    statement = delete(columns[0].table).where(*chosen).returning(columns[0])
    with connection() as database:
        found = select(columns[0]).where(key.in_(batch), *conditions).limit(1)
        if not database.execute(found).all():
            return 0
        # Python's sqlite3 counts no rows of a statement that begins with WITH.
        return len(database.execute(statement).all())


def purge_all(purge_batch: PurgeBatch) -> int:
    """Delete batches until there is nothing left to delete; return the number of rows."""
    total = 0
    while count := purge_batch():
        total += count
    return total


def _interval() -> float:
    return PURGE_INTERVAL * random.uniform(1, 1.5)  # noqa: S311 no secret
