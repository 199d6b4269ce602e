"""Purging expired rows, on a background thread of each process."""

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

#: Rows deleted by one statement, which takes some milliseconds and so holds locks briefly.
PURGE_BATCH = 200
#: Seconds between two such statements of a process, for others to write.
PAUSE = 0.1
#: Seconds between two purges of a process, plus up to half as much, so that processes do not purge
#: at once.
PURGE_INTERVAL = 60.0
# Seconds to finish the batch in progress when a process ends.
STOP_TIMEOUT = 5.0

# Deletes at most PURGE_BATCH rows; returns their number.
PurgeBatch = Callable[[], int]


class Purger:
    """Purges the tables of an app on a background thread; can be started again after `stop`."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._batches: dict[str, PurgeBatch] = {}
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def add(self, table: str, purge_batch: PurgeBatch) -> None:
        """Purge a table with a function that deletes a batch."""
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
        """Delete a batch of each table; return True if any of them may have more."""
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
            # The rows are purged next time.
            name = type(error).__name__
            self._app.logger.warning("%s could not be purged: %s", table, name)
            return 0


purger = AppState("purger", factory=Purger)


def delete_batch(candidates: Select[Any], *conditions: ColumnElement[bool]) -> int:
    """Delete at most PURGE_BATCH rows: those candidates that also meet the conditions.

    `candidates` selects the primary key in the order of an index. Returns the number of rows;
    without any, no write lock is taken. Skips rows that other processes are deleting.
    """
    batch, columns = candidates.limit(PURGE_BATCH), list(candidates.selected_columns)
    key = columns[0] if len(columns) == 1 else tuple_(*columns)
    # A CTE is evaluated once; PostgreSQL may evaluate a subquery once for each row, with different
    # results.
    once = batch.with_for_update(skip_locked=True).cte("candidates")
    chosen = key.in_(select(once)), *conditions
    statement = delete(columns[0].table).where(*chosen).returning(columns[0])
    with connection() as database:
        found = select(columns[0]).where(key.in_(batch), *conditions).limit(1)
        if not database.execute(found).all():
            return 0
        # Python's sqlite3 has no row count for a statement that begins with WITH.
        return len(database.execute(statement).all())


def purge_all(purge_batch: PurgeBatch) -> int:
    """Delete batches until nothing is left; return the number of rows."""
    total = 0
    while count := purge_batch():
        total += count
    return total


def _interval() -> float:
    return PURGE_INTERVAL * random.uniform(1, 1.5)  # noqa: S311 no secret
