"""The outbox: work that must happen after a commit, recorded in the transaction of its cause.

A feature describes its events with `define` and calls `record`; another one delivers them with
`subscribe`. Each subscriber has its own delivery, which is made at least once.
"""

from datetime import timedelta
from functools import partial

from flask import Flask

from app.database.purging import purger

from .delivery import Handler, Payload, define, subscribe
from .maintenance import purge_batch
from .models import Attempt, DeferredError, DeliveryError, OutboxEvent, UndeliverableError
from .service import cancel, record, record_decoy, start, stop

__all__ = [
    "Attempt",
    "DeferredError",
    "DeliveryError",
    "Handler",
    "Payload",
    "UndeliverableError",
    "cancel",
    "define",
    "init_app",
    "record",
    "record_decoy",
    "start",
    "stop",
    "subscribe",
]


def init_app(app: Flask) -> None:
    """Purge old deliveries."""
    keep = timedelta(days=app.config["OUTBOX_DAYS"])
    purger.of(app).add(OutboxEvent.__tablename__, partial(purge_batch, keep))
