"""The connection of a client, the connections that wait for their clients, and their uploads."""

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from io import BytesIO
from selectors import BaseSelector
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Flask
from gunicorn.config import Config
from gunicorn.http import wsgi

from app.rest.endpoint import ASKS_FOR_UPLOAD, served_endpoints
from app.rest.routing import routed_path

from .incoming import Address, BufferedRequest, IncomingRequest
from .outgoing import Outgoing

# Maximum bytes of one receive call.
RECEIVE_BYTES = 64 * 1024


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

    def close(self) -> None:
        """Close the socket; ignore errors."""
        self.outgoing.discard()
        with suppress(OSError):
            self.sock.close()


#: Maximum bytes of responses buffered for slow clients; above it, the connection whose client has
#: not read for longest is closed.
MAX_TOTAL_UNSENT = 8 * 1024 * 1024

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


#: Maximum concurrent uploads larger than `MAX_BODY_BYTES` in a process.
MAX_UPLOADS = 16
#: Bytes of an upload that must arrive within each `REQUEST_TIMEOUT`.
MIN_PROGRESS = 16 * 1024


class Uploads:
    """Recognizes uploads as the app routes them, and asks the app whether to receive them."""

    def __init__(self, app: Flask, cfg: Config) -> None:
        self._app = app
        self._cfg = cfg
        self._root = app.config["REST_API_ROOT"]
        self._routes = app.url_map.bind("")
        self._most = {
            name: endpoint.max_upload
            for name, endpoint in served_endpoints.of(app).items()
            if endpoint.max_upload
        }
        self._proxies = app.config["TRUSTED_PROXIES"]
        # Uploads in progress, with their clients' networks; only used by the main loop.
        self._networks: dict[ClientConnection, str] = {}

    def max_bytes(self, request: BufferedRequest) -> int:
        """Return the maximum bytes of a request's body received in a file; 0: it is no upload."""
        if not self._most:
            return 0
        given = unquote_to_bytes(request.path).decode("latin-1")
        routed = routed_path(given, request.path, self._root).encode("latin-1")
        try:
            name, _ = self._routes.match(routed.decode(errors="replace"), method=request.method)
        except Exception:  # the app answers whatever its router raises
            return 0
        return self._most.get(name, 0)

    def start(self, conn: ClientConnection) -> bool:
        """Take a slot, unless the client's network already has as many as are free.

        So one network gets at most half of them, and a slot remains for the next one.
        """
        network = conn.incoming.request.network(self._proxies)
        free = MAX_UPLOADS - len(self._networks)
        if list(self._networks.values()).count(network) >= free:
            return False
        self._networks[conn] = network
        return True

    def end(self, conn: ClientConnection) -> None:
        """Release the slot, and drop the received data."""
        if self._networks.pop(conn, None) is not None:
            conn.incoming.close()

    def is_allowed(self, conn: ClientConnection) -> bool:
        """Return True if the app allows an upload, judging by its headers; in a thread."""
        _, environ = wsgi.create(
            conn.incoming.request, conn.outgoing, conn.client, conn.outgoing.server, self._cfg
        )
        environ |= {"wsgi.input": BytesIO(), ASKS_FOR_UPLOAD: True}
        answers: list[str] = []

        def start_response(status: str, *_: Any) -> Callable[[bytes], None]:
            answers.append(status)
            return lambda data: None

        answer = self._app(environ, start_response)
        if hasattr(answer, "close"):
            answer.close()
        return answers[0].startswith("204")
