"""The threads that compute password hashes."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from mmap import mmap
from threading import Condition, get_native_id
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Niceness of the threads that hash passwords beyond that of others: a tenth of a busy core, see
#: sched(7).
NICENESS = 10
# Processes that share the memory in which they count; more share a count with another one.
MAX_PROCESSES = 256


class HashThreads:
    """Computes as many hashes at once, in all processes of a server, as there are processes.

    A hash takes a core for milliseconds. As there are about as many processes as cores, more at
    once would only delay other requests. A process computes one at any time, and those that others
    leave: they may have got fewer of the requests that come at the same moment.
    """

    def __init__(self, most: int) -> None:
        # The memory of all processes that are forked from this one, for those that join.
        self._shared = mmap(-1, MAX_PROCESSES)
        # How many each process computes. Without a number of its own, a process counts alone:
        # counts of two processes in one place would be lost.
        self._computed: mmap | bytearray = bytearray(MAX_PROCESSES)
        self._number = 0
        self._processes = 1
        self._changed = Condition()
        # Starts its threads with the first hashes, and so after the server's fork.
        self._executor = ThreadPoolExecutor(most, "password-hashes", _lower_priority)

    def join(self, number: int, processes: int) -> None:
        """Compute as the process with this number, of so many; it may succeed one that died."""
        self._number, self._processes = number % MAX_PROCESSES, processes
        self._computed = self._shared
        self._computed[self._number] = 0

    def compute(self, action: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function that hashes, and return what it does; raise its error."""
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
    """Let other threads go first. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        # Linux takes its highest, 19, for what is beyond.
        niceness = os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
        os.setpriority(os.PRIO_PROCESS, get_native_id(), niceness)
