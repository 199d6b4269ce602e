"""Load on 127.0.0.1, over a few kept connections: as much as is answered, or at a fixed rate."""

import json
import random
import re
import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .data import token

# Enough to keep both workers busy, however unevenly they accept them.
CONNECTIONS = 16
# Seconds; no answer takes that long.
TIMEOUT = 30
REFUSED = 429, 503


@dataclass(frozen=True)
class Request:
    """A request to repeat; `{id}` in path, headers and body is a row at random.

    `{random}` in the body is a number, so that no two are alike; `{address}` in headers is an
    address that belongs to the row. The request comes with the token of that row, if `with_token`.
    """

    name: str
    method: str
    path: str
    first: int
    last: int
    body: dict[str, Any] | None = None
    with_token: bool = True
    # The statuses that it may be answered with.
    statuses: tuple[int, ...] = (200,)
    headers: Mapping[str, str] = field(default_factory=dict)

    def message(self, row: int) -> bytes:
        """Return the bytes of the request about one row."""
        text = json.dumps(self.body).replace("{id}", str(row)) if self.body else ""
        body = text.replace("{random}", str(random.randrange(10**6, 10**7))).encode()
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: localhost"
        if self.with_token:
            head += f"\r\nAuthorization: {token(row)}"
        address = f"10.{row >> 16 & 255}.{row >> 8 & 255}.{row & 255}"
        for name, value in self.headers.items():
            head += f"\r\n{name}: {value.replace('{address}', address)}"
        if body:
            head += f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        return f"{head}\r\n\r\n".replace("{id}", str(row)).encode() + body


@dataclass
class Run:
    """What one run measured."""

    # Answers a second, while all connections were busy.
    rate: float = 0
    # Answers by status, with the first and the last of each connection.
    statuses: Counter[int] = field(default_factory=Counter)
    # Seconds that each answer took, by the name of the request.
    times: dict[str, list[float]] = field(default_factory=dict)

    @property
    def answered(self) -> int:
        """All answers."""
        return self.statuses.total()

    @property
    def refused(self) -> int:
        """Answers that refused a request because there were too many."""
        return sum(self.statuses[status] for status in REFUSED)

    def add_time(self, request: Request, seconds: float) -> None:
        """Note how long an answer took."""
        self.times.setdefault(request.name, []).append(seconds)


@dataclass
class Connection:
    """A kept connection, and the request that waits for its answer there."""

    port: int
    socket: socket.socket
    request: Request
    message: bytes = b""
    # When the request was sent, or was due.
    start: float = 0
    answer: bytearray = field(default_factory=bytearray)

    def send(self, request: Request, message: bytes, due: float | None = None) -> None:
        """Send the next request."""
        self.request, self.message = request, message
        self.start = time.perf_counter() if due is None else due
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
        if status not in self.request.statuses:
            raise RuntimeError(f"{self.request.name} was answered: {self.answer.decode()}")
        run.statuses[status] += 1
        run.add_time(self.request, time.perf_counter() - self.start)
        self.answer.clear()


def ask(port: int, request: Request) -> Any:
    """Send the request once, about its first row; return the answer's JSON."""
    answer = _answer(port, request)
    if int(answer[9:12]) not in request.statuses:
        raise RuntimeError(f"{request.name} was answered: {answer.decode()}")
    return json.loads(_body(answer) or "null")


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


def run(
    port: int, requests: Sequence[Request], seconds: float, connections: int = CONNECTIONS
) -> Run:
    """Keep every connection busy, each with one request at a time, taken at random from these.

    A request that is there twice comes twice as often. One thread is enough for all of it. It takes
    longer if nothing was answered in this time.
    """
    messages = [_message(random.choice(requests)) for _ in range(10_000)]
    result = Run()
    waiting, opened = selectors.DefaultSelector(), _connect(port, requests, connections, result)
    for each, message in zip(opened, messages, strict=False):
        waiting.register(each.socket, selectors.EVENT_READ, each)
        each.send(*message)
    before, start = result.answered, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds or result.answered == before:
        _keep_busy(waiting, messages, result)
    result.rate = (result.answered - before) / (now - start)
    # What is under way is answered too, so that its CPU time has its answers.
    _drain(waiting, result)
    return result


def repeat(port: int, request: Request, number: int) -> Run:
    """Send a request so many times, each after the last one's answer, on one connection."""
    result = Run()
    connection = _connected(port, request, result)
    for _ in range(number - 1):
        _ask(connection, request, result)
    connection.socket.close()
    return result


