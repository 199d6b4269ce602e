"""Limits on the requests of a process that compute a password hash at once."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from threading import Condition, local

from flask import Flask

from app.errors import TooManyHashes
from app.state import AppState

from .threads import HashThreads


class Slots:
    """The slots of a process for requests that hash passwords.

    The server takes a slot for a request before passing it to a thread (`take`, `turn`). Requests
    for which it did not, because it did not recognize them or is another server, wait in their own
    threads.
    """

    def __init__(self, limit: int, wait: float) -> None:
        # The number of requests with a slot, and of those that got none.
        self.in_use = 0
        self.refused = 0
        # The requests waiting in the server.
        self.queue: Sized = ()
        # The number of threads that may hold or await a slot; None if the server's threads are
        # unlimited.
        self.most_threads: int | None = None
        self._limit = limit
        self._wait = wait
        self._waiting_threads = 0
        self._changed = Condition()
        self._thread = local()
        self.threads = HashThreads(limit)

    @property
    def waiting(self) -> int:
        """The number of requests waiting for a slot."""
        return len(self.queue) + self._waiting_threads

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Hold a slot during the block; raise TooManyHashes if none becomes free in time.

        A thread holds at most one: a nested block uses that of the outer one.
        """
        has_place = getattr(self._thread, "has_place", None)
        if has_place:
            yield
        elif has_place is None and self._wait_for_place():
            with self.turn(has_place=True):
                yield
        else:
            with self._changed:
                self.refused += 1
            raise TooManyHashes()

    def take(self) -> bool:
        """Take a free slot, for a thread to hold by `turn`; return whether there was one.

        Waiting threads come first, because other requests need these threads.
        """
        with self._changed:
            is_free = self.in_use < self._limit and not self._waiting_threads
            self.in_use += is_free
        return is_free

    @contextmanager
    def turn(self, has_place: bool) -> Iterator[None]:
        """Hold the slot taken for this thread; without one, prevent it from getting any."""
        self._thread.has_place = has_place
        try:
            yield
        finally:
            self._thread.has_place = None
            if has_place:
                self._give_back()

    def _wait_for_place(self) -> bool:
        """Take a slot as soon as one is free; return False if none is in time."""
        with self._changed:
            if self.in_use >= self._limit and self._is_crowded():
                return False
            self._waiting_threads += 1
            try:
                is_free = self._changed.wait_for(lambda: self.in_use < self._limit, self._wait)
            finally:
                self._waiting_threads -= 1
            self.in_use += is_free
        return is_free

    def _is_crowded(self) -> bool:
        """Return True if the maximum number of threads hold or await a slot."""
        most = self.most_threads
        return most is not None and self.in_use + self._waiting_threads >= most

    def _give_back(self) -> None:
        with self._changed:
            self.in_use -= 1
            self._changed.notify()


hash_slots = AppState[Slots]("hash slots")


def init_app(app: Flask) -> None:
    """Create PASSWORD_HASHES slots before the server forks, so that processes share memory."""
    limit = app.config["PASSWORD_HASHES"] or max(1, app.config["THREADS"] // 2)
    hash_slots.set(app, Slots(limit, app.config["PASSWORD_HASH_WAIT"]))
