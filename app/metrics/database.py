"""Pending deliveries of the outbox, read from the database at each scrape."""

import threading
from collections.abc import Iterator
from typing import NamedTuple

from flask import Flask
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from app.database.session import db
from app.outbox.maintenance import PENDING_DELIVERIES
from app.times import now

from .catalog import database_up, outbox_gauges

#: Seconds that a scrape waits for the database; Prometheus waits 10 for the scrape.
TIMEOUT = 1.0


class Pending(NamedTuple):
    """The number of pending deliveries, and the age of the oldest one in seconds."""

    number: int
    age: float


class OutboxCollector(Collector):
    """Reads the outbox on a separate thread, as no database time-out covers all delays."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._thread: threading.Thread | None = None
        self._found: Pending | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; without those of the outbox if the database does not answer in time.

        Until it answers, a process sends no further statement.
        """
        found = self._read_in_time()
        yield database_up(found is not None)
        if found is not None:
            yield from outbox_gauges(found.number, found.age)

    def _read_in_time(self) -> Pending | None:
        if self._thread is None or not self._thread.is_alive():
            self._found = None
            self._thread = threading.Thread(target=self._read, name="metrics-database", daemon=True)
            self._thread.start()
        self._thread.join(TIMEOUT)
        return None if self._thread.is_alive() else self._found

    def _read(self) -> None:
        try:
            with self._app.app_context(), db.engine.connect() as connection:
                row = connection.execute(PENDING_DELIVERIES).one()
        except SQLAlchemyError as error:
            self._app.logger.warning("metrics: no database: %s", type(error).__name__)
        else:
            age = 0.0 if row.created is None else (now() - row.created).total_seconds()
            self._found = Pending(row.number, max(0.0, age))
