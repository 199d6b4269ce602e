"""Measure how long reads take while logins flood in from many addresses, against a quiet time."""

import argparse
import json
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from . import stack
from .data import EMAIL, fill, token

ROWS = 1000
# Requests a second, spread over as many connections; one core computes 50 hashes a second.
READS, READERS = 100, 8
LOGINS, ATTACKERS = 200, 32
# With a trusted proxy, the benchmark can claim to be many addresses.
SERVERS = {
    "half of the threads": {"APP_TRUSTED_PROXIES": "1"},
    "all threads": {"APP_TRUSTED_PROXIES": "1", "APP_PASSWORD_HASHES": "4"},
}


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds instead of 7")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="only this one")
    options = parser.parse_args()
    rounds, seconds = (2, 3) if options.quick else (7, 5)
    print(
        f"{stack.machine()}, {rounds} rounds of {seconds} s: {READS} GET /todos/{{id}} a second,"
        f" alone and with {LOGINS} POST /users/login a second"
    )
    with stack.temporary_folder() as folder:
        if options.database != "postgresql":
            _compare("SQLite", stack.sqlite(folder, "ostiary"), folder, rounds, seconds)
        if options.database != "sqlite" and stack.has_postgresql():
            with stack.postgresql_server(folder):
                url = stack.postgresql(folder, "ostiary")
                _compare("PostgreSQL", url, folder, rounds, seconds)


def _compare(title: str, url: str, folder: Path, rounds: int, seconds: float) -> None:
    """Run a server of each kind, measure them in turn, and print a line for each."""
    fill(url, ROWS, owners=1)
    rows = {name: Row() for name in SERVERS}
    with ExitStack() as running:
        ports = {
            name: running.enter_context(stack.gunicorn("wsgi:app", url, folder, settings)).port
            for name, settings in SERVERS.items()
        }
        for port in ports.values():
            _paced(port, READS, READERS, 1, _read)
        for _ in range(rounds):
            for name, port in ports.items():
                _measure(port, seconds, rows[name])
    _report(title, rows)


@dataclass
class Row:
    """What the rounds measured of one server: percentiles of reads, and answers to logins."""

    quiet: list[tuple[float, float]] = field(default_factory=list)
    flood: list[tuple[float, float]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def _measure(port: int, seconds: float, row: Row) -> None:
    """Measure reads alone, and during a flood that another process makes."""
    row.quiet.append(_percentiles(port, seconds))
    with multiprocessing.Pool(1) as pool:
        logins = pool.apply_async(_paced, (port, LOGINS, ATTACKERS, seconds + 1, _log_in))
        time.sleep(0.5)
        row.flood.append(_percentiles(port, seconds))
        row.statuses.update(status for status, _ in logins.get())


def _report(title: str, rows: dict[str, Row]) -> None:
    """Print the medians of the rounds, and of their ratios."""
    print(f"\n{title:<24}{'quiet 50 %':>11}{'99 %':>7}{'flood 50 %':>12}{'99 %':>8} ms", end="")
    print(f"{'ratio of 99 %':>15}  answers to logins")
    for name, row in rows.items():
        ratio = median(
            after[1] / before[1] for before, after in zip(row.quiet, row.flood, strict=True)
        )
        (a, b), (c, d) = (
            [median(each[i] for each in side) for i in (0, 1)] for side in (row.quiet, row.flood)
        )
        answers = ", ".join(f"{n} x {status}" for status, n in sorted(row.statuses.items()))
        print(f"{name:<24}{a:>11.1f}{b:>7.1f}{c:>12.1f}{d:>8.1f}{ratio:>18.1f}  {answers}")


def _percentiles(port: int, seconds: float) -> tuple[float, float]:
    """Return the median and the 99th percentile of the milliseconds that reads took."""
    answers = _paced(port, READS, READERS, seconds, _read)
    if any(status != 200 for status, _ in answers):
        raise RuntimeError("a read was refused")
    cuts = quantiles([took * 1000 for _, took in answers], n=100)
    return cuts[49], cuts[98]


def _paced(
    port: int,
    rate: float,
    connections: int,
    seconds: float,
    request: Callable[[], dict[str, Any]],
) -> list[tuple[int, float]]:
    """Send so many requests a second; return the status of each answer and the seconds it took."""

    def work(number: int) -> list[tuple[int, float]]:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        return [_send(connection, request()) for _ in _beats(rate / connections, seconds, number)]

    with ThreadPoolExecutor(connections) as pool:
        return [each for found in pool.map(work, range(connections)) for each in found]


def _beats(rate: float, seconds: float, seed: int) -> Iterator[float]:
    """Wait for each of the moments at which to send a request; one that is late is left out."""
    start = time.perf_counter() + random.Random(seed).random() / rate
    for number in count():
        moment = start + number / rate
        if moment > start + seconds:
            return
        if (wait := moment - time.perf_counter()) > 0:
            time.sleep(wait)
            yield moment


def _send(connection: HTTPConnection, request: dict[str, Any]) -> tuple[int, float]:
    start = time.perf_counter()
    connection.request(**request)
    response = connection.getresponse()
    response.read()
    return response.status, time.perf_counter() - start


def _read() -> dict[str, Any]:
    row = random.randint(1, ROWS)
    return {"method": "GET", "url": f"/api/todos/{row}", "headers": {"Authorization": token(row)}}


def _log_in() -> dict[str, Any]:
    """Return a login with a wrong password from any address, for any of many names."""
    email = random.choice([EMAIL, f"{random.getrandbits(32)}@example.com"])
    return {
        "method": "POST",
        "url": "/api/users/login",
        "body": json.dumps({"email": email, "password": "wrong"}),
        "headers": {
            "Content-Type": "application/json",
            "X-Forwarded-For": ".".join(str(random.randint(1, 254)) for _ in range(4)),
        },
    }


if __name__ == "__main__":
    main()
