"""A queue of requests that wait, without a thread, for their turn to compute a hash."""

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from flask import Flask

from app.hash_slots import hash_slots

from .connection import Connection
from .fair_queue import FairQueue
from .hash_calls import HashCalls
from .incoming import IncomingRequest

#: Maximum bytes of a process's requests that wait to compute a password hash; most have a few
#: hundred.
MAX_BYTES = 16 * 1024 * 1024


class HashQueue:
    """Connections whose request will compute a password hash; only used by the main loop.

    Requests that have waited too long, or find no room, are refused by the app like any other: one
    by one, because all at once would occupy the threads.
    """

    def __init__(self, app: Flask, most: int, threads: int) -> None:
        self._calls = HashCalls(app)
        self._slots = hash_slots.of(app)
        # At least half of the threads remain for other requests.
        self._slots.most_threads = max(1, threads // 2)
        self._wait = app.config["PASSWORD_HASH_WAIT"]
        # The time until which requests may wait.
        self._end = math.inf
        self._queue: FairQueue[Connection] = FairQueue(most, MAX_BYTES)
        self._slots.queue = self._queue
        self._refused: dict[Connection, None] = {}
        self._is_refusing = False

    def add(self, conn: Connection) -> bool:
        """Add a connection if its request computes a hash; return whether it does."""
        request = conn.incoming.request
        if not self._calls.includes(request):
            return False
        conn.began = time.monotonic()
        surplus = self._queue.add(conn, self._calls.client(request), _size(conn.incoming))
        self._refused.update(dict.fromkeys(surplus))
        return True

    def discard(self, conn: Connection) -> None:
        """Remove a connection that was closed."""
        if conn in self._refused:
            del self._refused[conn]
        else:
            self._queue.remove(conn)

    def end_by(self, moment: float) -> None:
        """Limit all waiting to a point in time, because the worker is stopping."""
        self._end = moment

    def take_due(self) -> Iterator[Connection]:
        """Remove and yield the connections that a thread should answer now.

        `turn` is their context manager.
        """
        while self._queue and self._slots.take():
            yield _started(self._queue.pop(), self._slots.turn(has_place=True))
        self._give_up()
        if self._refused and not self._is_refusing:
            conn = next(iter(self._refused))
            del self._refused[conn]
            self._is_refusing = True
            yield _started(conn, self._refusal())

    def _give_up(self) -> None:
        """Remove and refuse connections that have waited too long."""
        now = time.monotonic()
        latest = now if now >= self._end else now - self._wait
        while (conn := self._queue.oldest()) and conn.began <= latest:
            self._queue.remove(conn)
            self._refused[conn] = None

    @contextmanager
    def _refusal(self) -> Iterator[None]:
        try:
            with self._slots.turn(has_place=False):
                yield
        finally:
            self._is_refusing = False


def _size(incoming: IncomingRequest) -> int:
    """Return the bytes of a request and of everything its client has sent after it."""
    head = sum(len(name) + len(value) for name, value in incoming.request.headers)
    return head + len(incoming.request.body.getvalue()) + len(incoming.data)


def _started(conn: Connection, turn: AbstractContextManager[None]) -> Connection:
    conn.turn = turn
    conn.incoming.request.waited = time.monotonic() - conn.began
    return conn
