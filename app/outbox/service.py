"""The service for recording events in the transaction of their cause."""

from datetime import timedelta
from functools import partial
from typing import Any

from flask import current_app
from sqlalchemy import delete

from app.extensions import affected_rows, after_commit, db, now, transaction

from .claims import lease_end
from .models import Delivery, OutboxEvent
from .registry import registry_of
from .worker import worker_of


def record(
    event: str, data: dict[str, Any], lifetime: float, secret: str | None = None
) -> int | None:
    """Record an event, whose deliveries are tried for `lifetime` seconds; return its id.

    Takes part in the caller's transaction. `data` is stored, and must not contain a secret;
    `secret` is kept in the memory of this process for its first attempt. Without a subscriber
    nothing is recorded, and None returned.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    subscribers, worker = registry_of(app).handlers[event], worker_of(app)
    if not subscribers:
        return None
    is_reserved, created = worker.has_room(), now()
    with transaction():
        deadline = created + timedelta(seconds=lifetime)
        row = OutboxEvent(
            event=event, data=data, created=created, lifetime=lifetime, deadline=deadline
        )
        db.session.add(row)
        db.session.flush()
        first = lease_end() if is_reserved else created
        deliveries = [
            Delivery(event_id=row.id, subscriber=name, next_attempt=first) for name in subscribers
        ]
        db.session.add_all(deliveries)
        db.session.flush()
        if is_reserved:
            after_commit(partial(worker.reserve, [each.id for each in deliveries], secret))
    return row.id


def discard(event_id: int | None) -> None:
    """Delete an event that was recorded in this transaction; None deletes nothing."""
    affected_rows(delete(OutboxEvent).where(OutboxEvent.id == (event_id or 0)))
