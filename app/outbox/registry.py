"""The events of an app, and their subscribers."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from app.state import AppState

from .models import Attempt, DeliveryError

# What was recorded of an event, or is delivered of it, by name.
Payload = dict[str, Any]
# Makes the payload of an event; None when there is nothing to do any more.
Load = Callable[[Payload, Attempt], Payload | None]
# Delivers a payload, and says how in a few words for the log; None when it is not to be delivered.
Handler = Callable[[Flask, Payload], str | None]


@dataclass
class Registry:
    """The events of an app, and their subscribers by name."""

    loads: dict[str, Load] = field(default_factory=dict)
    handlers: dict[str, dict[str, Handler]] = field(default_factory=lambda: defaultdict(dict))

    def subscribers(self, event: str) -> list[str]:
        """Return the names of an event's subscribers."""
        return list(self.handlers.get(event, ()))

    def all_subscribers(self) -> set[str]:
        """Return the names of the subscribers of all events."""
        return {name for handlers in self.handlers.values() for name in handlers}

    def find(self, event: str, subscriber: str) -> tuple[Load, Handler]:
        """Return how to deliver an event; raise DeliveryError when this app does not know how."""
        if subscriber not in self.subscribers(event):
            # Recorded by another version of the service.
            raise DeliveryError("there is no such subscriber")
        return self.loads.get(event, _recorded), self.handlers[event][subscriber]


def _recorded(data: Payload, _attempt: Attempt) -> Payload:
    return data


registry = AppState("outbox registry", factory=lambda _app: Registry())


def define(app: Flask, event: str, load: Load) -> None:
    """Define what is delivered of an event, if it is not what was recorded.

    `load(data, attempt)` makes it of the recorded data for each attempt. None says that there is
    nothing to do any more.
    """
    registry.of(app).loads[event] = load


def subscribe(app: Flask, event: str, name: str, handler: Handler) -> None:
    """Deliver an event by `handler(app, info)`, which says how in a few words for the log.

    `info` is what was recorded, and None as the answer says that there was nothing to deliver. It
    may be called twice for one event. If it raises, the delivery is tried again until the deadline,
    except after UndeliverableError; only the type of an error is logged, unless it is a
    DeliveryError. `name` is that of the subscriber; it is stored, and must not change.
    """
    registry.of(app).handlers[event][name] = handler
