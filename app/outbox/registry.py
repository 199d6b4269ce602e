"""The events of an app, and their subscribers."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from app.state import AppState

from .models import Attempt, DeliveryError

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
