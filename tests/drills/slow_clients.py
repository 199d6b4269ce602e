"""Clients that are slow, idle, oversized or do not read, while others are served."""

import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.live import serve

from .load import load
from .places import places
from .report import Report

# A process keeps 1000 connections.
IDLE, SLOW, UNREAD = 1000, 50, 40
# Open files that the drill needs for itself.
OWN_FILES = 200
# What a slow client sends at first; then it sends a byte a second.
SLOW_HEAD = b"GET / HTTP/1.1\r\nX-Slow: "
SLOW_BODY = b"POST /api/todos HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
# What a client asks for that then reads nothing.
PIPELINED = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 30
OVERSIZED_HEAD = b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 70_000
# One process, and so long for a request that none is cut off before the drill ends.
SETTINGS = {"WEB_CONCURRENCY": "1", "APP_REQUEST_TIMEOUT": "300"}
# Seconds; no answer takes so long.
TIMEOUT = 30
# MiB of the process, whose connections are all taken.
MEMORY = 150


def run(seconds: float) -> Report:
    """Open more connections to one process than it keeps, and see that others are answered."""
    report = Report("slow_clients")
    with (
        places("sqlite") as [place],
        serve(place.folder, place.url, **SETTINGS) as server,
        load(server.url) as clients,
    ):
        [worker] = server.workers()
        clients.goes_on()
        report.note("MiB before", _memory(worker))
        opened, refused = _crowd(server.url, seconds, clients.goes_on)
        report.at_most("MiB", _memory(worker), MEMORY)
        report.did("connections", opened)
        report.did("oversized and refused", refused)
        report.require(server.workers() == [worker], "the process ended")
        report.at_most("unanswered writes", clients.count("unanswered"), 0)
        report.at_most("unanswered reads", clients.count("unanswered_reads"), 0)
        report.note("p99 ms", round(clients.slowest() * 1000))
        clients.report_on(report)
    return report


def _crowd(url: str, seconds: float, check: Callable[[], None]) -> tuple[int, int]:
    """Open connections of idle and slow clients, and see that others are served meanwhile.

    Return how many were opened, and how many oversized requests were refused.
    """
    end, refused = time.monotonic() + seconds, 0
    with ExitStack() as stack:
        idle = [stack.enter_context(_connect(url)) for _ in range(_idle_connections())]
        slow = [stack.enter_context(_connect(url, part)) for part in [SLOW_HEAD, SLOW_BODY] * SLOW]
        unread = [stack.enter_context(_connect(url, PIPELINED)) for _ in range(UNREAD)]
        check()
        while time.monotonic() < end or not refused:
            for connection in slow:
                # Those that took too long are closed.
                with suppress(OSError):
                    connection.send(b"x")
            refused += _is_refused(url)
            time.sleep(1)
        check()
        return len(idle) + len(slow) + len(unread), refused


def _connect(url: str, start: bytes = b"") -> socket.socket:
    address = urlsplit(url)
    connection = socket.create_connection((str(address.hostname), address.port or 0), TIMEOUT)
    connection.sendall(start)
    return connection


def _is_refused(url: str) -> bool:
    """Send a header that is too large; tell whether the answer is 431."""
    with _connect(url, OVERSIZED_HEAD) as connection:
        return connection.recv(65536).startswith(b"HTTP/1.1 431 ")


def _idle_connections() -> int:
    """Let this process open the files it needs; return for how many idle connections they do."""
    needed = IDLE + 2 * SLOW + UNREAD + OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return IDLE
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed - 2 * SLOW - UNREAD - OWN_FILES


def _memory(pid: int) -> int:
    """Return the MiB that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024
