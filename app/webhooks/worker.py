"""The threads that read the log for webhooks and send their deliveries.

A process has a lease of a webhook while it works on it. It sends its deliveries one after another,
so that a receiver that does not answer delays no other one: after a failure the webhook pauses, for
longer after each further one.
"""

import atexit
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from flask import Flask, current_app
from sqlalchemy import ColumnElement, exists, func, or_, select, true, update
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import Update
from werkzeug.exceptions import HTTPException

from app.changes import log
from app.database.session import affected_rows, db
from app.outbox.delivery import DELAYED
from app.signals import delivery_attempted, emit
from app.state import AppState
from app.times import now

from .models import DELIVERED, FAILED, PENDING, Webhook, WebhookDelivery
from .recording import RESET, LeaseEndedError, has_changes, is_leased, record_changes
from .sending import Answer, senders
from .service import NAME, give_up
from .signing import encryption, signed_headers

#: Seconds between two looks for what is due.
INTERVAL = 1.0
#: Maximum webhooks on which a process works at once.
MAX_WEBHOOKS_AT_ONCE = 8
#: Seconds of a lease; of the work within it, before a last call of at most 13 seconds.
LEASE, WORK = 60, 30
#: Seconds until a delivery is tried again, doubled after each attempt, at most MAX_BACKOFF.
FIRST_BACKOFF, MAX_BACKOFF = 5, 3600
#: Maximum seconds for which a webhook pauses after failures.
MAX_PAUSE = 60
#: Seconds of failures after which a webhook is disabled: five days.
MAX_FAILING = 5 * 86400
#: Seconds for the calls in progress when a process ends.
STOP_TIMEOUT = 15
# The receiver wants no more events (RFC 9110, 15.5.11).
GONE = 410


class Worker:
    """The threads of a process; can be started again after `stop`."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._wake = threading.Event()
        self.is_stopping = False
        self._thread: threading.Thread | None = None
        self._busy: dict[int, threading.Thread] = {}

    def start(self) -> None:
        """Start the thread that looks for what is due, unless it runs."""
        if self._thread is None:
            self.is_stopping = False
            self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Finish the calls in progress, and leave the rest to other processes."""
        thread, self.is_stopping = self._thread, True
        self._wake.set()
        end = time.monotonic() + STOP_TIMEOUT
        if thread is not None:
            thread.join(STOP_TIMEOUT)
        for each in list(self._busy.values()):
            each.join(max(end - time.monotonic(), 0))
        self._thread = None
        atexit.unregister(self.stop)

    def wake(self) -> None:
        """Look for what is due now."""
        self._wake.set()

    def work(self) -> int:
        """Work on what is due in this thread, once; return the number of webhooks."""
        with self._app.app_context():
            ids = find_due()
        for webhook_id in ids:
            self._serve(webhook_id)
        return len(ids)

    def _run(self) -> None:
        while not self.is_stopping:
            try:
                with self._app.app_context():
                    due = [each for each in find_due() if each not in self._busy]
                for webhook_id in due[: MAX_WEBHOOKS_AT_ONCE - len(self._busy)]:
                    self._begin(webhook_id)
            except Exception as error:
                # Most likely a database error; the thread must survive any error.
                self._app.logger.error("webhooks failed: %s", type(error).__name__)
            self._wake.wait(INTERVAL)
            self._wake.clear()

    def _begin(self, webhook_id: int) -> None:
        # Not of a pool: Python waits for the threads of pools before it calls `stop` at its exit.
        thread = threading.Thread(
            target=self._serve, args=[webhook_id], name=f"webhook-{webhook_id}", daemon=True
        )
        self._busy[webhook_id] = thread
        thread.start()

    def _serve(self, webhook_id: int) -> None:
        try:
            with self._app.app_context():
                serve(webhook_id, lambda: self.is_stopping)
        except Exception as error:
            # Its lease ends, and the work is done again.
            self._app.logger.error("webhook %d failed: %s", webhook_id, type(error).__name__)
        finally:
            self._busy.pop(webhook_id, None)


workers = AppState("worker of webhooks", factory=Worker)


def find_due() -> list[int]:
    """Return the webhooks that have something to send or to read, longest due first."""
    due = select(WebhookDelivery.id).where(*_due(now()), WebhookDelivery.webhook_id == Webhook.id)
    chosen = (
        select(Webhook, exists(due.correlate(Webhook)))
        .where(Webhook.is_enabled == true(), Webhook.next_attempt <= now())
        .order_by(Webhook.next_attempt)
    )
    rows = db.session.execute(chosen).all()
    if not rows:
        return []
    epoch, current = log.epoch(), log.snapshot()
    return [
        webhook.id for webhook, has_due in rows if has_due or has_changes(webhook, epoch, current)
    ]


