"""Count the instructions that a request takes, those of the server included, by callgrind.

They hardly depend on what else the machine does, so that small changes are seen.
"""

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask

from app.factory import create_app

from . import load, stack
from .cpu import cpu_seconds
from .data import fill
from .kinds import GET, LIST, POST, RESET, ROWS, UNLIMITED, filtered
from .load import Request
from .stack import Place, Server
from .tables import Table, publish

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

# Enough for every cache to be filled in each of the threads.
WARM_UP, COUNTED = 40, 30
HUNDRED = filtered("/api/todos", limit=100)
KINDS = {
    "a constant, by the server alone": Request("", "GET", "/constant", 0, 0),
    GET.name: GET,
    "GET /todos?filter=, 20 rows": LIST,
    "GET /todos?filter=, 100 rows": Request("", "GET", HUNDRED, 1, ROWS),
    POST.name: POST,
    "POST /users/reset, with its mail": RESET,
}
# A function of libc that nothing else calls: callgrind writes what it has counted, and begins anew.
MARK = "getsid"
TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)
# A server is idle that uses no more seconds of CPU time in so many seconds.
IDLE_CPU, IDLE_SECONDS = 0.1, 1.5
MARKING = Request("mark", "GET", "/mark", 0, 0)


def main() -> None:
    """Print the instructions of each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same; not kept")
    parser.add_argument("--keep", type=Path, help="a folder for callgrind's own files")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not on this machine.")
    how = (
        f"Thousands of instructions in user mode, of one process, for each of {COUNTED} requests"
        f" after {WARM_UP} others"
    )
    tables = stack.on_each_database(lambda place: _tables(place, options.keep))
    publish("instructions", how, tables, keep=not options.quick)


def marked() -> Flask:
    """Return the app with the paths `/constant`, and `/mark`, which marks callgrind's counts."""
    app = create_app()
    respond = app.wsgi_app

    def respond_marked(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path not in ("/mark", "/constant"):
            return respond(environ, start)
        if path == "/mark":
            os.getsid(0)
        start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
        return [b"ok"]

    app.wsgi_app = respond_marked  # type: ignore[method-assign]
    return app


def _tables(place: Place, keep: Path | None) -> Iterator[Table]:
    url = place.create("ostiary")
    fill(url, ROWS, owners=1)
    counts = place.folder / "counts"
    counts.mkdir()
    options = [f"--callgrind-out-file={counts}/counts.%p", f"--dump-before={MARK}"]
    valgrind = ["valgrind", "--quiet", "--tool=callgrind", *options]
    settings = {**UNLIMITED, "WEB_CONCURRENCY": "1", "THREADS": "2", "PYTHONHASHSEED": "0"}
    table = Table(place.title, ["instructions"])
    with stack.gunicorn(
        "benchmarks.instructions:marked()", url, place.folder, settings, valgrind
    ) as server:
        for request in KINDS.values():
            load.repeat(server.port, request, WARM_UP)
            _mark(server)
            load.repeat(server.port, request, COUNTED)
            _mark(server)
    # A segment has one request more: that which marks its start or end is as short as a constant.
    segments = _totals(counts)[1::2]
    constant = segments[0] / (COUNTED + 1)
    for name, total in zip(KINDS, segments, strict=True):
        table.rows.append([name, round((total - constant) / COUNTED / 1000)])
    if keep:
        shutil.copytree(counts, keep / place.title, dirs_exist_ok=True)
    yield table


def _mark(server: Server) -> None:
    """Mark the counts once the server has nothing left to do, such as to send mails."""
    used = -1.0
    while (now := cpu_seconds(server.pid)) - used > IDLE_CPU:
        used = now
        time.sleep(IDLE_SECONDS)
    load.repeat(server.port, MARKING, 1)


def _totals(folder: Path) -> list[int]:
    """Return the counts before each mark, in order."""
    marked = sorted(folder.glob("counts.*.*"), key=lambda path: int(path.suffix[1:]))
    found = [TOTALS.search(path.read_text()) for path in marked]
    return [int(match[1]) for match in found if match]


if __name__ == "__main__":
    main()
