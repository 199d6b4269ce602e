"""Load on 127.0.0.1, for some seconds over a few kept connections: by hand, or by wrk."""

import json
import os
import random
import re
import selectors
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .data import token

# Enough to keep both workers busy, however unevenly they accept them.
CONNECTIONS = 16
WRK = shutil.which("wrk")
# Seconds; no answer takes that long.
TIMEOUT = 30


@dataclass(frozen=True)
class Request:
    """A request to repeat; `{id}` in the path is a row at random, read with its token."""

    name: str
    method: str
    path: str
    first: int
    last: int
    body: dict[str, Any] | None = None
    with_token: bool = True
    # Whether a server may refuse it when there are too many at once (429, 503).
    refusable: bool = False

    def message(self, row: int) -> bytes:
        """Return the bytes of the request about one row."""
        body = json.dumps(self.body).encode() if self.body else b""
        head = f"{self.method} {self.path.replace('{id}', str(row))} HTTP/1.1\r\nHost: localhost"
        if self.with_token:
            head += f"\r\nAuthorization: {token(row)}"
        if body:
            head += f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        return f"{head}\r\n\r\n".encode() + body


@dataclass
class Run:
    """What one run measured."""

    # Answers a second, while all connections were busy.
    rate: float = 0
    # All answers, with the first and the last of each connection.
    answered: int = 0
    # Answers that refused a request which may be refused.
    refused: int = 0
    # Seconds that each answer took, by the name of the request.
    times: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Connection:
    """A kept connection, and the request that waits for its answer there."""

    port: int
    socket: socket.socket
    request: Request
    message: bytes = b""
    sent: float = 0
    answer: bytearray = field(default_factory=bytearray)

    def send(self, request: Request, message: bytes) -> None:
        """Send the next request."""
        self.request, self.message, self.sent = request, message, time.perf_counter()
        self.socket.sendall(message)

    def read(self) -> bool:
        """Read what has come; tell whether the answer is complete."""
        part = self.socket.recv(65536)
        if not part:
            raise ConnectionResetError(f"{self.request.name}: the server closed the connection")
        self.answer += part
        return _is_complete(self.answer)

    def retry(self) -> None:
        """Connect again and repeat the request, as clients do when a kept connection is closed."""
        self.socket.close()
        self.socket = _open(self.port)
        self.socket.sendall(self.message)

    def finish(self, run: Run) -> None:
        """Count the complete answer, which must be one that the request may have."""
        status = int(self.answer[9:12])
        if status != 200 and not (self.request.refusable and status in (429, 503)):
            raise RuntimeError(f"{self.request.name} was answered: {self.answer.decode()}")
        run.answered += 1
        run.refused += status != 200
        run.times.setdefault(self.request.name, []).append(time.perf_counter() - self.sent)
        self.answer.clear()


def ask(port: int, request: Request) -> Any:
    """Send the request once, about its first row; return the answer's JSON."""
    answer = _answer(port, request)
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{request.name} was answered: {answer.decode()}")
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def status(port: int, request: Request) -> int:
    """Send the request once, about its first row; return the answer's status."""
    return int(_answer(port, request)[9:12])


def _open(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), TIMEOUT)


def _answer(port: int, request: Request) -> bytes:
    with _open(port) as connection:
        connection.sendall(request.message(request.first))
        answer = b""
        while not _is_complete(answer):
            part = connection.recv(65536)
            if not part:
                raise RuntimeError(f"{request.name}: the server closed the connection")
            answer += part
    return answer


def rate(port: int, request: Request, seconds: float, by_wrk: bool = False) -> float:
    """Return how many requests a second were answered; all must be, with 200."""
    return _by_wrk(port, request, seconds) if by_wrk else run(port, [request], seconds).rate


def run(
    port: int, requests: Sequence[Request], seconds: float, connections: int = CONNECTIONS
) -> Run:
    """Keep every connection busy, each with one request at a time, taken at random from these.

    A request that is there twice comes twice as often. One thread is enough for all of it.
    """
    messages = [_message(random.choice(requests)) for _ in range(10_000)]
    result, waiting = Run(), selectors.DefaultSelector()
    opened = [_connected(port, requests[0], result) for _ in range(connections)]
    for each, message in zip(opened, messages, strict=False):
        waiting.register(each.socket, selectors.EVENT_READ, each)
        each.send(*message)
    before, start = result.answered, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        _keep_busy(waiting, messages, result)
    result.rate = (result.answered - before) / (now - start)
    # What is under way is answered too, so that its CPU time has its answers.
    _drain(waiting, result)
    return result


def _by_wrk(port: int, request: Request, seconds: float) -> float:
    said = {
        "METHOD": request.method,
        "TARGET": request.path,
        "FIRST": str(request.first),
        "LAST": str(request.last),
        "WITH_TOKEN": "yes" if request.with_token else "",
        "SEED": str(random.getrandbits(31)),
        **({"BODY": json.dumps(request.body)} if request.body else {}),
    }
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", "--timeout", f"{TIMEOUT}s"]
    script = str(Path(__file__).with_name("load.lua"))
    command = [str(WRK), *options, "-s", script, f"http://127.0.0.1:{port}"]
    output = subprocess.check_output(command, env={**os.environ, **said}, text=True)
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"{request.name} failed:\n{output}")
    found = float(re.search(r"Requests/sec: +([\d.]+)", output)[1])  # type: ignore[index]
    if not found:
        raise RuntimeError(f"{request.name} was not answered within {seconds} s")
    return found


def _message(request: Request) -> tuple[Request, bytes]:
    return request, request.message(random.randint(request.first, request.last))


def _connected(port: int, request: Request, result: Run) -> Connection:
    """Return a connection that has had an answer already.

    When many connect at once, one worker may accept them all and the other stays idle.
    """
    connection = Connection(port, _open(port), request)
    connection.send(*_message(request))
    while not connection.read():
        pass
    connection.finish(result)
    return connection


def _keep_busy(
    waiting: selectors.BaseSelector,
    messages: Sequence[tuple[Request, bytes]],
    result: Run,
) -> None:
    """Wait for answers, and send the next request where one has come."""
    for connection in _answered(waiting, result):
        connection.send(*messages[result.answered % len(messages)])


def _answered(waiting: selectors.BaseSelector, result: Run) -> list[Connection]:
    """Wait for answers; count those that are complete, and return their connections."""
    ready = waiting.select(TIMEOUT)
    if not ready:
        raise RuntimeError(f"nothing was answered within {TIMEOUT} s")
    complete = [key.data for key, _ in ready if _read(waiting, key.data)]
    for connection in complete:
        connection.finish(result)
    return complete


def _read(waiting: selectors.BaseSelector, connection: Connection) -> bool:
    """Read from a connection; open it again if the server, which found it idle, closed it."""
    try:
        return connection.read()
    except ConnectionResetError:
        if connection.answer:
            raise
        waiting.unregister(connection.socket)
        connection.retry()
        waiting.register(connection.socket, selectors.EVENT_READ, connection)
        return False


def _drain(waiting: selectors.BaseSelector, result: Run) -> None:
    while waiting.get_map():
        for connection in _answered(waiting, result):
            waiting.unregister(connection.socket)
            connection.socket.close()


def _is_complete(answer: bytes | bytearray) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return len(body) >= int(length[1]) if length else False