def burst(port: int, request: Request, number: int) -> Run:
    """Send a request about so many rows at the same moment, each on a connection of its own."""
    result, waiting = Run(), selectors.DefaultSelector()
    opened = [Connection(port, _open(port), request) for _ in range(number)]
    start = time.perf_counter()
    for row, connection in enumerate(opened, request.first):
        connection.send(request, request.message(row), due=start)
        waiting.register(connection.socket, selectors.EVENT_READ, connection)
    _drain(waiting, result)
    result.rate = number / (time.perf_counter() - start)
    return result


def paced(
    port: int,
    requests: Sequence[Request],
    rate: float,
    seconds: float,
    connections: int = CONNECTIONS,
    at_random: bool = False,
) -> Run:
    """Send so many requests a second, at moments that do not depend on the answers.

    The moments are evenly spaced, or at random as those of clients that do not know each other.

    A time begins when the request was due, also if no connection was free: otherwise a server that
    halts would delay the requests that show it (coordinated omission). What could not be sent by
    the end counts with the time that it has waited until then.
    """
    result, waiting = Run(), selectors.DefaultSelector()
    # Used in turn, because a server closes a connection that is idle for long.
    idle = deque(_connect(port, requests, connections, result))
    result.times.clear()
    start = time.perf_counter()
    number = round(rate * seconds)
    moments = (seconds * random.random() for _ in range(number)) if at_random else None
    dues = [start + moment for moment in sorted(moments or (n / rate for n in range(number)))]
    sent = 0
    while (now := time.perf_counter()) < start + seconds and sent < len(dues):
        if idle and now >= dues[sent]:
            connection = idle.popleft()
            connection.send(*_message(random.choice(requests)), due=dues[sent])
            waiting.register(connection.socket, selectors.EVENT_READ, connection)
            sent += 1
        else:
            until = dues[sent] if idle else start + seconds
            idle += _released(waiting, result, max(0, until - now))
    for due in dues[sent:]:
        result.add_time(random.choice(requests), start + seconds - due)
    for connection in idle:
        connection.socket.close()
    _drain(waiting, result)
    result.rate = sent / seconds
    return result


def _message(request: Request) -> tuple[Request, bytes]:
    return request, request.message(random.randint(request.first, request.last))


def _connect(
    port: int, requests: Sequence[Request], connections: int, result: Run
) -> list[Connection]:
    return [_connected(port, random.choice(requests), result) for _ in range(connections)]


def _connected(port: int, request: Request, result: Run) -> Connection:
    """Return a connection that has had an answer already.

    When many connect at once, one worker may accept them all and the other stays idle.
    """
    connection = Connection(port, _open(port), request)
    _ask(connection, request, result)
    return connection


def _ask(connection: Connection, request: Request, result: Run) -> None:
    """Send a request, and wait for its answer."""
    connection.send(*_message(request))
    while not connection.read():
        pass
    connection.finish(result)


def _keep_busy(
    waiting: selectors.BaseSelector,
    messages: Sequence[tuple[Request, bytes]],
    result: Run,
) -> None:
    """Wait for answers, and send the next request where one has come."""
    for connection in _answered(waiting, result):
        connection.send(*messages[result.answered % len(messages)])


def _answered(
    waiting: selectors.BaseSelector, result: Run, seconds: float = TIMEOUT
) -> list[Connection]:
    """Wait so long for answers; count those that are complete, and return their connections."""
    ready = waiting.select(seconds)
    if not ready and seconds == TIMEOUT:
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


def _released(
    waiting: selectors.BaseSelector, result: Run, seconds: float = TIMEOUT
) -> list[Connection]:
    """Wait for answers as `_answered` does; those connections wait for nothing more."""
    complete = _answered(waiting, result, seconds)
    for connection in complete:
        waiting.unregister(connection.socket)
    return complete


def _drain(waiting: selectors.BaseSelector, result: Run) -> None:
    while waiting.get_map():
        for connection in _released(waiting, result):
            connection.socket.close()


def _is_complete(answer: bytes | bytearray) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    if head[9:12] == b"204":
        return True
    if length := re.search(rb"(?i)\r\ncontent-length: *(\d+)", head):
        return len(body) >= int(length[1])
    return _is_chunked(head) and body.endswith(b"\r\n0\r\n\r\n")


def _is_chunked(head: bytes | bytearray) -> bool:
    return re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head) is not None


def _body(answer: bytes) -> bytes:
    """Return the body of a complete answer."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    if not _is_chunked(head):
        return rest
    body = b""
    while size := int(rest.partition(b"\r\n")[0], 16):
        start = rest.index(b"\r\n") + 2
        body += rest[start : start + size]
        rest = rest[start + size + 2 :]
    return body
