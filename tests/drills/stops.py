"""SIGTERM while requests are begun, and while others arrive on new connections."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.support.live import Server, newcomer, serve
from tests.support.waiting import eventually

from .places import places
from .report import Report

CLIENTS, BEGUN = 4, 3
# Seconds; no answer takes so long, and no connection is kept waiting so long.
TIMEOUT = 60
BODY = json.dumps({"title": "x"}).encode()


def run(seconds: float) -> Report:
    """Stop and start again: what is begun is answered, what comes later is answered or refused."""
    report, outcomes, end = Report("stops"), Counter[str](), time.monotonic() + seconds
    with places("sqlite") as [place], serve(place.folder, place.url) as server:
        head = _head(newcomer(server.url)["Authorization"])
        while time.monotonic() < end or not outcomes["stopped"]:
            _stop(server, head, outcomes)
            server.start()
    stops = outcomes["stopped"]
    report.did("stops", stops)
    report.did("answered", outcomes["200"])
    report.did("refused", outcomes["refused"])
    report.did("begun and answered", outcomes["begun 200"])
    report.at_most("begun and lost", BEGUN * stops - outcomes["begun 200"], 0)
    # One may arrive between the last look for connections and the end of the listener.
    lost = outcomes.total() - stops - sum(outcomes[outcome] for outcome in ("200", "refused"))
    report.at_most("lost", lost - BEGUN * stops, stops)
    return report


def _head(token: str) -> bytes:
    lines = (
        "POST /api/todos HTTP/1.1",
        "Host: localhost",
        f"Authorization: {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(BODY)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _stop(server: Server, head: bytes, outcomes: Counter[str]) -> None:
    """Stop the service between the two halves of some requests, while others are sent whole."""
    address = urlsplit(server.url)
    host, port = str(address.hostname), int(address.port or 0)
    with _senders(host, port, head + BODY, outcomes):
        begun = [socket.create_connection((host, port), TIMEOUT) for _ in range(BEGUN)]
        for connection in begun:
            connection.sendall(head + BODY[:1])
        refused, answered = outcomes["refused"], outcomes["200"]
        eventually(lambda: outcomes["200"] > answered)
        server.process.terminate()
        eventually(lambda: outcomes["refused"] > refused)
        for connection in begun:
            with connection:
                connection.sendall(BODY[1:])
                outcomes[f"begun {_status(connection)}"] += 1
        server.process.wait(TIMEOUT)
        outcomes["stopped"] += 1


@contextmanager
def _senders(host: str, port: int, request: bytes, outcomes: Counter[str]) -> Iterator[None]:
    """Send a request on one new connection after the other, by some threads, until the end."""
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.01):
            outcomes[_send(host, port, request)] += 1

    threads = [threading.Thread(target=send) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _send(host: str, port: int, request: bytes) -> str:
    """Send a request on a new connection; return what became of it."""
    try:
        connection = socket.create_connection((host, port), TIMEOUT)
    except ConnectionRefusedError:
        return "refused"
    with connection:
        connection.sendall(request)
        return _status(connection)


def _status(connection: socket.socket) -> str:
    """Return the status of the answer, or how the connection ended without one."""
    try:
        answer = connection.recv(65536)
    except OSError as error:
        return type(error).__name__
    return answer[9:12].decode() or "closed"
