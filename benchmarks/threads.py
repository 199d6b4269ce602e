"""Measure Ostiary with different numbers of processes and threads, alone and in a mix of requests.

The mix has logins, which need the processor, and calls of a slow remote service, which need a
thread for as long as they take.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median, quantiles

from . import stack
from .connector import SLOW, remote
from .data import EMAIL, PASSWORD, fill
from .load import Request
from .peers import GET, POST, ROWS, Sample, measure
from .stack import Server

# Processes and threads of each.
SHAPES = [(2, 1), (2, 2), (2, 4), (4, 2), (2, 8)]
CONNECTIONS = [4, 16, 64]
LOGIN = Request(
    "POST /users/login",
    "POST",
    "/api/users/login",
    0,
    0,
    {"email": EMAIL, "password": PASSWORD},
    with_token=False,
    refusable=True,
)
SLOW_CALL = Request("GET /remote/slow", "GET", "/api/remote/slow", 0, 0, refusable=True)
# Of a hundred requests.
MIX = [GET] * 86 + [POST] * 12 + [LOGIN] + [SLOW_CALL]


def main() -> None:
    """Run a server of each shape, and print a table for each number of connections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round instead of 5")
    options = parser.parse_args()
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    rounds, seconds = (1, 2) if options.quick else (5, 3)
    print(
        f"{stack.machine()}, {rounds} rounds of {seconds} s\n"
        f"the mix: 86 % {GET.name}, 12 % {POST.name}, 1 % logins,"
        f" 1 % calls of a remote service that takes {SLOW} s"
    )
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        postgresql = running.enter_context(stack.postgresql_server(folder))
        url = stack.postgresql(folder, "ostiary")
        fill(url, ROWS, owners=1)
        sources = _data_sources(running.enter_context(remote()))
        servers = {
            (processes, threads): running.enter_context(
                stack.gunicorn("wsgi:app", url, folder, _settings(processes, threads, sources))
            )
            for processes, threads in SHAPES
        }
        for connections in CONNECTIONS:
            _compare(servers, postgresql, connections, rounds, seconds)


def _data_sources(base_url: str) -> str:
    """Return the settings of a public data source with one slow function."""
    operation = {"template": {"method": "GET", "url": "/slow"}, "functions": {"slow": []}}
    source = {"connector": "rest", "baseURL": base_url, "public": True, "operations": [operation]}
    return json.dumps({"remote": source})


def _settings(processes: int, threads: int, data_sources: str) -> dict[str, str]:
    return {
        "WEB_CONCURRENCY": str(processes),
        "THREADS": str(threads),
        "APP_DATA_SOURCES": data_sources,
    }


def _compare(
    servers: dict[tuple[int, int], Server],
    postgresql: int,
    connections: int,
    rounds: int,
    seconds: float,
) -> None:
    """Measure all servers in turn, round by round, and print the medians."""
    samples: dict[tuple[int, int], list[tuple[Sample, Sample]]] = {shape: [] for shape in servers}
    for _ in range(rounds):
        for shape, server in servers.items():
            alone, mixed = (
                measure(server, postgresql, requests, seconds, connections)
                for requests in ([GET], MIX)
            )
            samples[shape].append((alone, mixed))
    print(f"\n{f'{connections} connections':<20}{'GET alone':^34}{'in the mix':^42}")
    head = f"{'per s':>8}{'CPU µs':>8}{'50 % ms':>9}{'99 % ms':>9}"
    print(f"{'processes x threads':<20}{head}{head}{'refused':>9}")
    for (processes, threads), each in samples.items():
        alone, mixed = (_format(column) for column in zip(*each, strict=True))
        refused = sum(sample.run.refused for _, sample in each)
        print(f"{f'{processes} x {threads}':<20}{alone}{mixed}{refused:>9}", flush=True)


def _format(samples: Sequence[Sample]) -> str:
    """Write the medians: of rates, of CPU times, and of the times that GET took."""
    rate = median(sample.run.rate for sample in samples)
    cpu = median(sample.cpu for sample in samples)
    cuts = [quantiles(sample.run.times[GET.name], n=100) for sample in samples]
    half, most = (median(each[i] for each in cuts) * 1000 for i in (49, 98))
    return f"{rate:>8.0f}{cpu:>8.0f}{half:>9.1f}{most:>9.1f}"


if __name__ == "__main__":
    main()
