"""The queue of mails, in memory: delivers in the background and tries again."""

import atexit
import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from itertools import count

from flask import Flask

from .delivery import Deliver, is_permanent

# Seconds between two attempts, doubled after each.
FIRST_BACKOFF = 1.0
MAX_BACKOFF = 60.0
# Seconds before the first attempt, so that no work for a mail slows down the answer to the request
# that caused it: the time of an answer must not tell who gets a mail.
DELIVERY_DELAY = 0.1
# Seconds for what is left at shutdown.
DRAIN_TIMEOUT = 15.0
# Mails that wait at most; a server that is down for long must not fill the memory.
MAX_QUEUED = 1000

Compose = Callable[[], EmailMessage]


@dataclass(order=True)
class QueuedMail:
    """A queued message: next attempt, order of arrival, deadline, back-off."""

    next_attempt: float
    number: int
    deadline: float = field(compare=False)
    backoff: float = field(compare=False)
    compose: Compose = field(compare=False)


class MailQueue:
    """Delivers messages on one background thread, trying again until each one's deadline."""

    def __init__(self, app: Flask, deliver: Deliver) -> None:
        self._log = app.logger
        self._deliver = deliver
        self._queued: list[QueuedMail] = []
        self._order = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def put(self, compose: Compose, lifetime: float) -> None:
        """Queue a message that is worth delivering for `lifetime` seconds; returns at once."""
        start = time.monotonic()
        next_attempt, number = start + DELIVERY_DELAY, next(self._order)
        mail = QueuedMail(next_attempt, number, start + lifetime, FIRST_BACKOFF, compose)
        with self._changed:
            if len(self._queued) >= MAX_QUEUED:
                self._log.error("mail dropped: %d are waiting already", MAX_QUEUED)
                return
            self._push(mail)
            self._start()

    def close(self) -> None:
        """Try what is waiting once more, for at most DRAIN_TIMEOUT seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(DRAIN_TIMEOUT)
        if self._queued:
            self._log.error("mail lost at shutdown: %d undelivered", len(self._queued))

    def _push(self, mail: QueuedMail) -> None:
        heapq.heappush(self._queued, mail)
        self._changed.notify()

    def _start(self) -> None:
        """Start the thread with the first message: after the server's fork, and only if needed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mail-queue", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while (mail := self._next()) is not None:
            if mail.deadline <= time.monotonic():
                self._log.error("mail given up: it waited for longer than it is of use")
            elif (error := self._attempt(mail.compose)) is not None:
                self._put_back(mail, error)

    def _next(self) -> QueuedMail | None:
        """Wait for the next message that is due; None when closing and nothing is left."""
        with self._changed:
            while True:
                if self._closing:
                    return heapq.heappop(self._queued) if self._queued else None
                timeout = self._queued[0].next_attempt - time.monotonic() if self._queued else None
                if timeout is not None and timeout <= 0:
                    return heapq.heappop(self._queued)
                self._changed.wait(timeout)

    def _attempt(self, compose: Compose) -> Exception | None:
        try:
            self._deliver(compose())
        except Exception as error:
            return error
        return None

    def _put_back(self, mail: QueuedMail, error: Exception) -> None:
        """Let a message wait for its next try, unless there can be none."""
        next_attempt = time.monotonic() + mail.backoff
        # The error's text may quote the message, and with it the token.
        what = f"{type(error).__name__} {getattr(error, 'smtp_code', '')}".strip()
        if is_permanent(error) or self._closing or next_attempt >= mail.deadline:
            self._log.error("mail given up: %s", what)
            return
        self._log.warning("mail delayed by %.0f s: %s", mail.backoff, what)
        with self._changed:
            self._push(
                replace(mail, next_attempt=next_attempt, backoff=min(mail.backoff * 2, MAX_BACKOFF))
            )
