"""Recording of events, in the transaction of their cause."""

from datetime import timedelta
from functools import partial
from typing import Any

from flask import current_app

from app.database.session import after_commit, db, transaction
from app.http.languages import current_languages
from app.observability.origin import current_request_id
from app.times import now

from .claims import lease_end
from .models import OBSOLETE, PENDING, Delivery, OutboxEvent
from .registry import registry
from .worker import worker


def record(event: str, data: dict[str, Any], lifetime: float, secret: str | None = None) -> None:
    """Record an event, whose deliveries are tried for `lifetime` seconds.

    Takes part in the caller's transaction. `data` is stored, and must not contain a secret;
    `secret` is kept in the memory of this process for its first attempt. Without a subscriber
    nothing is recorded.
    """
    _insert(event, data, lifetime, secret, PENDING)


def record_decoy(event: str, data: dict[str, Any], lifetime: float) -> None:
    """Take as long as `record`; nothing will be delivered."""
    _insert(event, data, lifetime, None, OBSOLETE)


def _insert(
    event: str, data: dict[str, Any], lifetime: float, secret: str | None, state: str
) -> None:
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    subscribers = registry.of(app).subscribers(event)
    if not subscribers:
        return
    is_reserved, created = worker.of(app).has_room(), now()
    first_attempt = lease_end() if is_reserved else created
    deadline = created + timedelta(seconds=lifetime)
    row = OutboxEvent(
        event=event,
        data=data,
        created=created,
        lifetime=lifetime,
        deadline=deadline,
        request_id=current_request_id(),
        languages=",".join(current_languages()) or None,
    )
    with transaction():
        db.session.add(row)
        db.session.flush()
        deliveries = [
            Delivery(event_id=row.id, subscriber=name, state=state, next_attempt=first_attempt)
            for name in subscribers
        ]
        db.session.add_all(deliveries)
        db.session.flush()
        if is_reserved:
            after_commit(
                partial(worker.of(app).reserve, [delivery.id for delivery in deliveries], secret)
            )
