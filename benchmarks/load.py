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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .data import token

# Enough to keep both workers busy, however unevenly they accept them.
CONNECTIONS = 16
WRK = shutil.which("wrk")
# Seconds; no answer takes that long.
TIMEOUT = 10


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

    def message(self, row: int) -> bytes:
        """Return the bytes of the request about one row."""
        body = json.dumps(self.body).encode() if self.body else b""
        head = f"{self.method} {self.path.replace('{id}', str(row))} HTTP/1.1\r\nHost: localhost"
        if self.with_token:
            head += f"\r\nAuthorization: {token(row)}"
        if body:
            head += f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        return f"{head}\r\n\r\n".encode() + body


def ask(port: int, request: Request) -> Any:
    """Send the request once, about its first row; return the answer's JSON."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        connection.sendall(request.message(request.first))
        answer = b""
        while not _is_complete(answer):
            answer += connection.recv(65536)
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{request.name} was answered: {answer.decode()}")
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def rate(port: int, request: Request, seconds: float, by_wrk: bool = False) -> float:
    """Return how many requests a second were answered; all must be, with 200."""
    found = _by_wrk(port, request, seconds) if by_wrk else _by_hand(port, request, seconds)
    if not found:
        raise RuntimeError(f"{request.name} was not answered within {seconds} s")
    return found


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
    return float(re.search(r"Requests/sec: +([\d.]+)", output)[1])  # type: ignore[index]


def _by_hand(port: int, request: Request, seconds: float) -> float:
    """Keep every connection busy with one request at a time; one thread is enough for that."""
    messages = [request.message(random.randint(request.first, request.last)) for _ in range(10_000)]
    waiting = selectors.DefaultSelector()
    for _ in range(CONNECTIONS):
        connection = _connected(port, request)
        waiting.register(connection, selectors.EVENT_READ, bytearray())
    for key, each in zip(waiting.get_map().values(), messages, strict=False):
        key.fileobj.sendall(each)
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        for key, _ in waiting.select(TIMEOUT):
            if _read(request, key):
                count += 1
                key.fileobj.sendall(messages[count % len(messages)])
    for key in list(waiting.get_map().values()):
        key.fileobj.close()
    return count / (now - start)


def _connected(port: int, request: Request) -> socket.socket:
    """Return a connection that has had an answer already.

    When many connect at once, one worker may accept them all and the other stays idle.
    """
    connection = socket.create_connection(("127.0.0.1", port), TIMEOUT)
    connection.sendall(request.message(request.first))
    answer = bytearray()
    while not _is_complete(answer):
        answer += connection.recv(65536)
    return connection


def _read(request: Request, key: Any) -> bool:
    """Read what has come on a connection; tell whether that completes an answer."""
    answer: bytearray = key.data
    answer += key.fileobj.recv(65536)
    if not _is_complete(answer):
        return False
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{request.name} was answered: {answer.decode()}")
    answer.clear()
    return True


def _is_complete(answer: bytes | bytearray) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return len(body) >= int(length[1]) if length else False
