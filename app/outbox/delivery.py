"""Events and their subscribers, attempts to deliver an event, and their outcomes.

A new kind of delivery is a subscriber: see `subscribe`.
"""

import logging
import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from app.observability.origin import continue_languages, continue_request
from app.signals import delivery_attempted, emit
from app.state import AppState
from app.times import now

from . import claims
from .claims import Claim
from .models import (
    DELIVERED,
    EXPIRED,
    FAILED,
    FINAL_STATES,
    MAX_REASON,
    OBSOLETE,
    Attempt,
    DeferredError,
    DeliveryError,
    UndeliverableError,
)

# Seconds between the first two attempts, doubled after each up to MAX_BACKOFF.
FIRST_BACKOFF = 1.0
# The outcome of an attempt that will be repeated.
DELAYED = "delayed"
OUTCOMES = (DELAYED, *FINAL_STATES)
# The recorded data or the payload of an event, by name.
Payload = dict[str, Any]
# Makes the payload of an event; returns None if there is nothing to deliver any more.
LoadPayload = Callable[[Payload, Attempt], Payload | None]
# Delivers a payload, and returns a short description for the log; None if it was not delivered.
Handler = Callable[[Flask, Payload], str | None]


@dataclass
class Registry:
    """The events of an app, and their subscribers by name."""

    loads: dict[str, LoadPayload] = field(default_factory=dict)
    handlers: dict[str, dict[str, Handler]] = field(default_factory=lambda: defaultdict(dict))

    def subscribers(self, event: str) -> list[str]:
        """Return the names of an event's subscribers."""
        return list(self.handlers.get(event, ()))

    def all_subscribers(self) -> set[str]:
        """Return the names of the subscribers of all events."""
        return {name for handlers in self.handlers.values() for name in handlers}

    def find(self, event: str, subscriber: str) -> tuple[LoadPayload, Handler]:
        """Return the handler of a delivery; raise DeliveryError if this app has none."""
        if subscriber not in self.subscribers(event):
            # It was recorded by another version of the service.
            raise DeliveryError("there is no such subscriber")
        return self.loads.get(event, _recorded), self.handlers[event][subscriber]


def _recorded(data: Payload, _attempt: Attempt) -> Payload:
    return data


registry = AppState("outbox registry", factory=lambda _app: Registry())


def define(app: Flask, event: str, load: LoadPayload) -> None:
    """Define the payload of an event, by default the recorded data.

    `load(data, attempt)` makes it from the recorded data for each attempt. It returns None if there
    is nothing to deliver any more.
    """
    registry.of(app).loads[event] = load


def subscribe(app: Flask, event: str, name: str, handler: Handler) -> None:
    """Deliver an event with `handler(app, info)`, which returns a short description for the log.

    `info` is the payload. The handler returns None if there was nothing to deliver. It may be
    called twice for one event. If it raises, the delivery is retried until the deadline, except
    after UndeliverableError; only the type of an error is logged, unless it is a DeliveryError.
    `name` identifies the subscriber; it is stored, and must not change.
    """
    registry.of(app).handlers[event][name] = handler


