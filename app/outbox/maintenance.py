"""Listing and retrying deliveries, and purging what is finished."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, exists, or_, select, update
from sqlalchemy.orm import defer

from app.database.purging import delete_batch, purge_all
from app.database.session import db, transaction
from app.errors import ModelNotFound
from app.times import now

from .models import EXPIRED, FAILED, PENDING, Delivery, OutboxEvent

# Data that cannot be read must not keep an event from being listed and retried.
WITHOUT_DATA = defer(OutboxEvent.data)


def list_deliveries(state: str | None, limit: int) -> list[tuple[Delivery, OutboxEvent]]:
    """Return the newest deliveries with their events, the newest first."""
    rows = select(Delivery, OutboxEvent).join(OutboxEvent).order_by(Delivery.id.desc())
    if state is not None:
        rows = rows.where(Delivery.state == state)
    rows = rows.limit(limit).options(WITHOUT_DATA)
    return [(row[0], row[1]) for row in db.session.execute(rows)]


def retry(delivery_ids: Sequence[int] | None = None) -> int:
    """Try failed and expired deliveries again, all or these, for as long as at first.

    Returns their number; raises ModelNotFound for one that did not fail, and then retries none.
    """
    chosen = [Delivery.state.in_((FAILED, EXPIRED))]
    if delivery_ids is not None:
        chosen.append(Delivery.id.in_(delivery_ids))
    again = {"state": PENDING, "attempts": 0, "next_attempt": now(), "finished": None}
    reopen = update(Delivery).where(*chosen).values(**again, is_retried=True)
    with transaction():
        rows = db.session.execute(reopen.returning(Delivery.id, Delivery.event_id)).all()
        for delivery_id in set(delivery_ids or ()) - {row.id for row in rows}:
            raise ModelNotFound("failed delivery", delivery_id)
        _prolong({row.event_id for row in rows})
    return len(rows)


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
