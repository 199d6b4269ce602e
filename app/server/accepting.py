"""Accepting connections: each process takes its share, and a stopping one loses none."""

import select
import socket
import time
from collections.abc import Callable
from mmap import mmap

from .listening import MAX_PROCESSES

#: Seconds for which a process leaves a new connection to those that have fewer. One that is idle
#: accepts it in a tenth of that; if all others are busy or stopped, this one accepts it afterwards.
LEAVE_SECONDS = 0.0005
# The number of a process that does not accept connections.
NOT_SERVING = (1 << 32) - 1


class ConnectionCounts:
    """Memory shared by all processes forked from the one that made it, a number for each.

    The kernel wakes all processes for a new connection, and the first one accepts it. Without the
    numbers, one of two processes often had three quarters of eight connections, and sometimes all.
    """

    def __init__(self) -> None:
        self._counts = memoryview(mmap(-1, 4 * MAX_PROCESSES)).cast("I")
        self._counts[:] = memoryview(b"\xff" * 4 * MAX_PROCESSES).cast("I")

    def set(self, process: int, connections: int) -> None:
        """Set the connections of a process, which may replace one that died.

        Above MAX_PROCESSES, as during a reload of so many, processes share numbers.
        """
        self._counts[process % MAX_PROCESSES] = connections

    def leave(self, process: int) -> None:
        """Note that a process does not accept connections any more."""
        self.set(process, NOT_SERVING)

    def let_others_accept(self, process: int) -> None:
        """Leave a new connection, for LEAVE_SECONDS, to processes with fewer than this one."""
        if self.has_more_than_another(process):
            time.sleep(LEAVE_SECONDS)

    def has_more_than_another(self, process: int) -> bool:
        """Return True if another process that accepts connections has fewer."""
        return min(self._counts) < self._counts[process % MAX_PROCESSES]


def accept_waiting(
    listener: socket.socket, accept: Callable[[socket.socket], None], most: int
) -> None:
    """Accept the connections that the kernel has already accepted for a listener."""
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    for _ in range(most):
        if not waiting.poll(0):
            break
        accept(listener)
