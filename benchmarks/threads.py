"""Measure Ostiary with different numbers of processes and threads, alone and in a mix of requests.

The mix has logins, which need the processor, and calls of a slow remote service, which need a
thread for as long as they take.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from statistics import median, quantiles

from . import stack
from .connector import SLOW, remote
from .cpu import Sample, measure
from .data import fill
from .kinds import GET, LOGIN, POST, ROWS, SLOW_CALL, data_sources
from .stack import Server
from .tables import Table, publish

# Processes and threads of each.
SHAPES = [(2, 1), (2, 2), (2, 4), (4, 2), (2, 8)]
CONNECTIONS = [4, 16, 64]
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
    how = (
        f"{rounds} rounds of {seconds} s; the mix: 86 % {GET.name}, 12 % {POST.name}, 1 % logins,"
        f" 1 % calls of a remote service that takes {SLOW} s. The times are of {GET.name}"
    )
    publish("threads", how, _tables(rounds, seconds), keep=not options.quick)


def _tables(rounds: int, seconds: float) -> Iterator[Table]:
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        postgresql = running.enter_context(stack.postgresql_server(folder))
        url = stack.postgresql(folder, "ostiary")
        fill(url, ROWS, owners=1)
        sources = data_sources(running.enter_context(remote()))
        servers = {
            (processes, threads): running.enter_context(
                stack.gunicorn("wsgi:app", url, folder, _settings(processes, threads) | sources)
            )
            for processes, threads in SHAPES
        }
        for connections in CONNECTIONS:
            yield _compare(servers, postgresql, connections, rounds, seconds)


def _settings(processes: int, threads: int) -> dict[str, str]:
    return {"WEB_CONCURRENCY": str(processes), "THREADS": str(threads)}


def _compare(
    servers: dict[tuple[int, int], Server],
    postgresql: int,
    connections: int,
    rounds: int,
    seconds: float,
) -> Table:
    """Measure all servers in turn, round by round, and return the medians."""
    samples: dict[tuple[int, int], list[tuple[Sample, Sample]]] = {shape: [] for shape in servers}
    for _ in range(rounds):
        for shape, server in servers.items():
            alone, mixed = (
                measure(server, postgresql, requests, seconds, connections)
                for requests in ([GET], MIX)
            )
            samples[shape].append((alone, mixed))
    columns = ["per s", "CPU µs", "50 % ms", "99 % ms"]
    mixed = [f"{column}, in the mix" for column in (*columns, "refused")]
    table = Table(f"{connections} connections", [*columns, *mixed])
    for (processes, threads), each in samples.items():
        figures = [_medians(column) for column in zip(*each, strict=True)]
        refused = sum(sample.run.refused for _, sample in each)
        table.rows.append([f"{processes} x {threads}", *chain(*figures), refused])
    return table


def _medians(samples: Sequence[Sample]) -> list[float]:
    """Return the medians: of rates, of CPU times, and of the times that GET took."""
    cuts = [quantiles(sample.run.times[GET.name], n=100) for sample in samples]
    return [
        round(median(sample.run.rate for sample in samples)),
        round(median(sample.cpu for sample in samples)),
        *(round(median(cut[i] for cut in cuts) * 1000, 1) for i in (49, 98)),
    ]


if __name__ == "__main__":
    main()
