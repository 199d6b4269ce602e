"""An old service: Ostiary with chosen differences, or one that sends bytes."""

import json
import re
import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import contextmanager

from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Request

Change = Callable[[object], object]


class Altered:
    """A WSGI application whose answers to some paths are changed, and whose calls are noted."""

    def __init__(self, app):
        self.app = app
        self.calls = []
        # Functions of the JSON of an answer, and statuses, by a pattern of the path.
        self.bodies = {}
        self.statuses = {}

    def __call__(self, environ, start_response):
        request = Request(environ)
        token = request.headers.get("Authorization")
        self.calls.append((request.method, request.full_path.removesuffix("?"), token))
        chunks, status, headers = run_wsgi_app(self.app, environ)
        body = b"".join(chunks)
        for pattern, changed in self.statuses.items():
            if re.fullmatch(pattern, request.path):
                status, body = changed
                headers["Content-Type"] = "application/json"
        for pattern, change in self.bodies.items():
            if re.fullmatch(pattern, request.path) and body and status.startswith("200"):
                body = json.dumps(change(json.loads(body))).encode()
        if request.method != "HEAD":
            headers["Content-Length"] = str(len(body))
        start_response(status, list(headers))
        return [b"" if request.method == "HEAD" else body]


def read_head(stream):
    """Return the request line and the fields of a request, or None at the end of a connection."""
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    return lines or None


class RawServer:
    """Answers with bytes, by the first words of a request; notes what it was sent."""

    def __init__(self):
        # `GET /path` → bytes, or a function that is given the connection.
        self.answers = {}
        # What is answered, by the first line, before the body is read.
        self.early = {}
        self.requests = []
        self.bodies = []
        self.url = ""

    def handle(self, connection):
        stream = connection.makefile("rb")
        head = read_head(stream)
        if head is None:
            return
        self.requests.append(head)
        if head[0] in self.early:
            connection.sendall(self.early[head[0]])
            return
        self.bodies.append(_read_body(head, stream))
        answer = self.answers.get(head[0].removesuffix(" HTTP/1.1"), b"")
        if callable(answer):
            answer(connection)
        else:
            connection.sendall(answer or ok(b"{}"))

    def targets(self):
        return [head[0] for head in self.requests]


def ok(body, *fields, status="200 OK"):
    """Return an answer as bytes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    if not any(field.startswith("Content-Type") for field in fields):
        lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _read_body(head, stream):
    fields = dict(line.lower().split(": ", 1) for line in head[1:])
    if fields.get("transfer-encoding") == "chunked":
        parts = []
        while size := int(stream.readline() or b"0", 16):
            parts.append(stream.read(size))
            stream.readline()
        return b"".join(parts)
    return stream.read(int(fields.get("content-length", 0)))


@contextmanager
def raw_server():
    served = RawServer()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            served.handle(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield served
        server.shutdown()
        thread.join()


def talk(port, data, timeout=60):
    """Send bytes on a connection, and return all that comes back until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(data)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received
