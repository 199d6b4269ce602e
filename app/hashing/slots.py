"""Limits on how many requests of a process compute a password hash at once."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from threading import Condition, local

from flask import Flask

from app.errors import TooManyHashes
from app.state import AppState

from .threads import HashThreads


class Slots:
    """The places in a process for requests that hash passwords.

    The server takes a place for a request before it passes it to a thread (`take`, `turn`).
    Requests for which it did not, as it did not recognize them or is another server, wait for one
    in their threads.
    """

    def __init__(self, limit: int, wait: float) -> None:
        # How many requests hold a place, and how many have got none.
        self.in_use = 0
        self.refused = 0
        # What waits for a place in the server.
        self.queue: Sized = ()
        # How many threads may hold a place or wait for one; None if the server has any number.
        self.most_threads: int | None = None
        self._limit = limit
        self._wait = wait
        self._waiting_threads = 0
        self._changed = Condition()
        self._thread = local()
        self.threads = HashThreads(limit)

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return len(self.queue) + self._waiting_threads

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Hold a place during the block; raise TooManyHashes if none becomes free in time.

        A thread holds one at most: in a block within a block it has one already.
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
        """Take a place that is free now, for a thread to hold by `turn`; return whether one was.

        Threads that wait come first, as others need them.
        """
        with self._changed:
            is_free = self.in_use < self._limit and not self._waiting_threads
            self.in_use += is_free
        return is_free

    @contextmanager
    def turn(self, has_place: bool) -> Iterator[None]:
        """Hold the place that was taken for this thread; without one, let it get none."""
        self._thread.has_place = has_place
        try:
            yield
        finally:
            self._thread.has_place = None
            if has_place:
                self._give_back()

    def _wait_for_place(self) -> bool:
        """Take a place, as soon as one is free; return False if none is in time."""
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
        """Return True if as many threads as may hold or await a place."""
        most = self.most_threads
        return most is not None and self.in_use + self._waiting_threads >= most

    def _give_back(self) -> None:
        with self._changed:
            self.in_use -= 1
            self._changed.notify()


hash_slots = AppState[Slots]("hash slots")


def init_app(app: Flask) -> None:
    """Create the places, PASSWORD_HASHES of them, before the server forks: they share memory."""
    limit = app.config["PASSWORD_HASHES"] or max(1, app.config["THREADS"] // 2)
    hash_slots.set(app, Slots(limit, app.config["PASSWORD_HASH_WAIT"]))
