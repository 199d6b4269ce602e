"""The outbox's service: recording events, and the background thread that delivers them."""

import atexit
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, Protocol

from flask import Flask, current_app, has_request_context
from sqlalchemy import bindparam, delete, exists, insert, inspect, select

from app.database.dialects import insert_for
from app.database.session import Model, affected_rows, after_commit, db, transaction
from app.database.statements import PreparedStatement
from app.observability.origin import current_languages, current_request_id
from app.state import AppState
from app.times import now

from . import claims
from .delivery import deliver, deliver_due, leases, registry, seconds_until_due
from .models import (
    HAS_KEY,
    MAX_KEY,
    OBSOLETE,
    PENDING,
    SCHEDULED,
    WAITING_STATES,
    Delivery,
    OutboxEvent,
)

# The columns of a delivery without attempts.
NEW = {"attempts": 0, "is_retried": False, "last_error": None, "finished": None}
# The end of the calendar, at which the latest deadlines are.
LAST_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
# Seconds before the first attempt, so that it does not slow down the response to the request that
# caused it: the response time must not reveal whether there is a delivery.
DELIVERY_DELAY = 0.1
#: Seconds for the delivery in progress when a process ends; gunicorn kills a process after 30.
STOP_TIMEOUT = 25.0
#: Maximum deliveries reserved for the process that recorded them; any process makes the others.
MAX_RESERVED = 1000
# Seconds to wait if other processes were faster.
CONTENTION_PAUSE = 0.1


def _inserting(model: type[Model]) -> PreparedStatement:
    """Return the statement that inserts a row with all values except its id, and returns the id."""
    columns = inspect(model).columns
    values: dict[Any, Any] = {
        column: bindparam(name) for name, column in columns.items() if name != "id"
    }
    return PreparedStatement(insert(columns.id.table).values(values).returning(columns.id))


INSERT_EVENT, INSERT_DELIVERY = _inserting(OutboxEvent), _inserting(Delivery)


class Reservation(NamedTuple):
    """A delivery that this process recorded, and attempts first."""

    delivery_id: int
    # By the monotonic clock.
    ready: float
    secret: str | None

    def __repr__(self) -> str:
        return f"Reservation({self.delivery_id})"


class Worker:
    """Delivers on a background thread; can be started again after `stop`."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._poll_interval: float = app.config["OUTBOX_POLL_INTERVAL"]
        self._changed = threading.Condition()
        self._reserved: deque[Reservation] = deque()
        self._thread: threading.Thread | None = None
        self._stopping = False

    def has_room(self) -> bool:
        """Return True if this process can reserve a delivery that it records.

        Commands do not deliver what they record: the service does.
        """
        if not self._app.config["OUTBOX_IN_PROCESS"]:
            return False
        is_service = self._thread is not None or has_request_context()
        return is_service and len(self._reserved) < MAX_RESERVED

    def reserve(self, delivery_ids: Sequence[int], secret: str | None) -> None:
        """Attempt deliveries soon that were recorded with a worker's lease."""
        ready = time.monotonic() + DELIVERY_DELAY
        with self._changed:
            self._reserved += [Reservation(id, ready, secret) for id in delivery_ids]
            self._changed.notify()
        self.start()

    def start(self) -> None:
        """Start the thread, unless it runs."""
        with self._changed:
            if self._thread is None:
                self._stopping = False
                self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
                self._thread.start()
                atexit.register(self.stop)

    def stop(self) -> None:
        """Finish the attempt in progress, and leave the rest to other processes."""
        with self._changed:
            thread, self._stopping = self._thread, True
            self._changed.notify()
        if thread is not None:
            thread.join(STOP_TIMEOUT)
        self._thread = None
        atexit.unregister(self.stop)
        self._release()

    def _release(self) -> None:
        with self._changed:
            ids = [reservation.delivery_id for reservation in self._reserved]
            self._reserved.clear()
        if ids:
            with self._app.app_context():
                claims.release(ids)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._wait(self._work())
            except Exception as error:
                # Most likely a database error; the thread must survive any error.
                self._app.logger.error("the outbox failed: %s", type(error).__name__)
                self._wait(self._poll_interval)

    def _work(self) -> float:
        """Deliver what is due; return the seconds until more may be."""
        while not self._stopping:
            if reservation := self._take_ready():
                self._deliver_reserved(reservation)
                continue
            seconds = seconds_until_due(self._app)
            if seconds > 0:
                return min(seconds, self._poll_interval)
            if deliver_due(self._app) is None:
                return CONTENTION_PAUSE
        return 0

    def _take_ready(self) -> Reservation | None:
        with self._changed:
            if self._reserved and self._reserved[0].ready <= time.monotonic():
                return self._reserved.popleft()
        return None

    def _deliver_reserved(self, reservation: Reservation) -> None:
        with self._app.app_context():
            claim = claims.claim_reserved(reservation.delivery_id)
        if claim is not None:
            deliver(self._app, claim, reservation.secret)

    def _wait(self, seconds: float) -> None:
        """Wait until a reservation is due, until the time is over, or until stopped."""
        with self._changed:
            if self._reserved:
                seconds = min(seconds, self._reserved[0].ready - time.monotonic())
            if seconds > 0 and not self._stopping:
                self._changed.wait(seconds)


