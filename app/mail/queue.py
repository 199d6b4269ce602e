"""The queue of mails, in memory: delivers in the background and tries again."""

import atexit
import heapq
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from .delivery import is_permanent
from .messages import MessageError

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


@dataclass(order=True)
class QueuedMail:
    """A queued mail: next attempt, order of arrival, deadline, back-off, attempts, content."""

    next_attempt: float
    number: int
    deadline: float = field(compare=False)
    kind: str = field(compare=False)
    # Not shown: an address is personal data, and the variables have the token.
    to: str = field(compare=False, repr=False)
    context: Mapping[str, Any] = field(compare=False, repr=False)
    backoff: float = field(compare=False)
    attempts: int = field(compare=False, default=0)


# Delivers a mail, and says how in a few words for the log.
Transmit = Callable[[QueuedMail], str]


class MailQueue:
    """Delivers mails on one background thread, trying again until each one's deadline.

    Logs one line for each mail that was delivered: how, its kind and the number of attempts. No
    line has an address, a subject or any other content.
    """

    def __init__(self, log: logging.Logger, transmit: Transmit) -> None:
        self._log = log
        self._transmit = transmit
        self._queued: list[QueuedMail] = []
        self._order = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def put(self, kind: str, to: str, context: Mapping[str, Any], lifetime: float) -> None:
        """Queue a mail that is worth delivering for `lifetime` seconds; return at once."""
        now, number = time.monotonic(), next(self._order)
        deadline = now + lifetime
        mail = QueuedMail(now + DELIVERY_DELAY, number, deadline, kind, to, context, FIRST_BACKOFF)
        with self._changed:
            if len(self._queued) >= MAX_QUEUED:
                self._log.error("mail dropped: %d are waiting already (%s)", MAX_QUEUED, kind)
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
        """Start the thread with the first mail: after the server's fork, and only if needed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mail-queue", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while (mail := self._next()) is not None:
            if mail.deadline <= time.monotonic():
                self._give_up(mail, "its deadline has passed")
            else:
                self._attempt(mail)

    def _next(self) -> QueuedMail | None:
        """Wait for the next mail that is due; None when closing and nothing is left."""
        with self._changed:
            while True:
                if self._closing:
                    return heapq.heappop(self._queued) if self._queued else None
                timeout = self._queued[0].next_attempt - time.monotonic() if self._queued else None
                if timeout is not None and timeout <= 0:
                    return heapq.heappop(self._queued)
                self._changed.wait(timeout)

    def _attempt(self, mail: QueuedMail) -> None:
        mail.attempts += 1
        try:
            how = self._transmit(mail)
        except Exception as error:
            self._handle_failure(mail, error)
        else:
            self._log.info("mail %s (%s, attempts: %d)", how, mail.kind, mail.attempts)

    def _handle_failure(self, mail: QueuedMail, error: Exception) -> None:
        """Queue a mail for its next attempt, unless there can be none."""
        mail.next_attempt = time.monotonic() + mail.backoff
        hopeless = isinstance(error, MessageError) or is_permanent(error)
        if hopeless or self._closing or mail.next_attempt >= mail.deadline:
            self._give_up(mail, _reason(error))
            return
        what = (mail.backoff, _reason(error), mail.kind, mail.attempts)
        self._log.warning("mail delayed by %.0f s: %s (%s, attempts: %d)", *what)
        mail.backoff = min(mail.backoff * 2, MAX_BACKOFF)
        with self._changed:
            self._push(mail)

    def _give_up(self, mail: QueuedMail, reason: str) -> None:
        what = (reason, mail.kind, mail.attempts)
        self._log.error("mail given up: %s (%s, attempts: %d)", *what)


def _reason(error: Exception) -> str:
    """Name an error; the text of most may quote the message, and with it the token."""
    if isinstance(error, MessageError):
        return str(error)
    return f"{type(error).__name__} {getattr(error, 'smtp_code', '')}".strip()
