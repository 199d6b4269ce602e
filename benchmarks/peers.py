"""Compare Ostiary with other frameworks, with bare floors and a hello world, on one PostgreSQL.

PocketBase has its own SQLite.
"""

import argparse
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from . import load, pocketbase, stack
from .cpu import Sample, measure
from .data import fill, fill_loopback
from .kinds import (
    COUNTED_LIST,
    GET,
    INCLUDE,
    LIST,
    LOGIN,
    LONG_COUNTED_LIST,
    LONG_LIST,
    POST,
    RENAME,
    RESET,
    ROWS,
    STRANGER,
    UNLIMITED,
)
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
POCKETBASE = "PocketBase"
LISTS = LIST, LONG_LIST, COUNTED_LIST, LONG_COUNTED_LIST, INCLUDE
KINDS = {kind.name: kind for kind in (GET, *LISTS, POST, RENAME, LOGIN, RESET)}
# Who is measured with what; the floors and the others have some views.
DATABASES = LOOPBACK, "Ostiary", "floor"
FRAMEWORKS = LOOPBACK, "Ostiary", POCKETBASE, *OTHERS
EVERYBODY = LOOPBACK, POCKETBASE, *OTHERS, *APPLICATIONS
COMPARED = dict.fromkeys(KINDS, FRAMEWORKS)
COMPARED |= dict.fromkeys((LIST.name, LONG_LIST.name), (*FRAMEWORKS, "floor"))
COMPARED |= dict.fromkeys((GET.name, POST.name), EVERYBODY)
COMPARED[LOGIN.name] = *DATABASES, POCKETBASE
# LoopBack 3 sends no mail: its signal is all that the application gets.
MAILS_APART = "Ostiary, mails by another process"
COMPARED[RESET.name] = *DATABASES, MAILS_APART
# LoopBack 3 refuses nobody.
SETTINGS = {**UNLIMITED, "APP_PASSWORD_HASHES": "4"}
# Seconds under full load before the rounds: node compiles what has run for some time.
WARM_UP = 5
COLUMNS = "per s", "ratio", "of the rounds", "CPU µs", "ratio", "PostgreSQL µs"


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
                load.run(server.port, [server.form(KINDS[request])], WARM_UP, connections)
            samples: dict[str, list[Sample]] = {name: [] for name in served}
            for _ in range(rounds):
                for name, server in served.items():
                    form = server.form(KINDS[request])
                    sample = measure(server, postgresql, [form], seconds, connections)
                    samples[name].append(sample)
            yield _table(request, samples)


def _check_machine(chosen: Collection[str]) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("LoopBack 3 needs node and npm, which are not on this machine.")
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    stack.install_loopback()
    if {*OTHERS, POCKETBASE} & set(chosen):
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
    others[POCKETBASE] = pocketbase.serve(folder)
    return {LOOPBACK: stack.loopback(theirs, folder)} | others | servers


def _check(servers: dict[str, Server]) -> None:
    """Make sure that all who use a database do the same work, and check the owner."""
    served = {name: it for name, it in servers.items() if name not in ("hello world", MAILS_APART)}
    for kind in (GET, *LISTS, POST, RENAME):
        answers = {
            name: load.ask(server.port, server.form(kind))
            for name, server in served.items()
            if name in COMPARED[kind.name]
        }
        # Those of PocketBase have other ids and names.
        whole = [answer for name, answer in answers.items() if name != POCKETBASE]
        if kind in (GET, LIST):
            _require_equal(kind, whole)
        if kind is POST:
            _require_equal(kind, [answer.keys() for answer in whole])
        # A changed title is at random.
        if kind is not RENAME:
            _require_equal(kind, [_shown(answer) for answer in answers.values()])
    for name, server in served.items():
        if load.status(server.port, server.form(STRANGER)) not in (401, 403, 404):
            raise RuntimeError(f"{name} shows somebody else's to-do")


def _require_equal(kind: Request, answers: Sequence[Any]) -> None:
    if any(answer != answers[0] for answer in answers):
        raise RuntimeError(f"not all answer {kind.name} as the first one: {answers}")


def _shown(answer: Any) -> list[tuple[Any, ...]]:
    """Return what all contenders show of rows: title, state, and the owner's email if included."""
    return [
        (row["title"], row["isComplete"], _email(row.get("owner")))
        for row in pocketbase.rows(answer)
    ]


def _email(owner: Any) -> str | None:
    """Return the email of an included owner, of whom PocketBase has the id otherwise."""
    return owner["email"] if isinstance(owner, dict) else None


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
