"""Measure logins that come at once or are too many, and how long reads take meanwhile."""

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, quantiles

from . import stack
from .data import PASSWORD, fill
from .kinds import GET
from .load import REFUSED, Request, Run, burst, paced
from .stack import Place
from .tables import Table, publish

ROWS = 1000
# Requests a second, spread over as many connections.
READS, READERS = 100, 8
# Logins that are sent at the same moment.
BURST = 200
# Logins a second that are too many, spread over as many connections.
FLOOD, ATTACKERS = 200, 32
# The share of what is served of a burst that arrives at random.
SHARE = 0.4
# With a trusted proxy, the benchmark can claim to be many addresses.
SETTINGS = {"APP_TRUSTED_PROXIES": "1"}
READ = replace(GET, last=ROWS)
LOGIN = Request(
    "POST /users/login",
    "POST",
    "/api/users/login",
    # The first user is the one whose password is guessed.
    2,
    ROWS,
    {"email": "user{id}@example.com", "password": PASSWORD},
    with_token=False,
    statuses=(200, 401, *REFUSED),
    headers={"X-Forwarded-For": "{address}"},
)
OF_ONE_CLIENT = replace(LOGIN, headers={"X-Forwarded-For": "203.0.113.1"})
# Wrong passwords, half of them for users there are, each from an address of its own.
ATTACKS = [
    replace(LOGIN, last=(1 << 24) - 1, body={"email": email, "password": "wrong"})
    for email in ("user1@example.com", "user{id}@example.org")
]
# Sends logins to a port for so many seconds, given how many a second were served of a burst.
Load = Callable[[int, float, float], Run]
COLUMNS = (
    "read, quiet 99 %",
    "read 99 %",
    "ratio",
    "login 50 %",
    "login 99 %",
    "last login",
    "answers to logins",
)


def main() -> None:
    """Measure on the databases, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds of 7; not kept")
    options = parser.parse_args()
    rounds, seconds = (2, 6) if options.quick else (7, 10)
    how = (
        f"Milliseconds; {rounds} rounds of {seconds} s: {READS} {READ.name} a second, alone and"
        f" with logins"
    )
    tables = stack.on_each_database(lambda place: _measure(place, rounds, seconds))
    publish("flood", how, tables, keep=not options.quick)


@dataclass
class Row:
    """What the rounds measured with one load: the 99th percentiles of reads, and the logins."""

    quiet: list[float] = field(default_factory=list)
    loaded: list[float] = field(default_factory=list)
    logins: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def _send_burst(port: int, _seconds: float, _capacity: float) -> Run:
    return burst(port, LOGIN, BURST)


def _send_burst_of_one_client(port: int, _seconds: float, _capacity: float) -> Run:
    return burst(port, OF_ONE_CLIENT, BURST)


def _send_at_random(port: int, seconds: float, capacity: float) -> Run:
    return paced(port, [LOGIN], SHARE * capacity, seconds, ATTACKERS, at_random=True)


def _send_flood(port: int, seconds: float, _capacity: float) -> Run:
    return paced(port, ATTACKS, FLOOD, seconds, ATTACKERS)


LOADS: Mapping[str, Load] = {
    f"{BURST} at once, of as many clients": _send_burst,
    f"{BURST} at once, of one client": _send_burst_of_one_client,
    f"at random, {SHARE:.0%} of what is served of a burst": _send_at_random,
    f"{FLOOD} a second, wrong passwords": _send_flood,
}


def _measure(place: Place, rounds: int, seconds: float) -> Iterator[Table]:
    """Measure with each load in turn."""
    url, rows = place.create("ostiary"), {name: Row() for name in LOADS}
    fill(url, ROWS, owners=ROWS)
    with stack.gunicorn("wsgi:app", url, place.folder, SETTINGS) as server:
        _reads(server.port, 1)
        capacity = burst(server.port, LOGIN, BURST).rate
        for _ in range(rounds):
            for name, load in LOADS.items():
                _measure_one(server.port, seconds, load, capacity, rows[name])
    yield Table(place.title, COLUMNS, [_figures(name, row) for name, row in rows.items()])


def _measure_one(port: int, seconds: float, load: Load, capacity: float, row: Row) -> None:
    """Measure reads alone, and together with logins that another process sends."""
    row.quiet.append(_reads(port, seconds))
    with multiprocessing.Pool(1) as pool:
        sent = pool.apply_async(load, (port, seconds, capacity))
        time.sleep(0.1)
        row.loaded.append(_reads(port, seconds))
        logins = sent.get()
    row.logins += logins.times[LOGIN.name]
    row.statuses += logins.statuses


def _reads(port: int, seconds: float) -> float:
    """Return the 99th percentile of the milliseconds that reads take."""
    return _percentiles(paced(port, [READ], READS, seconds, READERS).times[READ.name])[98]


def _percentiles(times: Sequence[float]) -> list[float]:
    return quantiles([time * 1000 for time in times], n=100)


def _figures(name: str, row: Row) -> Sequence[object]:
    """Return the medians of the rounds and of their ratios, and the times of all logins."""
    ratio = median(after / before for before, after in zip(row.quiet, row.loaded, strict=True))
    logins = _percentiles(row.logins)
    reads = median(row.quiet), median(row.loaded), ratio
    times = logins[49], logins[98], max(row.logins) * 1000
    answers = ", ".join(f"{n} x {status}" for status, n in sorted(row.statuses.items()))
    return [name, *(round(time, 1) for time in (*reads, *times)), answers]


if __name__ == "__main__":
    main()
