"""Compare Ostiary with LoopBack 3, with bare floors and with a hello world, on one PostgreSQL."""

import argparse
import shutil
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median

from . import load, stack
from .cpu import Sample, measure
from .data import fill, fill_loopback
from .kinds import GET, POST, ROWS
from .load import Request
from .stack import Server

LOOPBACK = "LoopBack 3"
APPLICATIONS = {
    "Ostiary": "wsgi:app",
    "floor": "benchmarks.floor:app",
    "floor, driver's cursor": "benchmarks.floor_cursor:app",
    "hello world": "benchmarks.hello:app",
}
# Requests before the rounds: node compiles what it has run some thousand times.
WARM_UP = {LOOPBACK: 3000}
# Somebody else's to-do, which nobody may be shown.
STRANGER = Request("GET /todos/1", "GET", "/api/todos/1", 0, 0)


def main() -> None:
    """Run all servers side by side, and print a table for each request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 short rounds instead of 9")
    parser.add_argument("--connections", type=int, default=8, help="8 by default")
    parser.add_argument("--threads", help="of each gunicorn worker; gunicorn.conf.py's by default")
    options = parser.parse_args()
    _check_machine()
    rounds, seconds = (3, 1.5) if options.quick else (9, 3)
    print(
        f"{stack.machine()}, two processes each,"
        f" {options.connections} connections, {rounds} rounds of {seconds} s"
    )
    settings = {"THREADS": options.threads} if options.threads else {}
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        postgresql = running.enter_context(stack.postgresql_server(folder))
        servers = {
            name: running.enter_context(server)
            for name, server in _contenders(folder, settings).items()
        }
        _check(servers)
        for request in GET, POST:
            _warm_up(servers, request)
            samples: dict[str, list[Sample]] = {name: [] for name in servers}
            for _ in range(rounds):
                for name, server in servers.items():
                    sample = measure(server, postgresql, [request], seconds, options.connections)
                    samples[name].append(sample)
            _report(request.name, samples)


def _check_machine() -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("LoopBack 3 needs node and npm, which are not on this machine.")
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    stack.install_loopback()


def _contenders(
    folder: Path, settings: dict[str, str]
) -> dict[str, AbstractContextManager[Server]]:
    theirs = stack.loopback_postgresql(folder, "loopback")
    fill_loopback(theirs, ROWS)
    ours = stack.postgresql(folder, "ostiary")
    fill(ours, ROWS, owners=1)
    return {LOOPBACK: stack.loopback(theirs, folder)} | {
        name: stack.gunicorn(target, ours, folder, settings)
        for name, target in APPLICATIONS.items()
    }


def _check(servers: dict[str, Server]) -> None:
    """Make sure that all who use the database do the same work, and check the owner."""
    served = {name: server.port for name, server in servers.items() if name != "hello world"}
    shown = [load.ask(port, GET) for port in served.values()]
    created = [load.ask(port, POST).keys() for port in served.values()]
    for name, *pair in zip(served, shown, created, strict=True):
        if pair != [shown[0], created[0]]:
            raise RuntimeError(f"{name} does not answer as LoopBack 3 does: {pair}")
    for name, port in served.items():
        if load.status(port, STRANGER) not in (401, 403, 404):
            raise RuntimeError(f"{name} shows somebody else's to-do")


def _warm_up(servers: dict[str, Server], request: Request) -> None:
    for name, server in servers.items():
        missing = WARM_UP.get(name, 200)
        while missing > 0:
            missing -= load.run(server.port, [request], 1).answered


def _report(title: str, samples: dict[str, list[Sample]]) -> None:
    """Print the medians, and the medians of the ratios to LoopBack 3 of each round."""
    print(f"\n{title:<26}{'per s':>8}{'ratio':>8}  {'of the rounds':<15}", end="")
    print(f"{'CPU µs':>8}{'ratio':>8}{'PostgreSQL µs':>15}")
    base = samples[LOOPBACK]
    for name, each in samples.items():
        rates = sorted(
            ours.run.rate / theirs.run.rate for ours, theirs in zip(each, base, strict=True)
        )
        cpu = median(theirs.cpu / ours.cpu for ours, theirs in zip(each, base, strict=True))
        spread = f"{rates[0]:.2f} to {rates[-1]:.2f}"
        print(
            f"{name:<26}{median(x.run.rate for x in each):>8.0f}{median(rates):>8.2f}  {spread:<15}"
            f"{median(x.cpu for x in each):>8.0f}{cpu:>8.2f}"
            f"{median(x.database for x in each):>15.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
