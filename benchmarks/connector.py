"""One call through a compiled operation against the same call written by hand with requests.

The server is a process of its own; the two
kinds of call alternate in one run, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

import requests

from app.connector import DataSource

from .tables import Table, publish

BODY = json.dumps(
    {"results": [{"geometry": {"location": {"lat": 37.56, "lng": -122.32}}}]}
).encode()

TEMPLATE = {
    "method": "GET",
    "url": "/geocode/{format=json}",
    "headers": {"x-tenant": "{tenant}"},
    "query": {"address": "{^street},{city},{zipcode}", "sensor": "{sensor=false:boolean}"},
    "variables": {"tenant": {"enum": ["a", "b"]}},
    "responsePath": "$.results[0].geometry.location",
    "responseSelect": "first",
}
FUNCTIONS = {"geocode": ["street", "city", "zipcode", "tenant"]}
# Seconds that a slow remote service takes to answer /slow.
SLOW = 0.3
ROUNDS = 5
ADDRESS = {"street": "107 S B St", "city": "San Mateo", "zipcode": "94401", "tenant": "a"}


class Handler(BaseHTTPRequestHandler):
    """Answers every GET with the same JSON: /slow late, and everything else at once."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer."""
        if self.path == "/slow":
            time.sleep(SLOW)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_args: Any) -> None:
        """Stay silent."""


def serve(ready: Connection) -> None:
    """Serve for ever on a free port and tell which."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ready.send(server.server_port)
    server.serve_forever()


@contextmanager
def remote() -> Iterator[str]:
    """Run the server in a process of its own; yield its URL."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        server.terminate()


def by_hand(session: requests.Session, base: str) -> Any:
    """Make the call the way one writes it with requests."""
    response = session.get(
        f"{base}/geocode/json",
        params={"address": "107 S B St,San Mateo,94401", "sensor": "false"},
        headers={"x-tenant": "a"},
        timeout=(5, 30),
    )
    response.raise_for_status()
    return response.json()["results"][0]["geometry"]["location"]


def count_calls(work: Callable[[], Any]) -> int:
    """Return the Python and C functions that one piece of work calls, as a profiler counts them."""
    events: Counter[str] = Counter()

    def profile(_frame: object, event: str, _argument: object) -> None:
        events[event] += 1

    sys.setprofile(profile)
    work()
    sys.setprofile(None)
    return events["call"] + events["c_call"]


def measure(work: Callable[[], Any]) -> float:
    """Return the seconds that one piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(base: str, calls: int) -> Iterator[Table]:
    """Yield the medians of both kinds of call, in turn, and those of their ratios."""
    source = DataSource.from_config(
        {"baseURL": base, "operations": [{"template": TEMPLATE, "functions": FUNCTIONS}]}
    )
    session = requests.Session()
    session.trust_env = False
    works = (lambda: source.geocode(**ADDRESS), lambda: by_hand(session, base))
    if works[0]() != works[1]():
        raise SystemExit("the two calls do not give the same")

    table = Table("one call", ["connector", "by hand", "ratio", "of the rounds"])
    ours, theirs = (count_calls(work) for work in works)
    table.rows.append(["profiled calls", ours, theirs, round(ours / theirs, 2), None])
    rounds = []
    for _ in range(ROUNDS):
        times = [[measure(work) for work in works] for _ in range(calls)]
        rounds.append([statistics.median(column) for column in zip(*times, strict=True)])
    ratios = sorted(call / hand for call, hand in rounds)
    micro = [round(statistics.median(times) * 1e6) for times in zip(*rounds, strict=True)]
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    table.rows.append(["µs", *micro, round(statistics.median(ratios), 2), spread])
    request = source.geocode._builder
    build = statistics.median(measure(lambda: request.build(ADDRESS)) for _ in range(calls * 10))
    table.rows.append(["µs to build the request", round(build * 1e6, 1), None, None, None])
    yield table


def main() -> None:
    """Start the server and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 calls instead of 1500; not kept")
    options = parser.parse_args()
    calls = 100 if options.quick else 1500
    with remote() as base:
        how = f"Medians of {ROUNDS} rounds of {calls} calls of each kind, in turn"
        publish("connector", how, compare(base, calls), keep=not options.quick)


if __name__ == "__main__":
    main()
