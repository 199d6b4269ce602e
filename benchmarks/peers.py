"""Compare Ostiary with LoopBack 3, with bare floors and with a hello world, on one PostgreSQL."""

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median

from . import load, stack
from .cpu import Sample, measure
from .data import fill, fill_loopback
from .kinds import GET, LIST, LOGIN, LONG_LIST, POST, RESET, ROWS, UNLIMITED
from .load import Request
from .stack import Server
from .tables import Table, publish

LOOPBACK = "LoopBack 3"
APPLICATIONS = {
    "Ostiary": "wsgi:app",
    "floor": "benchmarks.floor:app",
    "floor, driver's cursor": "benchmarks.floor_cursor:app",
    "hello world": "benchmarks.hello:app",
}
KINDS = {kind.name: kind for kind in (GET, LIST, LONG_LIST, POST, LOGIN, RESET)}
# Who is measured with what; the others have two views.
DATABASES = LOOPBACK, "Ostiary", "floor"
EVERYBODY = LOOPBACK, *APPLICATIONS
COMPARED = dict.fromkeys(KINDS, DATABASES) | dict.fromkeys((GET.name, POST.name), EVERYBODY)
# LoopBack 3 sends no mail: its signal is all that the application gets.
MAILS_APART = "Ostiary, mails by another process"
COMPARED[RESET.name] = *DATABASES, MAILS_APART
# LoopBack 3 refuses nobody.
SETTINGS = {**UNLIMITED, "APP_PASSWORD_HASHES": "4"}
# Requests to LoopBack before the rounds: node compiles what it has run some thousand times.
WARM_UP = 3000
COLUMNS = "per s", "ratio", "of the rounds", "CPU µs", "ratio", "PostgreSQL µs"
# Somebody else's to-do, which nobody may be shown.
STRANGER = Request("GET /todos/1", "GET", "/api/todos/1", 0, 0)


def main() -> None:
    """Run all servers side by side, and print a table for each request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds of 9; not kept")
    parser.add_argument("--connections", type=int, default=8, help="8 by default")
    parser.add_argument("--rounds", type=int, default=9, help="9 by default")
    options = parser.parse_args()
    _check_machine()
    rounds, seconds = (2, 1.5) if options.quick else (options.rounds, 2)
    how = (
        f"PostgreSQL; two processes each, {options.connections} connections, {rounds} rounds of"
        f" {seconds} s; node {stack.node_version()}"
    )
    publish("peers", how, _tables(rounds, seconds, options.connections), keep=not options.quick)


def _tables(rounds: int, seconds: float, connections: int) -> Iterator[Table]:
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        postgresql = running.enter_context(stack.postgresql_server(folder))
        servers = {
            name: running.enter_context(server) for name, server in _contenders(folder).items()
        }
        _check(servers)
        for request, names in COMPARED.items():
            served = {name: servers[name] for name in names}
            _warm_up(served, request)
            samples: dict[str, list[Sample]] = {name: [] for name in served}
            for _ in range(rounds):
                for name, server in served.items():
                    sample = measure(server, postgresql, [KINDS[request]], seconds, connections)
                    samples[name].append(sample)
            yield _table(request, samples)


def _check_machine() -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("LoopBack 3 needs node and npm, which are not on this machine.")
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    stack.install_loopback()


def _contenders(folder: Path) -> dict[str, AbstractContextManager[Server]]:
    theirs = stack.loopback_postgresql(folder, "loopback")
    fill_loopback(theirs, ROWS)
    ours = stack.postgresql(folder, "ostiary")
    fill(ours, ROWS, owners=1)
    servers = {
        name: stack.gunicorn(target, ours, folder, SETTINGS)
        for name, target in APPLICATIONS.items()
    }
    # A database of its own, so that the mails of its requests are not sent by another server.
    unsent = stack.postgresql(folder, "unsent")
    fill(unsent, ROWS, owners=1)
    apart = {**SETTINGS, "APP_OUTBOX_IN_PROCESS": "false"}
    servers[MAILS_APART] = stack.gunicorn("wsgi:app", unsent, folder, apart)
    return {LOOPBACK: stack.loopback(theirs, folder)} | servers


def _check(servers: dict[str, Server]) -> None:
    """Make sure that all who use the database do the same work, and check the owner."""
    others = "hello world", MAILS_APART
    served = {name: server.port for name, server in servers.items() if name not in others}
    cursor = "floor, driver's cursor"
    shown = [
        [load.ask(port, kind) for kind in (GET, *([] if name == cursor else [LIST]))]
        for name, port in served.items()
    ]
    created = [load.ask(port, POST).keys() for port in served.values()]
    for name, found, keys in zip(served, shown, created, strict=True):
        if (found, keys) != (shown[0][: len(found)], created[0]):
            raise RuntimeError(f"{name} does not answer as LoopBack 3 does: {found}, {keys}")
    for name, port in served.items():
        if load.status(port, STRANGER) not in (401, 403, 404):
            raise RuntimeError(f"{name} shows somebody else's to-do")


def _warm_up(servers: dict[str, Server], request: str) -> None:
    for name, server in servers.items():
        missing = WARM_UP if name == LOOPBACK and request != LOGIN.name else 20
        while missing > 0:
            missing -= load.run(server.port, [KINDS[request]], 1).answered


def _table(title: str, samples: dict[str, list[Sample]]) -> Table:
    """Return the medians, and the medians of the ratios to LoopBack 3 of each round."""
    table, base = Table(title, COLUMNS), samples[LOOPBACK]
    for name, each in samples.items():
        rates = sorted(
            ours.run.rate / theirs.run.rate for ours, theirs in zip(each, base, strict=True)
        )
        cpu = median(theirs.cpu / ours.cpu for ours, theirs in zip(each, base, strict=True))
        table.rows.append(
            [
                name,
                round(median(x.run.rate for x in each)),
                round(median(rates), 2),
                f"{rates[0]:.2f} to {rates[-1]:.2f}",
                round(median(x.cpu for x in each)),
                round(cpu, 2),
                round(median(x.database for x in each)),
            ]
        )
    return table


if __name__ == "__main__":
    main()
