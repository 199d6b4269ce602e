"""The places of a process for requests that compute a password hash."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, get_native_id, local
from typing import Any, TypeVar

from flask import Flask

from app.errors import TooManyHashes

Result = TypeVar("Result")

# The niceness of the thread that hashes: a tenth of a busy core, see sched(7).
NICENESS = 10


def init_app(app: Flask) -> None:
    """Create the places: PASSWORD_HASHES of them."""
    limit = app.config["PASSWORD_HASHES"] or max(1, app.config["THREADS"] // 2)
    app.extensions["hash_slots"] = Slots(limit)


def slots_of(app: Flask) -> "Slots":
    """Return the places of an app."""
    slots: Slots = app.extensions["hash_slots"]
    return slots


class Slots:
    """The places in a process for requests that hash passwords, of which one hashes at a time.

    A hash takes a core for milliseconds. As there are about as many processes as cores, several at
    once in a process would only delay other requests. One thread computes all of them, with a lower
    priority than those that answer requests.
    """

    def __init__(self, limit: int) -> None:
        # How many requests hold a place, and how many have got none.
        self.in_use = 0
        self.refused = 0
        self._limit = limit
        self._lock = Lock()
        self._thread = local()
        # Starts its thread with the first hash, and so after the server's fork.
        self._executor = ThreadPoolExecutor(1, "password-hashes", _lower_priority)

    def compute(self, action: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function that hashes, and return what it does; raise its error."""
        return self._executor.submit(action, *arguments).result()

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Hold a place during the block; raise TooManyHashes if none is free.

        A thread holds one at most: in a block within a block it has one already.
        """
        if getattr(self._thread, "holds_one", False):
            yield
            return
        self._take()
        self._thread.holds_one = True
        try:
            yield
        finally:
            self._thread.holds_one = False
            with self._lock:
                self.in_use -= 1

    def _take(self) -> None:
        with self._lock:
            if self.in_use == self._limit:
                self.refused += 1
                raise TooManyHashes()
            self.in_use += 1


def _lower_priority() -> None:
    """Let other threads go first. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), NICENESS)
