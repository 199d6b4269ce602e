"""The connections that wait for their clients, and their time-outs."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from selectors import BaseSelector

from .connection import Connection

#: Maximum bytes of responses buffered for slow clients; above it, the connection whose client has
#: not read for longest is closed.
MAX_TOTAL_UNSENT = 8 * 1024 * 1024

# Connections that wait for the same, the longest first.
Queue = deque[Connection]


class Waiting:
    """Connections that the main loop watches, in a queue for each reason to wait.

    Only used by the main loop.
    """

    def __init__(self, poller: BaseSelector, keepalived: Queue, pending: Queue) -> None:
        """Watch connections with a selector; gunicorn closes those of both queues on time-out."""
        self._poller = poller
        # Connections that wait for the next request, and for the rest of one.
        self.keepalived, self.pending = keepalived, pending
        # Connections whose clients have not read a response, with the time of the last progress.
        self.sending = Queue()
        # Connections with an upload that waits for data, with the time of the last progress.
        self.receiving = Queue()
        # Connections that wait for the client to close them.
        self.lingering = Queue()

    def watch(
        self,
        conn: Connection,
        queue: Queue,
        seconds: float,
        event: int,
        react: Callable[[Connection], None],
    ) -> None:
        """Call `react` when a connection is readable or writable; it times out after `seconds`."""
        self._stay(conn, queue, seconds)
        self._poller.register(conn.sock, event, lambda _: react(conn))

    def prolong(self, conn: Connection, queue: Queue, seconds: float) -> None:
        """Restart a time-out of `seconds`."""
        queue.remove(conn)
        self._stay(conn, queue, seconds)

    def end(self, conn: Connection, queue: Queue) -> None:
        """End a wait."""
        self._poller.unregister(conn.sock)
        queue.remove(conn)

    def take_overdue(self, queue: Queue) -> Iterator[Connection]:
        """End the waits that have timed out; yield the connections."""
        now = time.monotonic()
        while queue and queue[0].timeout <= now:
            yield self._take(queue)

    def take_unread(self) -> Iterator[Connection]:
        """End the waits of responses above MAX_TOTAL_UNSENT; yield the connections."""
        while (
            self.sending and sum(conn.outgoing.unsent for conn in self.sending) > MAX_TOTAL_UNSENT
        ):
            yield self._take(self.sending)

    def take_longest(self) -> Connection | None:
        """End the longest wait; return the connection, None if there is none."""
        queues = (self.keepalived, self.lingering, self.pending, self.sending, self.receiving)
        if waiting := [queue for queue in queues if queue]:
            return self._take(min(waiting, key=lambda queue: queue[0].began))
        return None

    def _stay(self, conn: Connection, queue: Queue, seconds: float) -> None:
        conn.began = time.monotonic()
        conn.timeout = conn.began + seconds
        queue.append(conn)

    def _take(self, queue: Queue) -> Connection:
        conn = queue.popleft()
        self._poller.unregister(conn.sock)
        return conn
