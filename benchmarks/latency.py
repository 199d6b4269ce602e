"""Measure how long requests take at fixed rates, from the moment at which each is due."""

import argparse
from collections.abc import Iterator, Sequence
from statistics import quantiles
from typing import Any

from . import load, stack
from .data import fill
from .kinds import GET, LIST, POST, ROWS
from .stack import Place
from .tables import Table, publish

# Requests a second, of all kinds together.
RATES = 50, 100, 200, 400
# Of ten requests.
MIX = [GET] * 7 + [LIST] * 2 + [POST]
COLUMNS = "a second", "50 %", "90 %", "99 %", "99.9 %", "most"


def main() -> None:
    """Measure on the databases, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 s for each rate; not kept")
    options = parser.parse_args()
    seconds = 3 if options.quick else 20
    how = (
        f"Milliseconds; {load.CONNECTIONS} connections, {seconds} s for each rate of a mix of"
        f" 70 % {GET.name}, 20 % {LIST.name} and 10 % {POST.name}"
    )
    tables = stack.on_each_database(lambda place: _measure(place, seconds))
    publish("latency", how, tables, keep=not options.quick)


def _measure(place: Place, seconds: float) -> Iterator[Table]:
    url, table = place.create("ostiary"), Table(place.title, COLUMNS)
    fill(url, ROWS, owners=1)
    with stack.gunicorn("wsgi:app", url, place.folder) as server:
        load.run(server.port, MIX, 1)
        for rate in RATES:
            times = load.paced(server.port, MIX, rate, seconds).times
            table.rows += (
                [request.name, rate, *_percentiles(times[request.name])]
                for request in (GET, LIST, POST)
            )
    yield table


def _percentiles(seconds: Sequence[float]) -> list[Any]:
    """Return milliseconds; None for a percentile that there are too few for."""
    cuts = quantiles(seconds, n=1000, method="inclusive")
    wanted = {499: 2, 899: 10, 989: 100, 998: 1000}
    found = [cuts[place] if len(seconds) >= least else None for place, least in wanted.items()]
    return [value and round(value * 1000, 1) for value in [*found, max(seconds)]]


if __name__ == "__main__":
    main()
