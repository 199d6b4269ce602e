"""Listing and retrying deliveries, and purging finished ones."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, Text, cast, exists, func, or_, select, update
from sqlalchemy.orm import defer
from werkzeug.exceptions import Conflict

from app.audit.entries import Action, record, record_all
from app.database.purging import delete_batch, purge_all
from app.database.session import affected_rows, db, transaction
from app.errors import ModelNotFound
from app.times import now

from .claims import due_at_once
from .models import EXPIRED, FAILED, PENDING, WAITING_STATES, Delivery, OutboxEvent

# Unreadable data must not prevent an event from being listed and retried.
WITHOUT_DATA = defer(OutboxEvent.data)
# The number of pending deliveries, and the time of the oldest event: event ids are in order of
# time. The first index of deliveries begins with the state.
_pending = (
    select(func.count().label("number"), func.min(Delivery.event_id).label("first"))
    .where(Delivery.state == PENDING)
    .subquery()
)
PENDING_DELIVERIES = select(_pending.c.number, OutboxEvent.created).outerjoin(
    OutboxEvent, OutboxEvent.id == _pending.c.first
)
# The states of deliveries that can be retried.
RETRIED = (FAILED, EXPIRED)
# Names of an address in events' data, in order of precedence.
ADDRESSES = ("to", "old_email", "email")
# Deliveries whose recipients one statement reads, because databases limit parameters.
READ_TOGETHER = 1000
# The reason stored with a cancelled delivery.
GIVEN_UP = "given up by an operator"


def list_deliveries(state: str | None, limit: int) -> list[tuple[Delivery, OutboxEvent]]:
    """Return deliveries with their events, newest first."""
    rows = select(Delivery, OutboxEvent).join(OutboxEvent).order_by(Delivery.id.desc())
    if state is not None:
        rows = rows.where(Delivery.state == state)
    rows = rows.limit(limit).options(WITHOUT_DATA)
    return [(row[0], row[1]) for row in db.session.execute(rows)]


def find_recipients(delivery_ids: Sequence[int]) -> list[str | None]:
    """Return the recipient of each delivery; None for events without one."""
    # As text, because an event with unreadable data must not keep others from being listed.
    data = select(Delivery.id, cast(OutboxEvent.data, Text)).join(OutboxEvent)
    found: dict[int, str | None] = {}
    for first in range(0, len(delivery_ids), READ_TOGETHER):
        ids = delivery_ids[first : first + READ_TOGETHER]
        rows = db.session.execute(data.where(Delivery.id.in_(ids)))
        found |= {delivery_id: _recipient(text) for delivery_id, text in rows}
    return [found.get(delivery_id) for delivery_id in delivery_ids]


def _recipient(text: str) -> str | None:
    """Return the address in an event's data."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = data if isinstance(data, dict) else {}
    addresses = (known[name] for name in ADDRESSES if isinstance(known.get(name), str))
    return next(addresses, None)


def count_failed() -> int:
    """Return the number of failed and expired deliveries, which `retry` tries again."""
    failed = select(func.count()).select_from(Delivery).where(Delivery.state.in_(RETRIED))
    return db.session.scalar(failed) or 0


def retry(delivery_ids: Sequence[int] | None = None) -> int:
    """Retry failed and expired deliveries, all or these, for as long as new ones.

    Returns their number; raises ModelNotFound, and retries none, if one of them did not fail.
    """
    chosen = [Delivery.state.in_(RETRIED)]
    if delivery_ids is not None:
        chosen.append(Delivery.id.in_(delivery_ids))
    again = {"state": PENDING, "attempts": 0, "next_attempt": due_at_once(), "finished": None}
    reopen = update(Delivery).where(*chosen).values(**again, is_retried=True)
    with transaction():
        rows = db.session.execute(reopen.returning(Delivery.id, Delivery.event_id)).all()
        for delivery_id in set(delivery_ids or ()) - {row.id for row in rows}:
            raise ModelNotFound("failed delivery", delivery_id)
        _prolong({row.event_id for row in rows})
        record_all(Action.DELIVERY_RETRIED, ((None, {"delivery": row.id}) for row in rows))
    return len(rows)


def retry_one(delivery_id: int) -> None:
    """Retry a failed or expired delivery.

    Raises ModelNotFound, or Conflict if it did not fail.
    """
    with transaction():
        state = _lock(delivery_id)
        if state not in RETRIED:
            raise Conflict(f"The delivery is {state}; those that failed or expired are retried.")
        retry([delivery_id])


def give_up(delivery_id: int) -> None:
    """Cancel a pending or scheduled delivery; an attempt in progress may still succeed.

    Raises ModelNotFound, or Conflict if it is neither.
    """
    with transaction():
        state = _lock(delivery_id)
        if state not in WAITING_STATES:
            raise Conflict(f"The delivery is {state}; those that wait are given up.")
        final = {"state": FAILED, "finished": now(), "last_error": GIVEN_UP}
        affected_rows(update(Delivery).where(Delivery.id == delivery_id).values(final))
        record(Action.DELIVERY_GIVEN_UP, delivery=delivery_id)


def _lock(delivery_id: int) -> str:
    """Lock a delivery until the end of the transaction; return its state, or raise ModelNotFound.

    SQLite allows one writer at a time and ignores the lock.
    """
    state = select(Delivery.state).where(Delivery.id == delivery_id).with_for_update()
    found = db.session.scalar(state)
    if found is None:
        raise ModelNotFound("delivery", delivery_id)
    return found


def purge(older_than: timedelta) -> int:
    """Delete, in batches, events whose deliveries all finished before then; return their number."""
    return purge_all(partial(purge_batch, older_than))


def purge_batch(older_than: timedelta) -> int:
    """Delete such events, at most PURGE_BATCH; return their number."""
    before = now() - older_than
    wanted = Delivery.event_id == OutboxEvent.id, _is_kept(before)
    finished = OutboxEvent.created < before, ~exists().where(*wanted)
    # In the order of an index, which begins with the oldest.
    oldest = select(OutboxEvent.id).where(*finished).order_by(OutboxEvent.created)
    return delete_batch(oldest, *finished)


def _is_kept(before: datetime) -> ColumnElement[bool]:
    """Return the condition that a delivery waits, or finished too recently."""
    return or_(Delivery.state.in_(WAITING_STATES), Delivery.finished >= before)


def _prolong(event_ids: Collection[int]) -> None:
    """Restart the lifetime of events."""
    chosen = select(OutboxEvent).where(OutboxEvent.id.in_(event_ids))
    for event in db.session.scalars(chosen.options(WITHOUT_DATA)):
        event.deadline = now() + timedelta(seconds=event.lifetime)
    db.session.flush()
