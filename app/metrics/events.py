"""Counters of events that features send as signals; features do not depend on metrics."""

from collections.abc import Mapping

from flask import Flask

from app.audit.entries import UNVERIFIED_EMAIL, Action
from app.connector.datasource import DataSource
from app.connector.http.client import Call
from app.datasources import data_sources
from app.outbox.registry import registry
from app.signals import audited, delivery_attempted

from .catalog import FAILED, SUCCESS, UNVERIFIED, Catalog


class EventCounter:
    """Counts signals while something refers to it, because signals hold receivers weakly."""

    def __init__(self, app: Flask, catalog: Catalog) -> None:
        self._catalog = catalog
        subscribers = registry.of(app).all_subscribers()
        catalog.start_at_zero(app.config["THROTTLES"], app.config["PROVIDERS"], subscribers)
        audited.connect(self.count_audited, sender=app)
        delivery_attempted.connect(self.count_delivery, sender=app)
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
