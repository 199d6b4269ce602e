"""Claiming deliveries: a lease gives each to one worker at a time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    SQLColumnExpression,
    bindparam,
    func,
    inspect,
    or_,
    select,
    update,
)
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import ReturningUpdate

from app.database.dialects import DatabaseTime
from app.database.session import affected_rows, db, transaction
from app.database.statements import PreparedStatement
from app.times import now

from .models import (
    PENDING,
    SCHEDULED,
    WAITING_STATES,
    Attempt,
    Delivery,
    OutboxEvent,
    UndeliverableError,
)

#: Seconds after which another process takes over the delivery of one that died.
LEASE = 60.0
#: Maximum seconds between two attempts of a delivery.
MAX_BACKOFF = 60.0
#: Maximum number of later deliveries with which a waiting one of the same event is compared.
MAX_COMPARED = 100
#: Seconds by which the clocks of hosts may differ.
CLOCK_TOLERANCE = 60.0

ROWS, EVENTS = inspect(Delivery).columns, inspect(OutboxEvent).columns
# Statements that are run for each mail delivered by the process that recorded it, compiled once.
IS_EVENT, IS_DELIVERY = EVENTS.id == bindparam("event"), ROWS.id == bindparam("delivery")
DATA = PreparedStatement(select(EVENTS.data).where(IS_EVENT))
SHOWN = EVENTS.event, EVENTS.deadline, EVENTS.request_id, EVENTS.languages
EVENT = PreparedStatement(select(*SHOWN).where(IS_EVENT))
OURS = IS_DELIVERY, ROWS.attempts == bindparam("attempt"), ROWS.state == PENDING
FINAL: dict[str, Any] = {
    name: bindparam(f"new_{name}") for name in ("state", "finished", "last_error")
}
FINISH = PreparedStatement(update(ROWS.id.table).where(*OURS).values(FINAL).returning(ROWS.id))


class Claim(NamedTuple):
    """A delivery that this worker may attempt."""

    id: int
    # The number of attempts, which also shows whether the lease is still this worker's.
    attempts: int
    subscriber: str
    is_retried: bool
    event_id: int
    event: str
    deadline: datetime
    # The id of the request that recorded the event.
    request_id: str | None
    languages: str | None

    def attempt(self, secret: str | None) -> Attempt:
        """Return the attempt, on which the payload depends."""
        return Attempt(self.attempts, self.deadline, self.subscriber, self.is_retried, secret)


def lease_end() -> datetime:
    """Return the end of a lease that begins now."""
    return now() + timedelta(seconds=LEASE)


def due_at_once() -> datetime:
    """Return a time that has passed on every host, whose clocks may differ: an attempt is due."""
    return now() - timedelta(seconds=CLOCK_TOLERANCE)


def next_attempt() -> datetime | None:
    """Return when the first delivery may be claimed; takes no write lock."""
    # Several selects, because each takes only one step in the index.
    first_of = select(func.min(Delivery.next_attempt)).where(Delivery.state == PENDING)
    last_of = select(func.max(Delivery.next_attempt)).where(Delivery.state == PENDING)
    scheduled_of = select(func.min(Delivery.next_attempt)).where(*_scheduled(Delivery))
    found = (first_of.scalar_subquery(), last_of.scalar_subquery(), scheduled_of.scalar_subquery())
    first, last, scheduled = db.session.execute(select(*found)).one()
    moment = now()
    is_late = last is not None and last > _latest(moment)
    return moment if is_late or scheduled is not None else first


def claim_due() -> Claim | None:
    """Claim the delivery that has been due for longest; scheduled ones if no other is due."""
    other = aliased(Delivery)
    pending = other.state == PENDING, _is_due(other.next_attempt)
    return _claim_first(other, *pending) or _claim_first(other, *_scheduled(other))


def _claim_first(other: type[Delivery], *conditions: ColumnElement[bool]) -> Claim | None:
    """Claim the first delivery of those that meet conditions about the alias."""
    first = select(other.id).where(*conditions).order_by(other.next_attempt).limit(1)
    due = first.with_for_update(skip_locked=True).scalar_subquery()
    # Compared with the state again: another worker may have been faster.
    claiming = _claiming(ROWS.state.in_(WAITING_STATES), ROWS.id == due)
    return _claim(db.session.execute(claiming, {"lease_end": lease_end()}).first())


def claim_reserved(delivery_id: int) -> Claim | None:
    """Claim a delivery without attempts, even if it is not due."""
    return _claim(CLAIM_RESERVED.first({"delivery": delivery_id, "lease_end": lease_end()}))


def read_data(claim: Claim) -> dict[str, Any]:
    """Return the recorded data; raise UndeliverableError if it cannot be read."""
    try:
        row = DATA.first({"event": claim.event_id})
    except (ValueError, RecursionError):
        raise UndeliverableError("its data cannot be read") from None
    if row is None:
        raise UndeliverableError("it was cancelled")
    data: dict[str, Any] = row.data
    return data


def renew(claim: Claim) -> None:
    """Prolong the lease."""
    _change(claim, next_attempt=lease_end())


def postpone(claim: Claim, seconds: float, reason: str) -> None:
    """End the lease; schedule the next attempt."""
    _change(claim, next_attempt=now() + timedelta(seconds=seconds), last_error=reason)


def defer(claim: Claim, seconds: float, reason: str) -> None:
    """End the lease; schedule the next attempt, and extend the deadline by the same time."""
    deadline = claim.deadline + timedelta(seconds=seconds)
    with transaction():
        moved = update(OutboxEvent).where(OutboxEvent.id == claim.event_id)
        affected_rows(moved.values(deadline=deadline))
        postpone(claim, seconds, reason)


def is_repeated(claim: Claim) -> bool:
    """Return True if a later event with the same name and data waits for the same subscriber."""
    data = read_data(claim)
    later = (
        select(OutboxEvent.data)
        .join(Delivery, Delivery.event_id == OutboxEvent.id)
        .where(Delivery.state == PENDING, Delivery.subscriber == claim.subscriber)
        .where(OutboxEvent.event == claim.event, OutboxEvent.id > claim.event_id)
    )
    newest = later.order_by(OutboxEvent.id.desc()).limit(MAX_COMPARED)
    try:
        return data in db.session.scalars(newest).all()
    except (ValueError, RecursionError):
        # The data of one of them cannot be read; that one is undeliverable.
        return False


def finish(claim: Claim, state: str, reason: str | None = None) -> None:
    """End the lease with a final state."""
    ours = {"delivery": claim.id, "attempt": claim.attempts}
    FINISH.first({**ours, "new_state": state, "new_finished": now(), "new_last_error": reason})


def release(delivery_ids: Sequence[int]) -> None:
    """Let any worker claim deliveries without attempts."""
    waiting = Delivery.id.in_(delivery_ids), Delivery.state == PENDING, Delivery.attempts == 0
    affected_rows(update(Delivery).where(*waiting).values(next_attempt=due_at_once()))


def _is_due(time: SQLColumnExpression[datetime]) -> ColumnElement[bool]:
    """Return the condition that an attempt is due, or is planned impossibly late.

    Otherwise, after a clock was set back, deliveries would wait until it has caught up.
    """
    moment = now()
    return or_(time <= moment, time > _latest(moment))


def _scheduled(delivery: type[Delivery]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a scheduled delivery is due, by the clock of the database."""
    return delivery.state == SCHEDULED, delivery.next_attempt <= DatabaseTime()


