"""The threads that compute password hashes."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from mmap import mmap
from threading import Condition, get_native_id
from typing import Any, TypeVar

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

    def compute(self, action: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function that hashes, and return its result or raise its error."""
        return self._executor.submit(self._run, action, *arguments).result()

    def _run(self, action: Callable[..., Result], *arguments: Any) -> Result:
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
