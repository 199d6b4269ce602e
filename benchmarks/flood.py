"""Measure how long reads take while logins flood in from many addresses, against a quiet time."""

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median, quantiles

from . import stack
from .data import EMAIL, fill
from .kinds import GET
from .load import REFUSED, Request, paced
from .stack import Place
from .tables import Table, publish

ROWS = 1000
# Requests a second, spread over as many connections; one core computes 50 hashes a second.
READS, READERS = 100, 8
LOGINS, ATTACKERS = 200, 32
# With a trusted proxy, the benchmark can claim to be many addresses.
SERVERS = {
    "half of the threads": {"APP_TRUSTED_PROXIES": "1"},
    "all threads": {"APP_TRUSTED_PROXIES": "1", "APP_PASSWORD_HASHES": "4"},
}
READ = replace(GET, last=ROWS)
# Wrong passwords, half of them for a user there is, each from an address of its own.
ATTACKS = [
    Request(
        "POST /users/login",
        "POST",
        "/api/users/login",
        0,
        (1 << 24) - 1,
        {"email": email, "password": "wrong"},
        with_token=False,
        statuses=(401, *REFUSED),
        headers={"X-Forwarded-For": "{address}"},
    )
    for email in (EMAIL, "user{id}@example.org")
]
COLUMNS = (
    "quiet 50 %",
    "quiet 99 %",
    "flood 50 %",
    "flood 99 %",
    "ratio of 99 %",
    "answers to logins",
)


def main() -> None:
    """Measure on the databases, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds of 7; not kept")
    options = parser.parse_args()
    rounds, seconds = (2, 3) if options.quick else (7, 5)
    how = (
        f"Milliseconds; {rounds} rounds of {seconds} s: {READS} {READ.name} a second, alone and"
        f" with {LOGINS} POST /users/login a second"
    )
    tables = stack.on_each_database(lambda place: _measure(place, rounds, seconds))
    publish("flood", how, tables, keep=not options.quick)


@dataclass
class Row:
    """What the rounds measured of one server: percentiles of reads, and answers to logins."""

    quiet: list[tuple[float, float]] = field(default_factory=list)
    flood: list[tuple[float, float]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def _measure(place: Place, rounds: int, seconds: float) -> Iterator[Table]:
    """Run a server of each kind, and measure them in turn."""
    url, rows = place.create("ostiary"), {name: Row() for name in SERVERS}
    fill(url, ROWS, owners=1)
    with ExitStack() as running:
        ports = {
            name: running.enter_context(stack.gunicorn("wsgi:app", url, place.folder, each)).port
            for name, each in SERVERS.items()
        }
        for port in ports.values():
            _reads(port, 1)
        for _ in range(rounds):
            for name, port in ports.items():
                _measure_one(port, seconds, rows[name])
    yield Table(place.title, COLUMNS, [_figures(name, row) for name, row in rows.items()])


def _measure_one(port: int, seconds: float, row: Row) -> None:
    """Measure reads alone, and during a flood that another process makes."""
    row.quiet.append(_reads(port, seconds))
    with multiprocessing.Pool(1) as pool:
        logins = pool.apply_async(paced, (port, ATTACKS, LOGINS, seconds + 1, ATTACKERS))
        time.sleep(0.5)
        row.flood.append(_reads(port, seconds))
        row.statuses += logins.get().statuses


def _reads(port: int, seconds: float) -> tuple[float, float]:
    """Return the median and the 99th percentile of the milliseconds that reads take."""
    times = paced(port, [READ], READS, seconds, READERS).times[READ.name]
    cuts = quantiles([each * 1000 for each in times], n=100)
    return cuts[49], cuts[98]


def _figures(name: str, row: Row) -> Sequence[object]:
    """Return the medians of the rounds, and of their ratios."""
    ratio = median(after[1] / before[1] for before, after in zip(row.quiet, row.flood, strict=True))
    percentiles = [
        median(each[i] for each in side) for side in (row.quiet, row.flood) for i in (0, 1)
    ]
    answers = ", ".join(f"{n} x {status}" for status, n in sorted(row.statuses.items()))
    return [name, *(round(each, 1) for each in (*percentiles, ratio)), answers]


if __name__ == "__main__":
    main()
