"""A service that answers as none should."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import time
from urllib.parse import parse_qs, urlsplit


def error(code):
    """Return the body of an error."""
    return json.dumps({"error": {"code": code}})


# Paths that redirect.
MOVED = ("/products", "/products/1")
PAGE = (200, "<html>", {})
ANSWERS = {
    "/reviews": (503, error(""), {"Retry-After": "20"}),
    "/categories": (200, "[1]", {"Link": '</api/categories?skip=1>; rel="next"'}),
    "/todos/2": (200, '{"__proto__": {"polluted": "yes"}, "id": 2}', {}),
    "/order-items": (401, error("INVALID_TOKEN"), {}),
    "/order-items/count": (401, error("INVALID_TOKEN"), {}),
    "/users/login": (200, '{"id": "a token", "ttl": 1, "created": "", "userId": 1}', {}),
    "/users/logout": (401, error("ACCESS_TOKEN_REQUIRED"), {}),
}


class Hostile(BaseHTTPRequestHandler):
    """Answers by the path; most answers are what was sent."""

    server: "HostileServer"

    def do_GET(self):
        parts = urlsplit(self.path)
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.query = parse_qs(parts.query)
        path = parts.path.removeprefix("/api")
        self.server.calls[path] += 1
        self.is_first = self.server.calls[path] == 1
        status, content, headers = self._found(path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    do_POST = do_PATCH = do_GET  # noqa: N815

    def _found(self, path):
        if path in MOVED:
            return 307, "", {"Location": f"{self.server.other}{self.path}"}
        if path == "/shipments":
            return PAGE if "filter" in self.query else self._later(-60 if self.is_first else 0)
        if path == "/orders/1":
            return self._later(3600)
        if path == "/order-items/count":
            Event().wait(0.1)
        if path == "/todos/count":
            return 200, json.dumps({"count": self.headers["Authorization"]}), {}
        if path == "/todos" and self.command == "POST":
            return 200, json.dumps(self._form()), {}
        return ANSWERS.get(path) or (200, json.dumps(self.query), {})

    def _later(self, seconds):
        """Refuse a call until a date, unless that is now."""
        date = formatdate(time() + seconds, usegmt=True)
        return (503, error(""), {"Retry-After": date}) if seconds else (200, "{}", {})

    def _form(self):
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = message_from_bytes(head + self.body).get_payload()
        return {
            part.get_param("name", header="Content-Disposition"): part.get_payload()
            for part in parts
        }

    def log_message(self, *args):
        pass


class HostileServer(ThreadingHTTPServer):
    """Counts the calls of each path; redirects lead to the address `other`."""

    daemon_threads = True
    other = ""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Hostile)
        self.calls = Counter()

    @property
    def url(self):
        """The address."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hostile_service() -> Iterator[HostileServer]:
    """Serve until the end of a block."""
    server = HostileServer()
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
