"""The cost of requests that only a server sees whole: `python -m benchmarks.worst.connections`.

The CPU time is that of one gunicorn worker and its master, from /proc.
"""

import socket
from collections.abc import Iterator

from benchmarks import stack
from benchmarks.cpu import cpu_seconds

from .request import BODY

# How often each is sent, as /proc counts hundredths of a second; and how often that is repeated.
TIMES, ROUNDS = 50, 3
# Bytes of all header fields: more than a request may have.
HEAD = 60_000
START = b"GET /health HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /api/todos HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def requests() -> Iterator[tuple[str, list[bytes]]]:
    """Yield requests by their names, in the pieces in which they are sent."""
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    sized = POST + b"Content-Length: %d\r\n\r\n" % BODY
    yield "GET", [START + b"\r\n"]
    yield "100 fields", [START + b"".join(_fields(98, 580)) + b"\r\n"]
    yield "7000 fields", [START + b"".join(_fields(7000, 1)) + b"\r\n"]
    yield "continued lines", [START + b"A: a\r\n" + b" a\r\n" * (HEAD // 4) + b"\r\n"]
    yield "a field of 60 kB", [START + b"A: " + b"a" * HEAD + b"\r\n\r\n"]
    yield "names of cookies", [START + _cookies() + b"\r\n"]
    yield "a line of 16 kB", [b"GET /" + b"a" * 16_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"]
    yield "a line of 100 kB", [b"GET /" + b"a" * BODY + b" HTTP/1.1\r\nHost: a\r\n\r\n"]
    yield "line breaks", [b"\r\n" * (BODY // 2)]
    yield "line feeds", [b"\n" * BODY]
    yield "no line break", [b"a" * BODY]
    yield "1000 chunks of a byte", [chunked + b"1\r\na\r\n" * 990 + b"0\r\n\r\n"]
    yield (
        "1000 chunks of 100 bytes",
        [chunked + (b"64\r\n" + b" " * 100 + b"\r\n") * 990 + LAST_CHUNK],
    )
    yield "16,000 chunks", [chunked + b"1\r\na\r\n" * (BODY // 6)]
    yield "extensions of chunks", [chunked + (b"1;" + b"a" * 90 + b"\r\na\r\n") * 900 + LAST_CHUNK]
    yield "trailers", [chunked + b"0\r\n" + b"A: a\r\n" * 9000 + b"\r\n"]
    yield "a body in pieces of 50 bytes", [sized, *[b" " * 50] * (BODY // 50)]
    yield "a head in pieces of 50 bytes", [START + b"A: ", *[b"a" * 50] * 150, b"\r\n\r\n"]
    yield "90 requests in one piece", [(START + b"\r\n") * 90]


def _fields(number: int, length: int) -> Iterator[bytes]:
    for field in range(number):
        yield b"A%d: %s\r\n" % (field, b"a" * length)


def _cookies() -> bytes:
    return b"Cookie: %s\r\n" % b"; ".join(b"a%d=b" % number for number in range(1000))


def main() -> None:
    """Print the milliseconds of CPU of each request, the highest first."""
    with stack.temporary_folder() as folder:
        settings = {"WEB_CONCURRENCY": "1", "APP_THROTTLE_ENABLED": "false"}
        with stack.gunicorn("wsgi:app", stack.sqlite(folder, "a"), folder, settings) as server:
            found = [(_cost(server, pieces), name) for name, pieces in requests()]
    print(stack.machine())
    for (cost, status), name in sorted(found, reverse=True):
        print(f"{cost * 1000:>8.1f}{status:>8}  {name}")


def _cost(server: stack.Server, pieces: list[bytes]) -> tuple[float, str]:
    """Return the lowest of the rounds, for one request, and its status."""
    costs, status = [], ""
    for _ in range(ROUNDS):
        before = cpu_seconds(server.pid)
        for _ in range(TIMES):
            status = _send(server.port, pieces)
        costs.append((cpu_seconds(server.pid) - before) / TIMES)
    return min(costs), status


def _send(port: int, pieces: list[bytes]) -> str:
    """Send a request piece by piece, and return the status of the last answer to it."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            # It was refused before it was sent whole.
            pass
        return _status(client)


def _status(client: socket.socket) -> str:
    answer = b""
    try:
        while data := client.recv(65_536):
            answer += data
    except OSError:
        pass
    lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1")]
    return lines[-1].split()[1].decode() if lines else "none"


if __name__ == "__main__":
    main()
