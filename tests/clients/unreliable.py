"""A service that fails in ways that a real one fails only now and then."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# The status of the first answers to each path, and the seconds of `Retry-After`.
FAILURES = {
    "/api/products": (503, 0),
    "/api/products/update": (503, 0),
    "/api/orders": (503, 0),
    "/api/reviews": (429, 0),
    "/api/shipments": (503, 3600),
    "/api/todos": (500, None),
}
# Answers as of a proxy in front of a service.
ODD = {"/api/users": (200, "<html>"), "/api/todos/1": (502, "null")}
# The next page is said to be at another host, which must not get the token.
LINK = '<https://elsewhere.example/api/categories?skip=1>; rel="next"'


class Unreliable(BaseHTTPRequestHandler):
    """Fails the first call of each path, and answers the others with their number."""

    server: "UnreliableServer"

    def do_GET(self):
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.calls[path] += 1
        if path == "/api/order-items":
            self.server.released.wait(60)
        is_first = self.server.calls[path] == 1
        if path in ODD:
            self._answer(*ODD[path], {})
        elif path in FAILURES and is_first:
            self._fail(*FAILURES[path])
        else:
            link = {"Link": LINK} if path == "/api/categories" and not query else {}
            content = json.dumps([self.server.calls[path], query])
            self._answer(200, content, link)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *args):
        pass

    def _fail(self, status, wait):
        error = {"statusCode": status, "code": "TOO_MANY_REQUESTS", "message": "Later."}
        headers = {} if wait is None else {"Retry-After": str(wait)}
        self._answer(status, json.dumps({"error": error}), headers)

    def _answer(self, status, content, headers):
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content.encode())
        except ConnectionError:
            # The client has given up.
            self.close_connection = True


class UnreliableServer(ThreadingHTTPServer):
    """Counts the calls of each path."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Unreliable)
        self.calls = Counter()
        self.released = threading.Event()


@contextmanager
def unreliable_service() -> Iterator[UnreliableServer]:
    """Serve until the end of a block."""
    server = UnreliableServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
