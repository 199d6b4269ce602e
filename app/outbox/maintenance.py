"""Listing and retrying deliveries, and purging what is finished."""

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
from .models import EXPIRED, FAILED, PENDING, Delivery, OutboxEvent

# Data that cannot be read must not keep an event from being listed and retried.
WITHOUT_DATA = defer(OutboxEvent.data)
# How many deliveries are pending, and when the first of their events was: ids of events follow
# their time. The first index of deliveries begins with the state.
_pending = (
    select(func.count().label("number"), func.min(Delivery.event_id).label("first"))
    .where(Delivery.state == PENDING)
    .subquery()
)
PENDING_DELIVERIES = select(_pending.c.number, OutboxEvent.created).outerjoin(
    OutboxEvent, OutboxEvent.id == _pending.c.first
)
# The states of what can be retried.
RETRIED = (FAILED, EXPIRED)
# The names that events have for the address that a mail goes to; the first one that is there.
ADDRESSES = ("to", "old_email", "email")
# Deliveries whose recipients are read by one statement: databases bound its parameters.
READ_TOGETHER = 1000
# What is said of a delivery that somebody has given up.
GIVEN_UP = "given up by an operator"


def list_deliveries(state: str | None, limit: int) -> list[tuple[Delivery, OutboxEvent]]:
    """Return the newest deliveries with their events, the newest first."""
    rows = select(Delivery, OutboxEvent).join(OutboxEvent).order_by(Delivery.id.desc())
    if state is not None:
        rows = rows.where(Delivery.state == state)
    rows = rows.limit(limit).options(WITHOUT_DATA)
    return [(row[0], row[1]) for row in db.session.execute(rows)]


def find_recipients(delivery_ids: Sequence[int]) -> list[str | None]:
    """Return the address that each of these deliveries is for; None where its event has none."""
    # As text, since one event whose data cannot be read must not keep others from being listed.
    data = select(Delivery.id, cast(OutboxEvent.data, Text)).join(OutboxEvent)
    found: dict[int, str | None] = {}
    for first in range(0, len(delivery_ids), READ_TOGETHER):
        ids = delivery_ids[first : first + READ_TOGETHER]
        rows = db.session.execute(data.where(Delivery.id.in_(ids)))
        found |= {delivery_id: _recipient(text) for delivery_id, text in rows}
    return [found.get(delivery_id) for delivery_id in delivery_ids]


def _recipient(text: str) -> str | None:
    """Return the address in the data of an event."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = data if isinstance(data, dict) else {}
    addresses = (known[name] for name in ADDRESSES if isinstance(known.get(name), str))
    return next(addresses, None)


def count_failed() -> int:
    """Return how many deliveries failed or expired, which `retry` tries again."""
    failed = select(func.count()).select_from(Delivery).where(Delivery.state.in_(RETRIED))
    return db.session.scalar(failed) or 0


def retry(delivery_ids: Sequence[int] | None = None) -> int:
    """Try failed and expired deliveries again, all or these, for as long as at first.

    Returns their number; raises ModelNotFound for one that did not fail, and then retries none.
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
    """Try a delivery again that failed or expired.

    Raises ModelNotFound, and Conflict for one that did not.
    """
    with transaction():
        state = _lock(delivery_id)
        if state not in RETRIED:
            raise Conflict(f"The delivery is {state}; those that failed or expired are retried.")
        retry([delivery_id])


def give_up(delivery_id: int) -> None:
    """Try a pending delivery no more; an attempt that is under way may still succeed.

    Raises ModelNotFound, and Conflict for one that is not pending.
    """
    with transaction():
        state = _lock(delivery_id)
        if state != PENDING:
            raise Conflict(f"The delivery is {state}; those that are pending are given up.")
        final = {"state": FAILED, "finished": now(), "last_error": GIVEN_UP}
        affected_rows(update(Delivery).where(Delivery.id == delivery_id).values(final))
        record(Action.DELIVERY_GIVEN_UP, delivery=delivery_id)


def _lock(delivery_id: int) -> str:
    """Lock a delivery until the end of the transaction; return its state, or raise ModelNotFound.

    SQLite has one writer at a time and ignores the lock.
    """
    state = select(Delivery.state).where(Delivery.id == delivery_id).with_for_update()
    found = db.session.scalar(state)
    if found is None:
        raise ModelNotFound("delivery", delivery_id)
    return found


def purge(older_than: timedelta) -> int:
    """Delete events whose deliveries all finished so long ago, in batches; return their number."""
    return purge_all(partial(purge_batch, older_than))


def purge_batch(older_than: timedelta) -> int:
    """Delete such events, at most PURGE_BATCH; return their number."""
    before = now() - older_than
    wanted = Delivery.event_id == OutboxEvent.id, _is_kept(before)
    finished = OutboxEvent.created < before, ~exists().where(*wanted)
    # In the order of an index that begins with those that are old enough.
    oldest = select(OutboxEvent.id).where(*finished).order_by(OutboxEvent.created)
    return delete_batch(oldest, *finished)


def _is_kept(before: datetime) -> ColumnElement[bool]:
    """Return the condition that a delivery is pending, or finished no longer ago."""
    return or_(Delivery.state == PENDING, Delivery.finished >= before)


def _prolong(event_ids: Collection[int]) -> None:
    """Give events another lifetime from now on."""
    chosen = select(OutboxEvent).where(OutboxEvent.id.in_(event_ids))
    for event in db.session.scalars(chosen.options(WITHOUT_DATA)):
        event.deadline = now() + timedelta(seconds=event.lifetime)
    db.session.flush()
