"""Measure the REST layer against its floor, and by-id reads in full tables against empty ones."""

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from urllib.parse import quote

from . import load, stack
from .data import EMAIL, PASSWORD, fill
from .load import Request
from .stack import Server

FLOOR, OSTIARY = "benchmarks.floor:app", "wsgi:app"
# The floor hashes in all threads, and counts no attempts.
UNLIMITED = {"APP_THROTTLE_ENABLED": "false", "APP_PASSWORD_HASHES": "4"}
OWN_ROWS = 10_000
FILTER = quote(json.dumps({"where": {"isComplete": False}, "limit": 20}, separators=(",", ":")))

# Each with the least share of the floor's rate that it should reach.
AGAINST_FLOOR = (
    (Request("GET /todos/{id}", "GET", "/api/todos/{id}", 1, OWN_ROWS), 0.75),
    (Request("GET /todos?filter=", "GET", f"/api/todos?filter={FILTER}", 1, OWN_ROWS), 0.75),
    (Request("POST /todos", "POST", "/api/todos", 0, 0, {"title": "Buy milk"}), 0.7),
    (
        Request(
            "POST /users/login",
            "POST",
            "/api/users/login",
            0,
            0,
            {"email": EMAIL, "password": PASSWORD},
            with_token=False,
        ),
        None,
    ),
)
# A full table may cost no more than 1.2 times the time of an empty one.
AGAINST_EMPTY = 1 / 1.2


@dataclass(frozen=True)
class Plan:
    """How long and how often to measure, and how many rows are many."""

    seconds: int
    rounds: int
    many: int
    by_wrk: bool = False


FULL, QUICK = Plan(seconds=2, rounds=9, many=1_000_000), Plan(seconds=1, rounds=3, many=100_000)

# Makes a migrated, empty database of a name.
Database = Callable[[str], str]


def main() -> None:
    """Run everything on both databases, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter, with fewer rows")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="only this one")
    parser.add_argument("--wrk", action="store_true", help="let wrk make the load")
    options = parser.parse_args()
    if options.wrk and not load.WRK:
        parser.error("wrk is not on this machine")
    plan = replace(QUICK if options.quick else FULL, by_wrk=options.wrk)
    _introduce(plan)
    if options.database != "postgresql":
        with stack.temporary_folder() as folder:
            _measure("SQLite", lambda name: stack.sqlite(folder, name), folder, plan)
    if options.database != "sqlite":
        if not stack.has_postgresql():
            print("PostgreSQL is not on this machine: not measured")
            return
        with stack.temporary_folder() as folder, stack.postgresql_server(folder):
            _measure("PostgreSQL", lambda name: stack.postgresql(folder, name), folder, plan)


def _introduce(plan: Plan) -> None:
    names = "flask", "sqlalchemy", "flask-sqlalchemy", "marshmallow", "gunicorn", "psycopg"
    print(f"Python {platform.python_version()},", ", ".join(f"{x} {version(x)}" for x in names))
    print(
        f"{os.cpu_count()} cores; load by {'wrk' if plan.by_wrk else 'a Python loop'},"
        f" {load.CONNECTIONS} connections; {plan.rounds} pairs of {plan.seconds} s a line"
    )
    print(
        "PostgreSQL with fsync on; SQLite in WAL mode with synchronous=NORMAL, as Ostiary runs it"
    )


def _measure(title: str, database: Database, folder: Path, plan: Plan) -> None:
    print(f"\n{title:<28}{'floor/s':>9}{'ostiary/s':>11}{'ratio':>8}  {'of the pairs':<14}aim")
    url = database("small")
    fill(url, rows=OWN_ROWS, owners=1)
    with (
        stack.gunicorn(FLOOR, url, folder) as floor,
        stack.gunicorn(OSTIARY, url, folder, UNLIMITED) as ostiary,
    ):
        for request, aim in AGAINST_FLOOR:
            _check_alike(request, floor, ostiary)
            _compare(request.name, (floor, request), (ostiary, request), aim, plan)

    print(f"{'':<28}{'empty/s':>9}{f'{plan.many:,}/s':>11}")
    empty, full = database("few"), database("many")
    fill(empty, rows=1, owners=1)
    fill(full, rows=plan.many, owners=1000)
    one = Request("GET /todos/{id}", "GET", "/api/todos/{id}", 1, 1)
    any_of = Request("GET /todos/{id}", "GET", "/api/todos/{id}", 1, plan.many)
    with (
        stack.gunicorn(OSTIARY, empty, folder) as few,
        stack.gunicorn(OSTIARY, full, folder) as many,
    ):
        _compare(one.name, (few, one), (many, any_of), AGAINST_EMPTY, plan)


def _check_alike(request: Request, floor: Server, ostiary: Server) -> None:
    """Make sure that both do the same work: equal answers to reads, alike ones to the rest."""
    ours, theirs = load.ask(ostiary.port, request), load.ask(floor.port, request)
    if request.method == "POST":
        ours, theirs = list(ours), list(theirs)
    if ours != theirs:
        raise RuntimeError(f"{request.name} is not the same: {ours} and {theirs}")


def _compare(
    name: str,
    base: tuple[Server, Request],
    ours: tuple[Server, Request],
    aim: float | None,
    plan: Plan,
) -> None:
    """Measure two sides in turn, after a moment to warm up, and print the medians."""
    for side in base, ours:
        _rate(side, 1, plan)
    pairs = [
        (_rate(base, plan.seconds, plan), _rate(ours, plan.seconds, plan))
        for _ in range(plan.rounds)
    ]
    ratios = sorted(each / floor for floor, each in pairs)
    rates = [median(side) for side in zip(*pairs, strict=True)]
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    print(
        f"{name:<28}{rates[0]:>9.0f}{rates[1]:>11.0f}{median(ratios):>8.2f}  {spread:<14}"
        + (f"{aim:.2f}" if aim else "-"),
        flush=True,
    )


def _rate(side: tuple[Server, Request], seconds: float, plan: Plan) -> float:
    server, request = side
    return load.rate(server.port, request, seconds, plan.by_wrk)


if __name__ == "__main__":
    main()