class Leases:
    """Renews leases for as long as their deliveries take, because not every handler has a time-out.

    The thread ends when there are none: most deliveries are shorter than a lease.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._changes = threading.Lock()
        self._held: set[Claim] = set()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    @contextmanager
    def held(self, claim: Claim) -> Iterator[None]:
        """Renew the lease of a delivery during the block."""
        with self._changes:
            self._held.add(claim)
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changes:
                self._held.remove(claim)

    def stop(self) -> None:
        """End the thread, which refers to the app, now, unless a delivery is in progress."""
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(claims.LEASE / 3)
            self._wake.clear()
            with self._changes:
                held = list(self._held)
                if not held:
                    self._thread = None
                    return
            for claim in held:
                self._renew(claim)

    def _renew(self, claim: Claim) -> None:
        try:
            with self._app.app_context():
                claims.renew(claim)
        except Exception as error:
            # Most likely a database error; the thread must survive any error.
            self._app.logger.error("a lease was not renewed: %s", type(error).__name__)


leases = AppState("leases of deliveries", factory=Leases)


def drain(app: Flask) -> Counter[str]:
    """Deliver until nothing is due; count the outcomes."""
    outcomes: Counter[str] = Counter()
    while seconds_until_due(app) <= 0 and (outcome := deliver_due(app)):
        outcomes[outcome] += 1
    return outcomes


def seconds_until_due(app: Flask) -> float:
    """Return when a delivery can be claimed, infinity if never; takes no write lock."""
    with app.app_context():
        first = claims.next_attempt()
    return math.inf if first is None else (first - now()).total_seconds()


def deliver_due(app: Flask) -> str | None:
    """Attempt the delivery that has been due for longest; return the outcome, or None."""
    with app.app_context():
        claim = claims.claim_due()
    return None if claim is None else deliver(app, claim)


def deliver(app: Flask, claim: Claim, secret: str | None = None) -> str:
    """Attempt a delivery, record the outcome and send the signal; return the outcome.

    Logs one line, without any value of the payload.
    """
    outcome = _deliver(app, claim, secret)
    with app.app_context():
        emit(delivery_attempted, subscriber=claim.subscriber, outcome=outcome)
    return outcome


def _deliver(app: Flask, claim: Claim, secret: str | None) -> str:
    if claim.deadline <= now():
        return _give_up(app, claim, EXPIRED, "its deadline has passed")
    try:
        how = _attempt(app, claim, secret)
    except DeferredError as error:
        return _defer(app, claim, _reason(error))
    except Exception as error:
        return _handle_failure(app, claim, error)
    if how is None:
        return _finish(app, claim, OBSOLETE)
    _log(app, logging.INFO, claim, "%s", how)
    return _finish(app, claim, DELIVERED)


def _attempt(app: Flask, claim: Claim, secret: str | None) -> str | None:
    """Load the payload and deliver it; return a description, None if there is nothing to deliver.

    No database connection is in use while the handler waits for other services.
    """
    load, handler = registry.of(app).find(claim.event, claim.subscriber)
    with app.app_context():
        info = load(claims.read_data(claim), claim.attempt(secret))
    if info is None:
        return None
    with leases.of(app).held(claim), app.app_context():
        continue_request(claim.request_id)
        continue_languages(claim.languages)
        return handler(app, info)


def _handle_failure(app: Flask, claim: Claim, error: Exception) -> str:
    """Postpone a delivery, unless its deadline has passed by then."""
    reason = _reason(error)
    backoff = min(FIRST_BACKOFF * 2 ** min(claim.attempts - 1, 20), claims.MAX_BACKOFF)
    is_last = (claim.deadline - now()).total_seconds() <= backoff
    if is_last or isinstance(error, UndeliverableError):
        return _give_up(app, claim, FAILED, reason)
    _log(app, logging.WARNING, claim, "delayed by %.0f s: %s", backoff, reason)
    with app.app_context():
        claims.postpone(claim, backoff, reason)
    return DELAYED


def _defer(app: Flask, claim: Claim, reason: str) -> str:
    """Let a delivery wait, unless a later one has the same data."""
    with app.app_context():
        if claims.is_repeated(claim):
            return _finish(app, claim, OBSOLETE)
        claims.defer(claim, claims.MAX_BACKOFF, reason)
    _log(app, logging.INFO, claim, "deferred: %s", reason)
    return DELAYED


def _give_up(app: Flask, claim: Claim, state: str, reason: str) -> str:
    _log(app, logging.ERROR, claim, "given up: %s", reason)
    return _finish(app, claim, state, reason)


def _finish(app: Flask, claim: Claim, state: str, reason: str | None = None) -> str:
    with app.app_context():
        claims.finish(claim, state, reason)
    return state


def _log(app: Flask, level: int, claim: Claim, what: str, *arguments: object) -> None:
    """Log the outcome of an attempt, with the id of the request that recorded the event."""
    request = f", request: {claim.request_id}" if claim.request_id else ""
    described = f"({claim.event}, attempts: {claim.attempts}{request})"
    extra = {"request_id": claim.request_id}
    app.logger.log(level, f"%s {what} %s", claim.subscriber, *arguments, described, extra=extra)


def _reason(error: Exception) -> str:
    """Return an error's type, as most texts may quote the payload with a token or an address."""
    text = str(error) if isinstance(error, DeliveryError) else type(error).__name__
    return text[:MAX_REASON]
