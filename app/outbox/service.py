"""Recording events in the transaction of their cause."""

from datetime import timedelta
from functools import partial
from typing import Any

from flask import current_app
from sqlalchemy import bindparam, insert, inspect

from app.database.session import Model, after_commit, transaction
from app.database.statements import PreparedStatement
from app.observability.origin import current_languages, current_request_id
from app.times import now

from .claims import due_at_once, lease_end
from .models import OBSOLETE, PENDING, Delivery, OutboxEvent
from .registry import registry
from .worker import worker

# The columns of a delivery without attempts.
NEW = {"attempts": 0, "is_retried": False, "last_error": None, "finished": None}


def _inserting(model: type[Model]) -> PreparedStatement:
    """Return the statement that inserts a row with all values except its id, and returns the id."""
    columns = inspect(model).columns
    values: dict[Any, Any] = {
        column: bindparam(name) for name, column in columns.items() if name != "id"
    }
    return PreparedStatement(insert(columns.id.table).values(values).returning(columns.id))


INSERT_EVENT, INSERT_DELIVERY = _inserting(OutboxEvent), _inserting(Delivery)


def record(event: str, data: dict[str, Any], lifetime: float, secret: str | None = None) -> None:
    """Record an event, whose deliveries are tried for `lifetime` seconds.

    Takes part in the caller's transaction. `data` is stored and must not contain secrets; `secret`
    is kept in the memory of this process for its first attempt. Without subscribers, nothing is
    recorded.
    """
    _insert(event, data, lifetime, secret, PENDING)


def record_decoy(event: str, data: dict[str, Any], lifetime: float) -> None:
    """Take as long as `record`, without delivering anything."""
    _insert(event, data, lifetime, None, OBSOLETE)


def _insert(
    event: str, data: dict[str, Any], lifetime: float, secret: str | None, state: str
) -> None:
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    subscribers = registry.of(app).subscribers(event)
    if not subscribers:
        return
    is_reserved, created = worker.of(app).has_room(), now()
    first_attempt = lease_end() if is_reserved else due_at_once()
    deadline = created + timedelta(seconds=lifetime)
    event_values = {
        "event": event,
        "data": data,
        "created": created,
        "lifetime": lifetime,
        "deadline": deadline,
        "request_id": current_request_id(),
        "languages": ",".join(current_languages()) or None,
    }
    with transaction():
        event_id = INSERT_EVENT.first(event_values).id
        delivery = {"event_id": event_id, "state": state, "next_attempt": first_attempt, **NEW}
        ids = [INSERT_DELIVERY.first({**delivery, "subscriber": name}).id for name in subscribers]
        if is_reserved:
            after_commit(partial(worker.of(app).reserve, ids, secret))