worker = AppState("outbox worker", factory=Worker)


class Companion(Protocol):
    """A worker that delivers by its own queue, in the processes that deliver the outbox's."""

    def start(self) -> None:
        """Start its threads, unless they run."""

    def stop(self) -> None:
        """Finish the attempts in progress."""

    def work(self) -> object:
        """Attempt what is due, in this thread."""


companions = AppState[list[Companion]]("companions of the outbox", factory=lambda _app: [])


def start(app: Flask) -> None:
    """Deliver in this process, unless OUTBOX_IN_PROCESS is false or there is nothing to deliver."""
    if not app.config["OUTBOX_IN_PROCESS"]:
        return
    if registry.of(app).handlers:
        worker.of(app).start()
    for companion in companions.of(app):
        companion.start()


def stop(app: Flask) -> None:
    """Stop delivering in this process after the attempts in progress."""
    for companion in companions.of(app):
        companion.stop()
    worker.of(app).stop()
    leases.of(app).stop()


def record(
    event: str,
    data: dict[str, Any],
    lifetime: float,
    secret: str | None = None,
    *,
    not_before: datetime | None = None,
    key: str | None = None,
) -> None:
    """Record an event, whose deliveries are tried for `lifetime` seconds, from `not_before` on.

    Takes part in the caller's transaction. `data` is stored and must not contain secrets; `secret`
    is kept in the memory of this process for its first attempt, which `not_before` excludes. An
    event with a `key` replaces the one of the same name and key, and what is not yet delivered of
    it. Without subscribers, nothing is recorded. Raises ValueError for a time without a zone.
    """
    if not_before is not None and not_before.tzinfo is None:
        raise ValueError("not_before has no time zone")
    if not_before is not None and secret is not None:
        raise ValueError("a secret is not kept until not_before")
    if key is not None and len(key) > MAX_KEY:
        raise ValueError(f"the key of an event has at most {MAX_KEY} characters")
    _insert(event, data, lifetime, secret=secret, not_before=not_before, key=key)


def record_decoy(event: str, data: dict[str, Any], lifetime: float) -> None:
    """Take as long as `record`, without delivering anything."""
    _insert(event, data, lifetime, state=OBSOLETE)


def cancel(event: str, key: str) -> bool:
    """Cancel what is not yet delivered of the event with a key; return False if nothing was left.

    Takes part in the caller's transaction. An attempt in progress may still succeed.
    """
    keyed = OutboxEvent.event == event, OutboxEvent.key == key
    with transaction():
        ids = db.session.scalars(select(OutboxEvent.id).where(*keyed)).all()
        waiting = Delivery.event_id.in_(ids), Delivery.state.in_(WAITING_STATES)
        cancelled = affected_rows(delete(Delivery).where(*waiting))
        rest = exists().where(Delivery.event_id == OutboxEvent.id)
        affected_rows(delete(OutboxEvent).where(*keyed, ~rest))
    return cancelled > 0


def _insert(
    event: str,
    data: dict[str, object],
    lifetime: float,
    *,
    secret: str | None = None,
    state: str = PENDING,
    not_before: datetime | None = None,
    key: str | None = None,
) -> None:
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    subscribers = registry.of(app).subscribers(event)
    if not subscribers:
        return
    created = now()
    begin = min(max(created, not_before or created), LAST_TIME).astimezone(UTC)
    is_reserved = begin == created and worker.of(app).has_room()
    first_attempt = claims.lease_end() if is_reserved else claims.due_at_once()
    if begin > created:
        state, first_attempt = SCHEDULED, begin
    event_values = {
        "event": event,
        "data": data,
        "created": created,
        "lifetime": lifetime,
        "deadline": begin + min(timedelta(seconds=lifetime), LAST_TIME - begin),
        "request_id": current_request_id(),
        "languages": ",".join(current_languages()) or None,
        "key": key,
    }
    with transaction():
        event_id = INSERT_EVENT.first(event_values).id if key is None else _replace(event_values)
        delivery = {"event_id": event_id, "state": state, "next_attempt": first_attempt, **NEW}
        ids = [INSERT_DELIVERY.first({**delivery, "subscriber": name}).id for name in subscribers]
        if is_reserved:
            after_commit(partial(worker.of(app).reserve, ids, secret))


def _replace(values: Mapping[str, object]) -> int:
    """Store an event with a key in place of the one that has it; delete that one's deliveries."""
    row = insert_for(db.engine.dialect.name)(OutboxEvent).values(values)
    replaced = row.on_conflict_do_update(
        index_elements=["event", "key"],
        index_where=HAS_KEY,
        set_={name: row.excluded[name] for name in values},
    )
    event_id: int = db.session.scalar(replaced.returning(OutboxEvent.id))
    affected_rows(delete(Delivery).where(Delivery.event_id == event_id))
    return event_id
