"""The connection of a client, and the connections that wait for their clients, with time-outs."""

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from selectors import BaseSelector

from .incoming import Address, IncomingRequest
from .outgoing import Outgoing

# Maximum bytes of one receive call.
RECEIVE_BYTES = 64 * 1024
#: Maximum bytes read and dropped after the last response.
MAX_LINGER_BYTES = 2 * 1024 * 1024
#: Maximum bytes of responses buffered for slow clients; above it, the connection whose client has
#: not read for longest is closed.
MAX_TOTAL_UNSENT = 8 * 1024 * 1024


class ClientConnection:
    """A connection that never blocks, with its current request and response.

    gunicorn needs `sock`, `timeout` and `close`.
    """

    def __init__(
        self, sock: socket.socket, client: Address, server: Address, timeout: float
    ) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.client = client
        # When it began to wait: for a request, its client, or its turn to compute a password hash.
        self.began = 0.0
        # When it times out.
        self.timeout = 0.0
        # Received bytes of an upload at the last progress.
        self.upload_seen = 0
        # Bytes read and dropped after the last response.
        self.discarded = 0
        # The context manager around the response in its thread.
        self.turn: AbstractContextManager[None] = nullcontext()
        self.incoming: IncomingRequest
        self.outgoing = Outgoing(sock, client, server, timeout)

    @property
    def host(self) -> str:
        """The address of the client without its port, "-" over a Unix socket."""
        return self.client[0] if isinstance(self.client, tuple) else "-"

    def receive(self) -> bytes | None:
        """Return received bytes, b"" at the end of the stream, or None if there are none yet."""
        try:
            return self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def send(self, data: bytes) -> None:
        """Send a few bytes; ignore a closed connection."""
        with suppress(OSError):
            self.sock.sendall(data)

    def is_closed(self) -> bool:
        """Return True if the client has closed its side; nginx does so when its client gives up."""
        try:
            return not self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def shut_down(self) -> bool:
        """Send nothing more; return False if the connection has already ended."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        return True

    def discard(self) -> bool:
        """Drop received bytes; return False at the end of the stream, or if there are too many."""
        data = self.receive()
        self.discarded += len(data or b"")
        return data != b"" and self.discarded <= MAX_LINGER_BYTES

    def close(self) -> None:
        """Close the socket; ignore errors."""
        self.outgoing.discard()
        with suppress(OSError):
            self.sock.close()


# Connections that wait for the same, the longest first.
Queue = deque[ClientConnection]


class WaitingConnections:
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
        conn: ClientConnection,
        queue: Queue,
        seconds: float,
        event: int,
        react: Callable[[ClientConnection], None],
    ) -> None:
        """Call `react` when a connection is readable or writable; it times out after `seconds`."""
        self._stay(conn, queue, seconds)
        self._poller.register(conn.sock, event, lambda _: react(conn))

    def prolong(self, conn: ClientConnection, queue: Queue, seconds: float) -> None:
        """Restart a time-out of `seconds`."""
        queue.remove(conn)
        self._stay(conn, queue, seconds)

    def end(self, conn: ClientConnection, queue: Queue) -> None:
        """End a wait."""
        self._poller.unregister(conn.sock)
        queue.remove(conn)

    def take_overdue(self, queue: Queue) -> Iterator[ClientConnection]:
        """End the waits that have timed out; yield the connections."""
        now = time.monotonic()
        while queue and queue[0].timeout <= now:
            yield self._take(queue)

    def take_unread(self) -> Iterator[ClientConnection]:
        """End the waits of responses above MAX_TOTAL_UNSENT; yield the connections."""
        while (
            self.sending and sum(conn.outgoing.unsent for conn in self.sending) > MAX_TOTAL_UNSENT
        ):
            yield self._take(self.sending)

    def take_longest(self) -> ClientConnection | None:
        """End the longest wait; return the connection, None if there is none."""
        queues = (self.keepalived, self.lingering, self.pending, self.sending, self.receiving)
        if waiting := [queue for queue in queues if queue]:
            return self._take(min(waiting, key=lambda queue: queue[0].began))
        return None

    def _stay(self, conn: ClientConnection, queue: Queue, seconds: float) -> None:
        conn.began = time.monotonic()
        conn.timeout = conn.began + seconds
        queue.append(conn)

    def _take(self, queue: Queue) -> ClientConnection:
        conn = queue.popleft()
        self._poller.unregister(conn.sock)
        return conn
