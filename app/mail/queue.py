"""The messages that wait for delivery, in memory."""

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

# Seconds: between tries (doubling), and at shutdown.
FIRST_PAUSE = 1.0
# Seconds that every message waits, so that no work for it slows down the answer to the request
# that caused it: the time of an answer must not tell who gets a mail.
HEAD_START = 0.1
LONGEST_PAUSE = 60.0
DRAIN_TIMEOUT = 15.0
# Mails that wait at most; a server that is down for long must not fill the memory.
LONGEST_QUEUE = 1000

Compose = Callable[[], EmailMessage]


@dataclass(order=True)
class Letter:
    """A message that waits: until when, for how long it is of use, how long if it fails again."""

    due: float
    number: int
    deadline: float = field(compare=False)
    pause: float = field(compare=False)
    compose: Compose = field(compare=False)


class Outbox:
    """Delivers messages on one background thread, trying again until each one's deadline."""

    def __init__(self, app: Flask, deliver: Deliver) -> None:
        self._log = app.logger
        self._deliver = deliver
        self._waiting: list[Letter] = []
        self._order = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def put(self, compose: Compose, lifetime: float) -> None:
        """Queue a message that is worth delivering for `lifetime` seconds; returns at once."""
        start = time.monotonic()
        due, number = start + HEAD_START, next(self._order)
        letter = Letter(due, number, start + lifetime, FIRST_PAUSE, compose)
        with self._changed:
            if len(self._waiting) >= LONGEST_QUEUE:
                self._log.error("mail dropped: %d are waiting already", LONGEST_QUEUE)
                return
            self._push(letter)
            self._start()

    def close(self) -> None:
        """Try what is waiting once more, for at most DRAIN_TIMEOUT seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(DRAIN_TIMEOUT)
        if self._waiting:
            self._log.error("mail lost at shutdown: %d undelivered", len(self._waiting))

    def _push(self, letter: Letter) -> None:
        heapq.heappush(self._waiting, letter)
        self._changed.notify()

    def _start(self) -> None:
        """Start the thread with the first message: after the server's fork, and only if needed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while (letter := self._next()) is not None:
            if letter.deadline <= time.monotonic():
                self._log.error("mail given up: it waited for longer than it is of use")
            elif (error := self._attempt(letter.compose)) is not None:
                self._put_back(letter, error)

    def _next(self) -> Letter | None:
        """Wait for the next message that is due; None when closing and nothing is left."""
        with self._changed:
            while True:
                if self._closing:
                    return heapq.heappop(self._waiting) if self._waiting else None
                pause = self._waiting[0].due - time.monotonic() if self._waiting else None
                if pause is not None and pause <= 0:
                    return heapq.heappop(self._waiting)
                self._changed.wait(pause)

    def _attempt(self, compose: Compose) -> Exception | None:
        try:
            self._deliver(compose())
        except Exception as error:
            return error
        return None

    def _put_back(self, letter: Letter, error: Exception) -> None:
        """Let a message wait for its next try, unless there can be none."""
        due = time.monotonic() + letter.pause
        # The error's text may quote the message, and with it the token.
        what = f"{type(error).__name__} {getattr(error, 'smtp_code', '')}".strip()
        if is_permanent(error) or self._closing or due >= letter.deadline:
            self._log.error("mail given up: %s", what)
            return
        self._log.warning("mail delayed by %.0f s: %s", letter.pause, what)
        with self._changed:
            self._push(replace(letter, due=due, pause=min(letter.pause * 2, LONGEST_PAUSE)))
