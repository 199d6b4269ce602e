"""Measure 1,000 change streams in one process: memory, CPU time, and seconds until an event."""

import argparse
import json
import os
import selectors
import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import requests

from tests.support.live import newcomer

from . import stack
from .kinds import UNLIMITED
from .stack import Place
from .tables import Table, publish

STREAMS, FEW, ADDRESSES = 1000, 100, 20
IDLE, WRITES, READS = 30, 40, 1500
EVERYONE = {"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}
SETTINGS = {
    **UNLIMITED,
    "WEB_CONCURRENCY": "1",
    "APP_CHANGES": '["todos"]',
    "APP_ACLS": json.dumps({"todos": [EVERYONE]}),
    "APP_TRUSTED_PROXIES": "1",
}
COLUMNS = [
    *("MiB", "more than without", "CPU ms a second, idle", "p50 ms", "p95 ms", "all ms"),
    *("GET CPU µs",),
]


def main() -> None:
    """Print what streams cost, on each database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few changes; not kept")
    options = parser.parse_args()
    how = (
        f"one process; idle for {IDLE} s; `p50` and `p95` are the milliseconds from before a `POST`"
        f" until its event is in each stream, of {WRITES} changes, and `all` until it is in the"
        f" last one; CPU time of a GET by id, of {READS}"
    )
    publish("changes", how, stack.on_each_database(_measure), keep=not options.quick)


def _measure(place: Place) -> Iterator[Table]:
    table = Table(f"streams, {place.title}", COLUMNS)
    url = place.create("changes")
    stack.migrate(url, place.folder, **SETTINGS)
    with stack.gunicorn("wsgi:app", url, place.folder, SETTINGS) as server:
        base = f"http://127.0.0.1:{server.port}"
        writer = newcomer(base)
        [worker] = _children(server.pid)
        _post(base, writer)
        before = 0.0
        for number in (0, FEW, STREAMS):
            with ExitStack() as opened:
                streams = [
                    opened.enter_context(_open(server.port, index)) for index in range(number)
                ]
                _wait(streams, b":ok")
                used = _memory(worker)
                before = before or used
                started = _cpu(worker)
                time.sleep(IDLE)
                idle = (_cpu(worker) - started) / IDLE
                times = [_write(base, writer, streams) for _ in range(WRITES)] if streams else []
                each = sorted(seconds for found in times for seconds in found)
                started = _cpu(worker)
                with requests.Session() as session:
                    for _ in range(READS):
                        session.get(f"{base}/api/todos/1", headers=writer, timeout=20)
                read = (_cpu(worker) - started) / READS
            table.rows.append(
                [
                    f"{number:,}",
                    round(used, 1),
                    round(used - before, 1),
                    round(idle * 1000, 1),
                    round(each[len(each) // 2] * 1000) if each else None,
                    round(each[len(each) * 95 // 100] * 1000) if each else None,
                    round(statistics.median(map(max, times)) * 1000) if times else None,
                    round(read * 1e6),
                ]
            )
    yield table


def _open(port: int, number: int) -> socket.socket:
    """Open the stream of an anonymous client, at one of several addresses."""
    opened = socket.create_connection(("127.0.0.1", port))
    address = f"X-Forwarded-For: 10.0.0.{number % ADDRESSES}"
    request = f"GET /api/todos/change-stream HTTP/1.1\r\nHost: x\r\n{address}\r\n\r\n"
    opened.sendall(request.encode())
    return opened


def _wait(streams: Sequence[socket.socket], text: bytes) -> list[float]:
    """Read all streams until each has a text; return when it had it."""
    found = []
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(20):
                data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                if not data:
                    raise RuntimeError("a stream has ended")
                if text in data:
                    found.append(time.perf_counter())
                    selector.unregister(key.fileobj)
    return found


def _write(base: str, writer: dict[str, str], streams: Sequence[socket.socket]) -> list[float]:
    """Create a row; return the seconds until each stream has it."""
    started = time.perf_counter()
    _post(base, writer)
    return [moment - started for moment in _wait(streams, b'"type":"create"')]


def _post(base: str, writer: dict[str, str]) -> None:
    url, body = f"{base}/api/todos", {"title": "Water the plants"}
    requests.post(url, json=body, headers=writer, timeout=20).raise_for_status()


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _memory(pid: int) -> float:
    """Return the resident set of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _cpu(pid: int) -> float:
    """Return the seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
