"""The outbox: work that must happen after a commit, recorded in the transaction of its cause.

A feature describes its events by `define` and calls `record`; another one delivers them by
`subscribe`. Each subscriber has a delivery of its own, which is made at least once.
"""

from flask import Flask

from . import registry, worker
from .models import Attempt, DeliveryError, UndeliverableError
from .registry import define, subscribe
from .service import record, record_decoy
from .worker import start, stop

__all__ = [
    "Attempt",
    "DeliveryError",
    "UndeliverableError",
    "define",
    "init_app",
    "record",
    "record_decoy",
    "start",
    "stop",
    "subscribe",
]


def init_app(app: Flask) -> None:
    """Prepare the app's outbox, without any event."""
    registry.init_app(app)
    worker.init_app(app)
