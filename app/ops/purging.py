"""Purging old rows now and then, beside what a request does."""

import time
from collections.abc import Callable
from contextlib import suppress

from flask import current_app
from sqlalchemy.exc import SQLAlchemyError

from app.extensions import after_commit

# Seconds between two purges of a table by a process.
PURGE_INTERVAL = 60


def purge_if_due(table: str, purge_batch: Callable[[], bool]) -> None:
    """Purge a table once in PURGE_INTERVAL, and at every call while there is much to purge.

    `purge_batch` deletes some rows and tells whether there may be more. In a transaction it runs
    after the commit, so that it neither fails nor prolongs it. One that fails is left to the next.
    """
    due: dict[str, float] = current_app.extensions.setdefault("purges", {})
    if time.monotonic() >= due.get(table, 0):
        due[table] = time.monotonic() + PURGE_INTERVAL
        after_commit(lambda: _purge(table, purge_batch, due))


def _purge(table: str, purge_batch: Callable[[], bool], due: dict[str, float]) -> None:
    with suppress(SQLAlchemyError):
        if purge_batch():
            due[table] = 0
