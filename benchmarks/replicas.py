"""Measure what a standby that answers reads takes off the primary, and what a write costs more."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tests.support.databases import migrate
from tests.support.postgres import Cluster, cluster

from . import load, stack
from .cpu import cpu_seconds
from .data import fill
from .kinds import GET, LIST, POST, ROWS, UNLIMITED
from .load import Request
from .stack import Server
from .tables import Table, publish

ALONE, WITH_STANDBY = "the primary alone", "with a standby"
COLUMNS = "per s", "CPU µs", "primary µs", "standby µs"


def main() -> None:
    """Serve with and without a standby on one primary, and print a table for each request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds of 9; not kept")
    options = parser.parse_args()
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    rounds, seconds = (2, 1.5) if options.quick else (9, 2)
    how = (
        f"One primary and one standby of PostgreSQL on the same machine, replicated without"
        f" waiting; {load.CONNECTIONS} connections, medians of {rounds} rounds of {seconds} s"
    )
    publish("replicas", how, _tables(rounds, seconds), keep=not options.quick)


def _tables(rounds: int, seconds: float) -> Iterator[Table]:
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        primary, standby = running.enter_context(cluster()), running.enter_context(cluster())
        _replicate(primary, standby, folder)
        settings = {ALONE: {}, WITH_STANDBY: {"READ_DATABASE_URL": standby.url}}
        servers = {
            name: running.enter_context(
                stack.gunicorn("wsgi:app", primary.url, folder, {**UNLIMITED, **settings[name]})
            )
            for name in settings
        }
        databases = [_first_process(server) for server in (primary, standby)]
        for request in (GET, LIST, POST):
            yield _compare(request, servers, databases, rounds, seconds)


def _replicate(primary: Cluster, standby: Cluster, folder: Path) -> None:
    """Start both, with every commit on disk, and fill the tables."""
    primary.create()
    primary.start(fsync="on")
    migrate(primary.url, folder)
    fill(primary.url, ROWS, owners=1)
    standby.follow(primary)
    standby.start(fsync="on")


def _first_process(server: Cluster) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def _compare(
    request: Request,
    servers: dict[str, Server],
    databases: list[int],
    rounds: int,
    seconds: float,
) -> Table:
    samples: dict[str, list[list[float]]] = {name: [] for name in servers}
    for number in range(rounds + 1):
        for name, server in servers.items():
            sample = _measure(request, server, databases, seconds if number else 0.5)
            # The first round compiles statements and opens connections.
            if number:
                samples[name].append(sample)
    table = Table(request.name, COLUMNS)
    for name, found in samples.items():
        figures = [round(median(column)) for column in zip(*found, strict=True)]
        table.rows.append([name, *figures])
    return table


def _measure(request: Request, server: Server, databases: list[int], seconds: float) -> list[float]:
    """Return the rate, and the CPU time of a request in the service and in each database."""
    pids = [server.pid, *databases]
    before = [cpu_seconds(pid) for pid in pids]
    run = load.run(server.port, [request], seconds)
    used = [cpu_seconds(pid) - start for pid, start in zip(pids, before, strict=True)]
    return [run.rate, *(seconds * 1e6 / run.answered for seconds in used)]


if __name__ == "__main__":
    main()
