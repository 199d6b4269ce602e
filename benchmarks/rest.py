"""Measure what requests cost against a floor: the same by bare Flask views and SQL by hand."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from . import load, stack
from .connector import remote
from .cpu import Sample, measure
from .data import fill
from .kinds import CALL, GET, LIST, LOGIN, POST, RESET, ROWS, UNLIMITED, data_sources
from .load import Request
from .stack import Place, Server
from .tables import Table, publish

# The floor hashes and calls in all threads, and refuses nobody.
SETTINGS = {**UNLIMITED, "APP_PASSWORD_HASHES": "4", "APP_DATA_SOURCE_CALLS": "4"}
# Each with the least share of the floor's rate that it should reach.
AIMS: tuple[tuple[Request, float | None], ...] = (
    (GET, 0.75),
    (LIST, 0.75),
    (POST, 0.7),
    (replace(LOGIN, statuses=(200,)), None),
    (RESET, None),
    (CALL, None),
)
COLUMNS = (
    "floor/s",
    "Ostiary/s",
    "ratio",
    "of the pairs",
    "aim",
    "floor CPU µs",
    "Ostiary CPU µs",
    "ratio",
    "PostgreSQL µs",
)


class Pair(NamedTuple):
    """What one round measured of both."""

    floor: Sample
    ours: Sample


def main() -> None:
    """Run everything on the databases, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 short pairs a line; not kept")
    parser.add_argument("--rounds", type=int, default=9, help="9 by default")
    options = parser.parse_args()
    rounds, seconds = (3, 1) if options.quick else (options.rounds, 2)
    how = f"{load.CONNECTIONS} connections; {rounds} pairs of {seconds} s a line"
    tables = stack.on_each_database(lambda place: _measure(place, rounds, seconds))
    publish("rest", how, tables, keep=not options.quick)


def _measure(place: Place, rounds: int, seconds: float) -> Iterator[Table]:
    url, table = place.create("ostiary"), Table(place.title, COLUMNS)
    fill(url, ROWS, owners=1)
    with ExitStack() as running:
        settings = {**SETTINGS, **data_sources(running.enter_context(remote()))}
        floor, ostiary = (
            running.enter_context(stack.gunicorn(target, url, place.folder, settings))
            for target in ("benchmarks.floor:app", "wsgi:app")
        )
        for request, aim in AIMS:
            _check_alike(request, floor, ostiary)
            pairs = list(_pairs(request, floor, ostiary, place.postgresql, rounds, seconds))
            table.rows.append(_row(request, aim, pairs))
    yield table


def _check_alike(request: Request, floor: Server, ostiary: Server) -> None:
    """Make sure that both do the same work: equal answers to reads, alike ones to the rest."""
    ours, theirs = load.ask(ostiary.port, request), load.ask(floor.port, request)
    if request.method == "POST":
        ours, theirs = list(ours), list(theirs)
    if ours != theirs:
        raise RuntimeError(f"{request.name} is not the same: {ours} and {theirs}")


def _pairs(
    request: Request,
    floor: Server,
    ostiary: Server,
    postgresql: int | None,
    rounds: int,
    seconds: float,
) -> Iterator[Pair]:
    """Measure both in turn, after a moment to warm up."""
    for side in floor, ostiary:
        load.run(side.port, [request], 1)
    for _ in range(rounds):
        yield Pair(*(measure(stack, postgresql, [request], seconds) for stack in (floor, ostiary)))


def _row(request: Request, aim: float | None, pairs: list[Pair]) -> list[object]:
    """Return the medians, and those of the ratios of each pair."""
    floors, ours = zip(*pairs, strict=True)
    ratios = sorted(pair.ours.run.rate / pair.floor.run.rate for pair in pairs)
    cpu = median(pair.floor.cpu / pair.ours.cpu for pair in pairs)
    return [
        request.name,
        *(round(median(measured.run.rate for measured in side)) for side in (floors, ours)),
        round(median(ratios), 2),
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        aim,
        *(round(median(measured.cpu for measured in side)) for side in (floors, ours)),
        round(cpu, 2),
        round(median(measured.database for measured in ours)),
    ]


if __name__ == "__main__":
    main()
