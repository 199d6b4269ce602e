"""Accepting connections: each process takes its share, and a stopping one loses none."""

import select
import socket
import time
from collections.abc import Callable
from mmap import mmap

from .listening import MAX_PROCESSES

# Seconds to wait before accepting a connection while another process has fewer. An idle process
# accepts it in a tenth of that; if the others are busy or stopped, this one does afterwards.
PAUSE = 0.0005
# The count of a process that does not accept connections.
NOT_ACCEPTING = (1 << 32) - 1


class ConnectionCounts:
    """The connections of each process, in memory shared by all forks of the one that made it.

    The kernel wakes all processes for a new connection, and the first one accepts it. Without the
    counts, one of two processes often has three quarters of eight connections or more.
    """

    def __init__(self) -> None:
        self._counts = memoryview(mmap(-1, 4 * MAX_PROCESSES)).cast("I")
        self._counts[:] = memoryview(b"\xff" * 4 * MAX_PROCESSES).cast("I")

    def set(self, process: int, connections: int) -> None:
        """Set the count of a process, which may replace one that died.

        Numbers above MAX_PROCESSES, as during a reload of so many, share the counts of others.
        """
        self._counts[process % MAX_PROCESSES] = connections

    def remove(self, process: int) -> None:
        """Leave out a process that does not accept connections any more."""
        self.set(process, NOT_ACCEPTING)

    def let_others_accept(self, process: int) -> None:
        """Pause if another process has fewer connections than this one, so that it accepts."""
        if self.has_more_than_another(process):
            time.sleep(PAUSE)

    def has_more_than_another(self, process: int) -> bool:
        """Return True if another process that accepts connections has fewer."""
        return min(self._counts) < self._counts[process % MAX_PROCESSES]


def accept_waiting(
    listener: socket.socket, accept: Callable[[socket.socket], None], most: int
) -> None:
    """Accept the connections that the kernel has established, at most so many."""
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    for _ in range(most):
        if not waiting.poll(0):
            break
        accept(listener)
