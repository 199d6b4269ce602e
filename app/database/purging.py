"""Purging expired rows, in batches; a job of the service does so."""

from collections.abc import Callable
from typing import Any

from flask import Flask
from sqlalchemy import ColumnElement, Select, delete, select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from app.state import AppState

from .session import connection

#: Rows deleted by one statement, which takes some milliseconds and so holds locks briefly.
PURGE_BATCH = 200
#: Seconds between two such statements, for others to write.
PAUSE = 0.1
#: Seconds between two purges, by one process of all instances.
PURGE_INTERVAL = 60

# Deletes at most PURGE_BATCH rows; returns their number.
PurgeBatch = Callable[[], int]


class Purger:
    """Purges the tables of an app."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._batches: dict[str, PurgeBatch] = {}
        # The tables that could not be purged the last time, with the type of the error.
        self.failed: dict[str, str] = {}

    def add(self, table: str, purge_batch: PurgeBatch) -> None:
        """Purge a table with a function that deletes a batch."""
        self._batches[table] = purge_batch

    def purge_some(self) -> bool:
        """Delete a batch of each table; return True if any of them may have more."""
        self.failed = {}
        counts = [self._purge(table, batch) for table, batch in self._batches.items()]
        return max(counts, default=0) >= PURGE_BATCH

    def _purge(self, table: str, purge_batch: PurgeBatch) -> int:
        try:
            with self._app.app_context():
                return purge_batch()
        except SQLAlchemyError as error:
            # The other tables are purged, and this one the next time.
            self.failed[table] = type(error).__name__
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
