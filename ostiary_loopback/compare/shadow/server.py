"""The server of the shadow proxy, with a thread for each of a limited number of connections."""

import json
import signal
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click

from ostiary_loopback.compare.answers import Service
from ostiary_loopback.compare.calls import below
from ostiary_loopback.compare.comparison import Comparison

from .incoming import (
    PART,
    PART_TIMEOUT,
    BadRequestError,
    ClientGoneError,
    Connection,
    Incoming,
)
from .mirror import Copy, Mirror
from .moved import MovedPaths
from .outgoing import (
    ServiceFailedError,
    TruncatedError,
    Upstream,
    forwarded_headers,
    send_head,
)

#: Maximum connections of clients to the shadow proxy; others are closed at once.
MAX_CONNECTIONS = 500
#: Seconds for a client of the shadow proxy to close a connection after the last response.
LINGER_TIMEOUT = 2.0
#: Seconds for pending requests and comparisons when the proxy stops.
STOP_TIMEOUT = 10.0


class Shadow:
    """The proxy: sends each request to one of the services, and passes the answer on."""

    def __init__(
        self,
        comparison: Comparison,
        excepted: frozenset[str],
        moved: Path | None,
        concurrency: int,
    ) -> None:
        self._comparison = comparison
        self._moved = MovedPaths(moved, lambda sentence: click.echo(f"{sentence}.", err=True))
        self._mirror = Mirror(comparison, excepted, concurrency)
        # Connections between two requests.
        self._idle: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_stopping = False

    def serve(self, host: str, port: int) -> None:
        """Serve until SIGINT or SIGTERM; raise ClickException if the port is taken."""
        try:
            server = _Server((host, port), _Handler)
        except OSError as error:
            raise click.ClickException(
                f"Port {port} of {host} cannot be used: {error.strerror}."
            ) from None
        server.shadow = self
        with server, _until_signal() as stopped:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            click.echo(f"Serving on http://{host}:{server.server_address[1]}", err=True)
            stopped.wait()
            server.shutdown()
            thread.join()
            self._end_idle()
            server.wait(STOP_TIMEOUT)
        self._mirror.stop(STOP_TIMEOUT)

    def connection(self, client: socket.socket, address: tuple[str, int]) -> None:
        """Answer the requests of a connection."""
        incoming = Connection(client, address)
        with suppress(ClientGoneError):
            try:
                while (request := self._next(client, incoming)) and self._answer(
                    client, address, request
                ):
                    pass
            except BadRequestError as error:
                _send_error(client, error.status, is_head=False)
        _linger(client)

    def _next(self, client: socket.socket, incoming: Connection) -> Incoming | None:
        """Wait for the next request of a connection; None if it ends."""
        with self._lock:
            if self._is_stopping:
                return None
            self._idle.add(client)
        try:
            return incoming.next()
        finally:
            with self._lock:
                self._idle.discard(client)

    def _end_idle(self) -> None:
        """End the connections without a request; others end after their answer."""
        with self._lock:
            self._is_stopping = True
            for client in self._idle:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RD)

    def _answer(self, client: socket.socket, address: tuple[str, int], request: Incoming) -> bool:
        """Answer a request; return True if the connection may be used for another one."""
        service, target = self._service(request)
        headers = forwarded_headers(request, address[0])
        copy = self._mirror.copy(request, headers) if service is self._comparison.old else None
        if request.expects_continue:
            send_head(client, ["HTTP/1.1 100 Continue"])
        try:
            return self._pass_on(client, request, Upstream(service, request, target, headers), copy)
        except ServiceFailedError as error:
            if copy:
                self._mirror.drop()
            _send_error(client, error.status, request.verb == "HEAD")
            return False
        except ClientGoneError:
            if copy:
                self._mirror.drop()
            raise

    def _service(self, request: Incoming) -> tuple[Service, str]:
        """Return the service that answers a request, and the target there."""
        old, new = self._comparison.old, self._comparison.new
        if request.path not in self._moved:
            return old, request.target
        self._comparison.report.count(
            "Answered by the new service, to which their paths have moved"
        )
        inside = below(old.root, request.target)
        return new, request.target if inside is None else f"{new.root}{inside}"

    def _pass_on(
        self, client: socket.socket, request: Incoming, upstream: Upstream, copy: Copy | None
    ) -> bool:
        is_chunked = upstream.length is None and not request.is_http_1_0
        ends_by_itself = is_chunked or upstream.length is not None
        keeps = request.is_keep_alive and request.is_read and ends_by_itself
        try:
            client.settimeout(PART_TIMEOUT)
            send_head(client, _head(upstream, is_chunked, keeps))
            for part in upstream.body():
                client.sendall(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
                if copy:
                    copy.add(part)
            if is_chunked:
                client.sendall(b"0\r\n\r\n")
        except (TruncatedError, OSError):
            # The connection ends inside the answer, so that the client sees that it is incomplete.
            raise ClientGoneError from None
        finally:
            upstream.close()
        if copy:
            copy.status = upstream.status
            copy.content_type = upstream.header("Content-Type")
            copy.encoding = upstream.header("Content-Encoding").lower()
            self._mirror.compare(copy)
        return keeps


def _head(upstream: Upstream, is_chunked: bool, keeps: bool) -> list[str]:
    lines = [f"HTTP/1.1 {upstream.status} {upstream.reason}"]
    lines += [f"{name}: {value}" for name, value in upstream.headers]
    if is_chunked:
        lines.append("Transfer-Encoding: chunked")
    return lines if keeps else [*lines, "Connection: close"]


def _send_error(client: socket.socket, status: HTTPStatus, is_head: bool) -> None:
    """Send an error of the proxy itself, in the form of LoopBack's, and close the connection."""
    error = {"statusCode": status.value, "name": status.phrase, "message": status.phrase}
    body = json.dumps({"error": error})
    head = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    with suppress(OSError):
        send_head(client, head)
        if not is_head:
            client.sendall(body.encode())


def _linger(client: socket.socket) -> None:
    """End a connection, and read the remaining data, so that the client can read the answer.

    The kernel would reset a connection that is closed with data unread.
    """
    until = time.monotonic() + LINGER_TIMEOUT
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        client.settimeout(LINGER_TIMEOUT)
        while client.recv(PART) and time.monotonic() < until:
            pass


class _Server(socketserver.ThreadingTCPServer):
    """Gives each connection a thread, up to MAX_CONNECTIONS; others are closed at once."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    shadow: Shadow

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._under_way: set[socket.socket] = set()
        self._changed = threading.Condition()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with self._changed:
            self._under_way.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, after its last answer."""
        super().shutdown_request(request)
        with self._changed:
            if request in self._under_way:
                self._under_way.remove(request)
                self._places.release()
                self._changed.notify_all()

    def wait(self, timeout: float) -> None:
        """Wait for the connections to end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, timeout)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore an error of a connection: a traceback could contain data that was sent."""
        click.echo("A connection was closed because of an unexpected error.", err=True)


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Answer the requests of a connection."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.shadow.connection(self.request, self.client_address)


@contextmanager
def _until_signal() -> Iterator[threading.Event]:
    """Return an event that is set by SIGINT and SIGTERM within the block."""
    stopped = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
