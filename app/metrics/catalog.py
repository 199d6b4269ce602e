"""The metrics: names, labels and help texts."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from app.jobs.running import OUTCOMES as JOB_OUTCOMES
from app.outbox.delivery import OUTCOMES

NAMESPACE = "ostiary"
SUCCESS, FAILED, UNVERIFIED = LOGIN_OUTCOMES = "success", "failed", "unverified"
# Seconds; Prometheus' defaults, without those shorter than a read by id, and with 30.
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# Seconds of calls to other services, whose default time-out is 10 seconds.
CALL_BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Catalog:
    """The metrics that each process counts; every label has a bounded number of values."""

    def __init__(self) -> None:
        self.requests = _counter(
            "http_requests",
            "Requests that were answered.",
            *("method", "route", "status"),
        )
        self.request_seconds = _histogram(
            "http_request_duration_seconds",
            "Seconds from a request's start in the application to its answer.",
            REQUEST_BUCKETS,
            *("method", "route"),
        )
        self.logins = _counter(
            "logins",
            "Logins other than by an identity provider: `success`, `failed` or `unverified`.",
            "outcome",
        )
        self.provider_logins = _counter(
            "provider_logins",
            "Logins by an identity provider, with the same outcomes.",
            *("provider", "outcome"),
        )
        self.throttled = _counter(
            "throttled_requests", "Requests that a throttle refused.", "throttle"
        )
        self.deliveries = _counter(
            "deliveries",
            "Attempts of the service's processes to deliver an event, which for the subscriber"
            " `mail` are mails: `delivered`, `delayed` (there is another attempt), `failed`,"
            " `expired` or `obsolete`.",
            *("subscriber", "outcome"),
        )
        # Not `job`, a label that Prometheus gives to each of its targets.
        self.jobs = _counter(
            "job_runs",
            "Runs of jobs that have ended: `success` or `failed`.",
            *("name", "outcome"),
        )
        self.calls = _counter(
            "data_source_calls",
            "Calls of data sources: `success`, or the class of the connector's error.",
            *("data_source", "outcome"),
        )
        self.call_seconds = _histogram(
            "data_source_call_duration_seconds",
            "Seconds of calls of data sources, retries included.",
            CALL_BUCKETS,
            "data_source",
        )
        self.connections = _gauge(
            "database_connections_in_use", "Connections of the pool that are in use."
        )
        self.pool_size = _gauge(
            "database_pool_connections",
            "Connections that the pool keeps; more are opened for a while when all are in use.",
        )
        self.standbys = _gauge(
            "standbys_in_use", "Standbys of `READ_DATABASE_URL` that may answer reads."
        )
        self.streams = _gauge("change_streams", "Open streams of changes, and long polls.")
        self.hashes = _gauge(
            "password_hashes_in_progress",
            "Requests whose turn it is to compute a password hash.",
        )
        self.waiting_hashes = _gauge(
            "password_hashes_waiting", "Requests that wait for their turn."
        )
        self.refused_hashes = _counter(
            "password_hashes_refused",
            "Requests that were refused because they waited too long, or too many did.",
        )

    def start_at_zero(
        self,
        throttles: Iterable[str],
        providers: Iterable[str],
        subscribers: Iterable[str],
        jobs: Iterable[str],
    ) -> None:
        """Expose 0 for known labels: Prometheus sees no increase if a metric appears with 1."""
        for outcome in LOGIN_OUTCOMES:
            self.logins.labels(outcome)
            for provider in providers:
                self.provider_logins.labels(provider, outcome)
        for throttle in throttles:
            self.throttled.labels(throttle)
        for subscriber in subscribers:
            for outcome in OUTCOMES:
                self.deliveries.labels(subscriber, outcome)
        for job in jobs:
            for outcome in JOB_OUTCOMES:
                self.jobs.labels(job, outcome)


def outbox_gauges(pending: int, oldest: float) -> list[GaugeMetricFamily]:
    """Return the metrics of the outbox, read from the database at each scrape."""
    return [
        GaugeMetricFamily(
            f"{NAMESPACE}_outbox_pending_deliveries", "Deliveries that are pending.", pending
        ),
        GaugeMetricFamily(
            f"{NAMESPACE}_outbox_oldest_pending_seconds",
            "Seconds since the oldest event with a pending delivery; 0 without one.",
            oldest,
        ),
    ]


def job_gauges(jobs: Mapping[str, tuple[datetime | None, float | None]]) -> list[GaugeMetricFamily]:
    """Return the metrics of jobs: of each the end of its last success, and its last duration."""
    succeeded = GaugeMetricFamily(
        f"{NAMESPACE}_job_last_success_timestamp_seconds",
        "When the last run of the job without an error ended, in seconds since 1970.",
        labels=["name"],
    )
    seconds = GaugeMetricFamily(
        f"{NAMESPACE}_job_last_duration_seconds",
        "Seconds of the last run that ended.",
        labels=["name"],
    )
    for name, (end, duration) in jobs.items():
        if end is not None:
            succeeded.add_metric([name], end.timestamp())
        if duration is not None:
            seconds.add_metric([name], duration)
    return [succeeded, seconds]


def database_up(is_up: bool) -> GaugeMetricFamily:
    """Return the metric for whether the database answered this scrape."""
    return GaugeMetricFamily(
        f"{NAMESPACE}_database_up",
        "1 if the database answered this scrape within a second, else 0; the metrics of the outbox"
        " and of the last runs of jobs are then absent.",
        int(is_up),
    )


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(name, meaning, labels, namespace=NAMESPACE, registry=None)


def _histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(name, meaning, labels, namespace=NAMESPACE, registry=None, buckets=buckets)


def _gauge(name: str, meaning: str) -> Gauge:
    """Return a gauge with a value for each live process, with the label `process`."""
    return Gauge(name, meaning, namespace=NAMESPACE, registry=None, multiprocess_mode="liveall")
