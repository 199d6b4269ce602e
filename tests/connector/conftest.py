"""Real servers for the connector to call: one thread each, HTTP and HTTPS, no mocks."""

from __future__ import annotations

import gzip
import json
import select
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import trustme

from app.connector import DataSource

Settings = dict[str, Any]
Connect = Callable[..., DataSource]


class Handler(BaseHTTPRequestHandler):
    """Answers by the first segment of the path; everything else is echoed."""

    protocol_version = "HTTP/1.1"
    server: Server
    disable_nagle_algorithm = True

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.content = self.rfile.read(length)
        parts = urlsplit(self.path)
        self.server.note(self)
        route = parts.path.strip("/").split("/")[0].split(":")[0]
        action = self.server.routes.get(route) or getattr(self, f"on_{route}", None)
        if action is None:
            self.on_echo()
        elif getattr(action, "__self__", None) is self:
            action()
        else:
            action(self)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names http.server looks for
    do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815

    def do_CONNECT(self) -> None:
        """Tunnel to the port of the wanted address, whatever its name."""
        target = socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2])))
        self.send_response(200)
        self.end_headers()
        other = {self.connection: target, target: self.connection}
        is_open = True
        while is_open:
            for ready in select.select(list(other), [], [])[0]:
                data = ready.recv(65536)
                is_open = is_open and bool(data)
                other[ready].sendall(data)
        target.close()
        self.close_connection = True

    def log_message(self, *_args: Any) -> None:
        pass

    def reply(
        self,
        body: Any = None,
        status: int = 200,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))

    def seen(self) -> dict[str, Any]:
        kind = self.headers.get("Content-Type", "")
        text = self.content.decode("utf-8", "replace")
        return {
            "method": self.command,
            "path": self.path.partition("?")[0],
            "query": urlsplit(self.path).query,
            "entries": parse_qsl(urlsplit(self.path).query, keep_blank_values=True),
            "headers": {name.lower(): text for name, text in self.headers.items()},
            "text": text,
            "json": json.loads(text) if "json" in kind and text else None,
        }

    def on_echo(self) -> None:
        self.reply(self.seen())

    def on_status(self) -> None:
        status = int(self.path.partition("?")[0].split("/")[2])
        if status in (204, 304):
            self.send_response(status)
            self.end_headers()
        else:
            self.reply({"message": f"status {status}"}, status)

    def on_text(self) -> None:
        self.reply(b"plain words", kind="text/plain")

    def on_broken(self) -> None:
        self.reply(b'{"a": ', kind="application/json; charset=utf-8")

    def on_gzip(self) -> None:
        data = gzip.compress(json.dumps({"zipped": True}).encode())
        self.reply(data, headers={"Content-Encoding": "gzip"})

    def on_huge(self) -> None:
        data = gzip.compress(b'"' + b"x" * 3_000_000 + b'"')
        self.reply(data, headers={"Content-Encoding": "gzip"})

    def on_reset(self) -> None:
        self.close_connection = True
        self.connection.close()

    def on_slow(self) -> None:
        self.server.stopped.wait(20)
        self.close_connection = True

    def on_drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.server.stopped.wait(0.02):
            try:
                self.wfile.write(b" ")
            except OSError:
                break
        self.close_connection = True

    def on_headerdrip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.server.stopped.wait(0.02):
            try:
                self.wfile.write(b"x")
            except OSError:
                break
        self.close_connection = True

    def on_redirect(self) -> None:
        query = self.query
        self.reply(None, int(query.get("status", 302)), headers={"Location": query["to"]})

    def on_loop(self) -> None:
        self.reply(None, 302, headers={"Location": "/loop"})


class Server(ThreadingHTTPServer):
    """A server that remembers every request; `routes` adds handlers to a test."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes: dict[str, Callable[[Handler], None]] = {}
        self.seen: list[dict[str, Any]] = []
        self.connections = 0
        self.hits: Counter[str] = Counter()
        self.stopped = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def note(self, handler: Handler) -> None:
        with self.lock:
            self.seen.append(handler.seen() if "broken" not in handler.path else {})
            self.hits[handler.path.partition("?")[0]] += 1

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()

    def handle_error(self, *_args: Any) -> None:
        pass

    def forget(self) -> None:
        self.routes.clear()
        self.seen.clear()
        self.hits.clear()
        self.connections = 0


def run(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.stopped.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def http_server() -> Iterator[Server]:
    yield from run(Server())


@pytest.fixture
def server(http_server: Server) -> Server:
    http_server.forget()
    return http_server


@pytest.fixture
def other_server() -> Iterator[Server]:
    yield from run(Server())


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def https_server(authority: trustme.CA) -> Iterator[Server]:
    server = Server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "inner.example").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    yield from run(server)


@pytest.fixture
def connect(server: Server) -> Iterator[Connect]:
    """Make data sources on the server that are closed after the test."""
    made: list[DataSource] = []

    def make(operations: list[Any] | None = None, **settings: Any) -> DataSource:
        settings = {"connector": "rest", "baseURL": server.url, **settings}
        if operations is not None:
            settings["operations"] = operations
        made.append(DataSource.from_config(settings, name="remote"))
        return made[-1]

    yield make
    for source in made:
        source.close()


@pytest.fixture
def call(connect: Connect) -> Callable[..., Any]:
    """Call one template with named values and return what it gives."""

    def run_template(template: Settings, values: Any = None, **settings: Any) -> Any:
        return connect([{"template": template}], **settings).invoke(values or {})

    return run_template