def serve(webhook_id: int, is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Read the log for a webhook, and send what is due, unless another process does."""
    webhook, end = _claim(webhook_id), time.monotonic() + WORK
    if webhook is None:
        return

    def may_go_on() -> bool:
        return not is_stopping() and time.monotonic() < end

    try:
        read_pause = _read_log(webhook, may_go_on)
    except LeaseEndedError:
        return
    pause = 0.0
    while not pause and may_go_on():
        delivery = _next(webhook)
        if delivery is None or not _is_ours(webhook):
            break
        pause = _settle(webhook, attempt(webhook, delivery), now())
    _release(webhook, max(pause, read_pause))


def _read_log(webhook: Webhook, may_go_on: Callable[[], bool]) -> float:
    """Record the changes for a webhook; return for how many seconds it pauses.

    It does if they cannot be read, because a property of its `where` is there no more, or a hook
    raises an error. What was recorded before is sent all the same.
    """
    try:
        while webhook.models and record_changes(webhook) and may_go_on():
            pass
    except LeaseEndedError:
        raise
    except Exception as error:
        reason = error.description if isinstance(error, HTTPException) else type(error).__name__
        current_app.logger.error("webhook %d: changes cannot be read: %s", webhook.id, reason)
        return MAX_PAUSE
    return 0.0


def _send(webhook: Webhook, delivery: WebhookDelivery) -> Answer:
    decrypt = encryption.current.decrypt
    body = decrypt(delivery.body or "").encode()
    keys = [decrypt(webhook.secret)]
    if webhook.old_secret and webhook.old_secret_until and webhook.old_secret_until > now():
        keys.append(decrypt(webhook.old_secret))
    headers = signed_headers(keys, delivery.message_id, int(time.time()), body)
    # No connection of the database is in use meanwhile.
    db.session.remove()
    return senders.current.send(webhook.url, headers, body)


def attempt(webhook: Webhook, delivery: WebhookDelivery) -> Answer:
    """Send a delivery, and store the outcome; return the answer."""
    try:
        answer = _send(webhook, delivery)
    except ValueError as error:
        answer = Answer(None, None, str(error))
    moment, attempts = now(), delivery.attempts + 1
    values: dict[str, Any] = {
        "attempts": attempts,
        "status": answer.status,
        "answer": answer.text,
        "last_error": answer.error,
    }
    backoff = min(FIRST_BACKOFF * 2 ** min(attempts - 1, 20), MAX_BACKOFF)
    if answer.is_success:
        values |= {"state": DELIVERED, "finished": moment}
    elif moment + timedelta(seconds=backoff) >= delivery.deadline:
        values |= {"state": FAILED, "finished": moment}
    else:
        values["next_attempt"] = moment + timedelta(seconds=backoff)
    if delivery.type == RESET and "finished" in values:
        values["body"] = None
    changed = update(WebhookDelivery).where(WebhookDelivery.id == delivery.id)
    affected_rows(changed.values(values).execution_options(synchronize_session=False))
    emit(delivery_attempted, subscriber=NAME, outcome=values.get("state", DELAYED))
    return answer


def _settle(webhook: Webhook, answer: Answer, moment: datetime) -> float:
    """Store whether a receiver works; return for how many seconds its webhook pauses."""
    if answer.is_success:
        if webhook.failures:
            webhook.failures, webhook.failing_since = 0, None
            _store_failures(webhook)
        return 0.0
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or moment
    _store_failures(webhook)
    is_gone = answer.status == GONE
    if is_gone or webhook.failing_since <= moment - timedelta(seconds=MAX_FAILING):
        give_up(webhook, "status 410" if is_gone else "failures of five days")
    return float(min(2 ** min(webhook.failures - 1, 20), MAX_PAUSE))


def _store_failures(webhook: Webhook) -> None:
    values = {"failures": webhook.failures, "failing_since": webhook.failing_since}
    _execute(update(Webhook).where(Webhook.id == webhook.id).values(values))


def _due(moment: datetime) -> tuple[ColumnElement[bool], ...]:
    return WebhookDelivery.state == PENDING, WebhookDelivery.next_attempt <= moment


def _next(webhook: Webhook) -> WebhookDelivery | None:
    """Return the first delivery that is due; if ordered, only after the earlier ones of its row."""
    chosen = select(WebhookDelivery).where(*_due(now()), WebhookDelivery.webhook_id == webhook.id)
    if webhook.is_ordered:
        waiting = aliased(WebhookDelivery)
        # The first one of each row by an index: a join could compare each one with all others.
        first = select(func.min(waiting.id)).where(
            waiting.webhook_id == webhook.id,
            waiting.state == PENDING,
            waiting.row_key == WebhookDelivery.row_key,
        )
        is_first = WebhookDelivery.id == first.correlate(WebhookDelivery).scalar_subquery()
        chosen = chosen.where(or_(WebhookDelivery.row_key.is_(None), is_first))
    found = db.session.scalars(
        chosen.order_by(WebhookDelivery.next_attempt, WebhookDelivery.id).limit(1)
    ).first()
    if found is not None:
        db.session.expunge(found)
    return found


def _claim(webhook_id: int) -> Webhook | None:
    """Take the lease of a webhook that is due, and return it; None if another process has it."""
    due = Webhook.id == webhook_id, Webhook.is_enabled == true(), Webhook.next_attempt <= now()
    values = {"claims": Webhook.claims + 1, "next_attempt": now() + timedelta(seconds=LEASE)}
    claiming = update(Webhook).where(*due).values(values).returning(Webhook)
    webhook = db.session.scalars(
        claiming, execution_options={"synchronize_session": False, "populate_existing": True}
    ).first()
    if webhook is not None:
        db.session.expunge(webhook)
    return webhook


def _is_ours(webhook: Webhook) -> bool:
    """Return whether a webhook is enabled, and its lease is still this process's."""
    ours = is_leased(webhook), Webhook.is_enabled == true()
    return db.session.scalar(select(Webhook.id).where(*ours)) is not None


def _release(webhook: Webhook, pause: float) -> None:
    """End the lease of a webhook, unless another process has it; it pauses for some seconds."""
    next_attempt = now() + timedelta(seconds=pause)
    _execute(update(Webhook).where(is_leased(webhook)).values(next_attempt=next_attempt))


def _execute(statement: Update) -> None:
    affected_rows(statement.execution_options(synchronize_session=False))
