"""The threads that compute password hashes, and the limits on requests waiting for them."""

import os
import sys
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from mmap import mmap
from threading import Condition, get_native_id, local
from typing import TypeVar

from flask import Flask

from app.errors import TooManyHashes
from app.state import AppState

Result = TypeVar("Result")

#: Niceness of hashing threads beyond that of others: a tenth of a busy core, see sched(7).
NICENESS = 10
# Processes with a counter of their own in the shared memory; further ones share counters.
MAX_PROCESSES = 256


class HashThreads:
    """Limits concurrent hashes in all processes of a server to the number of processes.

    A hash takes a core for milliseconds. As there are about as many processes as cores, more at
    once would only delay other requests. A process may always compute one, and also uses the share
    of processes that have fewer requests at the moment.
    """

    def __init__(self, most: int) -> None:
        # Memory shared by all processes forked from this one, for those that join.
        self._shared = mmap(-1, MAX_PROCESSES)
        # The number of hashes that each process computes. A process that has not joined counts
        # alone, because two processes writing to one counter would lose counts.
        self._computed: mmap | bytearray = bytearray(MAX_PROCESSES)
        self._number = 0
        self._processes = 1
        self._changed = Condition()
        # Starts its threads with the first hash, and so after the server's fork.
        self._executor = ThreadPoolExecutor(most, "password-hashes", _lower_priority)

    def join(self, number: int, processes: int) -> None:
        """Join as process `number` of `processes`; it may replace one that died."""
        self._number, self._processes = number % MAX_PROCESSES, processes
        self._computed = self._shared
        self._computed[self._number] = 0

    def compute(self, action: Callable[..., Result], *arguments: object) -> Result:
        """Run a function that hashes, and return its result or raise its error."""
        return self._executor.submit(self._run, action, *arguments).result()

    def _run(self, action: Callable[..., Result], *arguments: object) -> Result:
        with self._changed:
            self._changed.wait_for(self._may_compute)
            self._computed[self._number] += 1
        try:
            return action(*arguments)
        finally:
            with self._changed:
                self._computed[self._number] -= 1
                self._changed.notify()

    def _may_compute(self) -> bool:
        return not self._computed[self._number] or sum(self._computed[:]) < self._processes


def _lower_priority() -> None:
    """Let other threads run first. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        # Linux limits higher values to its maximum, 19.
        niceness = os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
        os.setpriority(os.PRIO_PROCESS, get_native_id(), niceness)


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
