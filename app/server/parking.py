"""Responses that are continued later, from any thread, while no thread waits for them.

A view parks its response once the first part of the body is sent; the main loop keeps the
connection, sends what is added to the response, and notices when the client closes it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector
from threading import Lock
from typing import Any

from .connection import ClientConnection
from .outgoing import ClientGoneError, Outgoing

# The key in a request's environment by which gunicorn passes the connection's outgoing side.
SOCKET = "gunicorn.socket"
#: Maximum bytes of parked responses that clients have not taken; above it, the connection whose
#: client has not read for longest is closed.
MAX_UNSENT = 64 * 1024 * 1024


class ParkedResponse:
    """A response whose body is continued; `send` and `end` may be called in any thread.

    `is_busy` is True while the client has not taken what was sent: the sender should wait.
    """

    def __init__(self, outgoing: Outgoing, is_chunked: bool, on_change: Callable[[], None]) -> None:
        """Continue a response; `on_change` is called when the client takes it, or has gone."""
        self.is_busy = False
        self.is_gone = False
        self.on_change = on_change
        self._outgoing = outgoing
        self._is_chunked = is_chunked
        self._lock = Lock()
        # What was sent before the main loop has the connection; None afterwards.
        self._early: list[bytes] | None = []
        self._deliver: Callable[[bytes], None]

    def begin(self, first: bytes) -> Iterator[bytes]:
        """Yield the first part of the body; then let the main loop keep the connection."""
        try:
            yield first
        except GeneratorExit:
            self.leave()
            raise
        self._outgoing.parked = self

    def leave(self) -> None:
        """Note that the client has gone."""
        self.is_gone = True
        self.on_change()

    def take(self) -> None:
        """Note that the client has taken what was sent."""
        if self.is_busy:
            self.is_busy = False
            self.on_change()

    def send(self, data: bytes) -> None:
        """Add to the body."""
        self._add(data)

    def end(self) -> None:
        """End the body; the connection is closed."""
        self._add(b"")

    def framed(self, data: bytes) -> bytes:
        """Return a part of the body as it is sent; b"" is the end."""
        return b"%x\r\n%s\r\n" % (len(data), data) if self._is_chunked else data

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        """Let the main loop deliver what is sent; b"" is the end."""
        with self._lock:
            early, self._early, self._deliver = self._early or [], None, deliver
        for data in early:
            deliver(data)

    def _add(self, data: bytes) -> None:
        with self._lock:
            self.is_busy = True
            if self._early is not None:
                self._early.append(data)
                return
        self._deliver(data)


def park(environ: dict[str, Any], on_change: Callable[[], None]) -> ParkedResponse | None:
    """Return a response to be continued; None if another server runs the app."""
    outgoing = environ.get(SOCKET)
    if not isinstance(outgoing, Outgoing):
        return None
    return ParkedResponse(outgoing, environ["SERVER_PROTOCOL"] != "HTTP/1.0", on_change)


class ParkedConnections:
    """The connections of a worker whose responses are continued; used by the main loop.

    `call_soon` lets the main loop call a function.
    """

    def __init__(
        self,
        poller: BaseSelector,
        call_soon: Callable[[Callable[[], None]], None],
        timeout: float,
    ) -> None:
        self._poller, self._call_soon, self._timeout = poller, call_soon, timeout
        self._responses: dict[ClientConnection, ParkedResponse] = {}
        # When the connections with unsent data last made progress.
        self._progress: dict[ClientConnection, float] = {}
        self._ending: set[ClientConnection] = set()
        # What other threads have sent, to be delivered by the main loop.
        self._sent = deque[tuple[ClientConnection, bytes]]()

    def add(self, conn: ClientConnection, parked: ParkedResponse) -> None:
        """Keep a connection."""
        self._responses[conn] = parked
        self._poller.register(conn.sock, EVENT_READ, partial(self._handle, conn))
        parked.attach(partial(self._queue, conn))
        self._settle(conn)

    def close_overdue(self) -> None:
        """Close connections whose clients have read nothing for too long."""
        oldest = time.monotonic() - self._timeout
        for conn, progress in list(self._progress.items()):
            if progress < oldest:
                self._drop(conn)

    def close_oldest(self) -> None:
        """Close the oldest connection, if there is one."""
        if self._responses:
            self._drop(next(iter(self._responses)))

    def end_all(self) -> None:
        """End all responses, because the worker stops."""
        for conn, parked in self._responses.items():
            if conn not in self._ending:
                parked.end()
        self._deliver()

    def _queue(self, conn: ClientConnection, data: bytes) -> None:
        self._sent.append((conn, data))
        # One call delivers what many have sent.
        if len(self._sent) == 1:
            self._call_soon(self._deliver)

    def _deliver(self) -> None:
        while self._sent:
            # Only removed afterwards: whoever adds to an empty queue asks for a call.
            conn, data = self._sent[0]
            if conn in self._responses:
                self._write(conn, data)
            self._sent.popleft()

    def _write(self, conn: ClientConnection, data: bytes) -> None:
        if conn in self._ending:
            return
        if not data:
            self._ending.add(conn)
        try:
            conn.outgoing.push(self._responses[conn].framed(data))
        except ClientGoneError:
            self._drop(conn)
            return
        self._settle(conn)
        while sum(each.outgoing.unsent for each in self._progress) > MAX_UNSENT:
            self._drop(min(self._progress, key=self._progress.__getitem__))

    def _handle(self, conn: ClientConnection, _socket: object = None) -> None:
        """React to a connection that is readable or writable."""
        # What a client sends during the response is dropped.
        if conn.receive() == b"":
            self._drop(conn)
            return
        try:
            while not conn.outgoing.is_sent:
                before = conn.outgoing.unsent
                conn.outgoing.send_rest()
                if conn.outgoing.unsent == before:
                    break
                self._progress[conn] = time.monotonic()
        except ClientGoneError:
            self._drop(conn)
            return
        self._settle(conn)

    def _settle(self, conn: ClientConnection) -> None:
        """Watch a connection for what it waits for; end it if everything is sent."""
        if conn.outgoing.is_sent and conn in self._ending:
            self._drop(conn)
            return
        parked, was_unsent = self._responses[conn], conn in self._progress
        react = partial(self._handle, conn)
        if conn.outgoing.is_sent:
            if was_unsent:
                del self._progress[conn]
                self._poller.modify(conn.sock, EVENT_READ, react)
            parked.take()
        elif not was_unsent:
            self._progress[conn] = time.monotonic()
            self._poller.modify(conn.sock, EVENT_READ | EVENT_WRITE, react)

    def _drop(self, conn: ClientConnection) -> None:
        """Close a connection."""
        parked = self._responses.pop(conn)
        self._progress.pop(conn, None)
        self._ending.discard(conn)
        self._poller.unregister(conn.sock)
        parked.leave()
        conn.close()
