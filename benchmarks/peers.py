"""Compare Ostiary with other frameworks, with bare floors and a hello world, on one PostgreSQL."""

import argparse
import shutil
import sys
from collections.abc import Collection, Iterator
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
OTHERS = {"Django REST framework": stack.django_rest, "FastAPI": stack.fast_api}
KINDS = {kind.name: kind for kind in (GET, LIST, LONG_LIST, POST, LOGIN, RESET)}
# Who is measured with what; the others have two views.
DATABASES = LOOPBACK, "Ostiary", "floor"
EVERYBODY = LOOPBACK, *OTHERS, *APPLICATIONS
COMPARED = dict.fromkeys(KINDS, DATABASES)
COMPARED |= dict.fromkeys((LIST.name, LONG_LIST.name), (*DATABASES, *OTHERS))
COMPARED |= dict.fromkeys((GET.name, POST.name), EVERYBODY)
# LoopBack 3 sends no mail: its signal is all that the application gets.
MAILS_APART = "Ostiary, mails by another process"
COMPARED[RESET.name] = *DATABASES, MAILS_APART
# LoopBack 3 refuses nobody.
SETTINGS = {**UNLIMITED, "APP_PASSWORD_HASHES": "4"}
# Seconds under full load before the rounds: node compiles what has run for some time.
WARM_UP = 5
COLUMNS = "per s", "ratio", "of the rounds", "CPU µs", "ratio", "PostgreSQL µs"
# Somebody else's to-do, which nobody may be shown.
STRANGER = Request("GET /todos/1", "GET", "/api/todos/1", 0, 0)


def main() -> None:
    """Run all servers side by side, and print a table for each request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short rounds of 9; not kept")
    parser.add_argument("--connections", type=int, default=8, help="8 by default")
    parser.add_argument("--rounds", type=int, default=9, help="9 by default")
    names = [*EVERYBODY, MAILS_APART]
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=names, help="and Ostiary; not kept"
    )
    options = parser.parse_args()
    chosen = ["Ostiary", *options.only] if options.only else names
    _check_machine(chosen)
    rounds, seconds = (2, 1.5) if options.quick else (options.rounds, 2)
    how = (
        f"PostgreSQL; two processes each, {options.connections} connections, {rounds} rounds of"
        f" {seconds} s; node {stack.node_version()}"
    )
    tables = _tables(chosen, rounds, seconds, options.connections)
    publish("peers", how, tables, keep=not (options.quick or options.only))


def _tables(
    chosen: Collection[str], rounds: int, seconds: float, connections: int
) -> Iterator[Table]:
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        postgresql = running.enter_context(stack.postgresql_server(folder))
        servers = {
            name: running.enter_context(server)
            for name, server in _contenders(folder).items()
            if name in chosen
        }
        _check(servers)
        for request, names in COMPARED.items():
            served = {name: servers[name] for name in names if name in servers}
            for server in served.values():
                load.run(server.port, [KINDS[request]], WARM_UP, connections)
            samples: dict[str, list[Sample]] = {name: [] for name in served}
            for _ in range(rounds):
                for name, server in served.items():
                    sample = measure(server, postgresql, [KINDS[request]], seconds, connections)
                    samples[name].append(sample)
            yield _table(request, samples)


def _check_machine(chosen: Collection[str]) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("LoopBack 3 needs node and npm, which are not on this machine.")
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    stack.install_loopback()
    if OTHERS.keys() & set(chosen):
        stack.install_others()


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
    others = {name: serve(ours, folder) for name, serve in OTHERS.items()}
    return {LOOPBACK: stack.loopback(theirs, folder)} | others | servers


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
            raise RuntimeError(f"{name} does not answer as the first one: {found}, {keys}")
    for name, port in served.items():
        if load.status(port, STRANGER) not in (401, 403, 404):
            raise RuntimeError(f"{name} shows somebody else's to-do")


def _table(title: str, samples: dict[str, list[Sample]]) -> Table:
    """Return the medians, and the medians of the ratios to the first contender of each round."""
    table, base = Table(title, COLUMNS), next(iter(samples.values()))
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
