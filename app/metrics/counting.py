"""What metrics count: requests, events that features signal, and gauges, sampled periodically."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import QueuePool, select
from sqlalchemy.exc import SQLAlchemyError

from app.audit.entries import UNVERIFIED_EMAIL, Action
from app.changes.hub import hubs
from app.connector.datasource import DataSource
from app.connector.http.client import Call
from app.database.session import db
from app.database.standbys.reader import standbys
from app.datasources import data_sources
from app.hash_slots import hash_slots
from app.jobs.declarations import jobs
from app.jobs.models import ScheduledJob
from app.observability.origin import ROUTE
from app.outbox.delivery import registry
from app.outbox.maintenance import PENDING_DELIVERIES
from app.rest.endpoint import ASKS_FOR_UPLOAD
from app.signals import audited, delivery_attempted, job_ended
from app.times import now

from .catalog import FAILED, SUCCESS, UNVERIFIED, Catalog, database_up, job_gauges, outbox_gauges

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The label for other methods, and for paths without a route: clients can send any number of them.
UNKNOWN = "unknown"
#: Seconds that a scrape waits for the database; Prometheus waits 10 for the scrape.
TIMEOUT = 1.0
LAST_RUNS = select(ScheduledJob.name, ScheduledJob.succeeded, ScheduledJob.duration)


class RequestCounter:
    """Counts each request by the declared route, method and status."""

    def __init__(self, app: "WSGIApplication", catalog: Catalog) -> None:
        self._app = app
        self._catalog = catalog

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Call the app, and count the request after its response."""
        status = "500"
        started = perf_counter()

        def start(status_line: str, *args: Any) -> Any:
            nonlocal status
            status = status_line[:3]
            return start_response(status_line, *args)

        try:
            return self._app(environ, start)
        finally:
            self._count(environ, status, perf_counter() - started)

    def _count(self, environ: "WSGIEnvironment", status: str, seconds: float) -> None:
        if ASKS_FOR_UPLOAD in environ:
            # The request itself follows.
            return
        method = environ["REQUEST_METHOD"]
        if method not in METHODS:
            method = UNKNOWN
        rule = environ.get(ROUTE)
        route = UNKNOWN if rule is None else rule.rule
        self._catalog.requests.labels(method, route, status).inc()
        self._catalog.request_seconds.labels(method, route).observe(seconds)


class EventCounter:
    """Counts signals while something refers to it, because signals hold receivers weakly."""

    def __init__(self, app: Flask, catalog: Catalog) -> None:
        self._catalog = catalog
        subscribers = registry.of(app).all_subscribers()
        known = app.config["THROTTLES"], app.config["PROVIDERS"], subscribers, jobs.of(app)
        catalog.start_at_zero(*known)
        audited.connect(self.count_audited, sender=app)
        delivery_attempted.connect(self.count_delivery, sender=app)
        job_ended.connect(self.count_job, sender=app)
        for source in data_sources.of(app).values():
            source.after_execute.connect(self.count_answer, sender=source)
            source.execute_failed.connect(self.count_failure, sender=source)

    def count_audited(self, _app: Flask, action: str, details: Mapping[str, object]) -> None:
        """Count a login, or a request refused by a throttle."""
        if action is Action.LOGIN:
            self._count_login(details, SUCCESS)
        elif action is Action.LOGIN_FAILED:
            is_unverified = details.get("reason") == UNVERIFIED_EMAIL
            self._count_login(details, UNVERIFIED if is_unverified else FAILED)
        elif action is Action.THROTTLED:
            self._catalog.throttled.labels(details["throttle"]).inc()

    def _count_login(self, details: Mapping[str, object], outcome: str) -> None:
        if provider := details.get("provider"):
            self._catalog.provider_logins.labels(provider, outcome).inc()
        else:
            self._catalog.logins.labels(outcome).inc()

    def count_delivery(self, _app: Flask, subscriber: str, outcome: str) -> None:
        """Count an attempted delivery."""
        self._catalog.deliveries.labels(subscriber, outcome).inc()

    def count_job(self, _app: Flask, job: str, outcome: str) -> None:
        """Count a run of a job."""
        self._catalog.jobs.labels(job, outcome).inc()

    def count_answer(self, source: DataSource, ctx: Call) -> None:
        """Count a successful call of a data source."""
        if ctx.error is None:
            self._count_call(source.name, SUCCESS, ctx.elapsed)

    def count_failure(self, source: DataSource, ctx: Call) -> None:
        """Count a failed call of a data source."""
        self._count_call(source.name, type(ctx.error).__name__, ctx.elapsed)

    def _count_call(self, source: str, outcome: str, seconds: float) -> None:
        self._catalog.calls.labels(source, outcome).inc()
        self._catalog.call_seconds.labels(source).observe(seconds)


class GaugeSampler:
    """Samples a process's connections, streams and password hashes, so that use has no overhead."""

    def __init__(self, app: Flask, catalog: Catalog) -> None:
        self._catalog = catalog
        self._slots = hash_slots.of(app)
        self._refused = 0
        self._hub = hubs.of(app)
        with app.app_context():
            self._engine = db.engine
        self._standbys = standbys.of(app) if app.config["READ_DATABASE_URL"] else None

    def sample(self) -> None:
        """Set the gauges, and count refusals since the last sample."""
        # The pool is replaced after a lost connection.
        pool = self._engine.pool
        if isinstance(pool, QueuePool):
            self._catalog.connections.set(pool.checkedout())
            self._catalog.pool_size.set(pool.size())
        if self._standbys is not None:
            self._catalog.standbys.set(self._standbys.in_use)
        self._catalog.streams.set(self._hub.number)
        self._catalog.hashes.set(self._slots.in_use)
        self._catalog.waiting_hashes.set(self._slots.waiting)
        refused = self._slots.refused
        self._catalog.refused_hashes.inc(refused - self._refused)
        self._refused = refused


class Background(NamedTuple):
    """The work besides requests that the database has."""

    # The number of pending deliveries, and the age of the oldest one in seconds.
    pending: int
    age: float
    # The end of the last success of each job, and the seconds of its last run.
    jobs: dict[str, tuple[datetime | None, float | None]]


class BackgroundCollector(Collector):
    """Reads the outbox and the jobs on a thread, as no database time-out covers all delays."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._thread: threading.Thread | None = None
        self._found: Background | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; without those that it stores if the database does not answer in time.

        Until it answers, a process sends no further statement.
        """
        found = self._read_in_time()
        yield database_up(found is not None)
        if found is not None:
            yield from outbox_gauges(found.pending, found.age)
            yield from job_gauges(found.jobs)

    def _read_in_time(self) -> Background | None:
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
                known = LAST_RUNS.where(ScheduledJob.name.in_(jobs.of(self._app)))
                runs = {
                    row.name: (row.succeeded, row.duration) for row in connection.execute(known)
                }
        except SQLAlchemyError as error:
            self._app.logger.warning("metrics: no database: %s", type(error).__name__)
        else:
            age = 0.0 if row.created is None else (now() - row.created).total_seconds()
            self._found = Background(row.number, max(0.0, age), runs)