def _latest(moment: datetime) -> datetime:
    """Return the latest time at which an attempt may be planned."""
    return moment + timedelta(seconds=max(LEASE, MAX_BACKOFF) + CLOCK_TOLERANCE)


def _claiming(*conditions: ColumnElement[bool]) -> ReturningUpdate[Any]:
    """Return the statement that claims a delivery until `lease_end`."""
    columns = ROWS.id, ROWS.attempts, ROWS.subscriber, ROWS.is_retried, ROWS.event_id
    claimed = {"attempts": ROWS.attempts + 1, "next_attempt": bindparam("lease_end")}
    claiming = update(ROWS.id.table).where(*conditions).values({**claimed, "state": PENDING})
    return claiming.returning(*columns)


def _claim(row: Any) -> Claim | None:
    if row is None:
        return None
    event = EVENT.first({"event": row.event_id})
    # It may have been cancelled since.
    return None if event is None else Claim(*row, *event)


def _change(claim: Claim, **values: object) -> None:
    """Change a delivery, unless another worker has claimed it."""
    ours = Delivery.id == claim.id, Delivery.attempts == claim.attempts, Delivery.state == PENDING
    statement = update(Delivery).where(*ours).values(values)
    affected_rows(statement.execution_options(synchronize_session=False))


CLAIM_RESERVED = PreparedStatement(
    _claiming(IS_DELIVERY, ROWS.state == PENDING, ROWS.attempts == 0)
)
