"""Measure how the cost of a request grows with the number of rows, of all kinds at once.

A request is counted too, which does not depend on the machine: the pages that PostgreSQL reads for
it, from memory or disk, and the steps of SQLite's virtual machine.
"""

import argparse
import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from statistics import median
from typing import Any

from sqlalchemy import Connection, create_engine

from . import stack
from .counting import COUNTED, SIZE, count, count_pages
from .cpu import Sample, measure
from .data import ADMIN, HEAVY, PASSWORD, WITH_PASSWORD, fill, token
from .kinds import OPEN, POST, filtered
from .load import REFUSED, Request
from .stack import Place, Server
from .tables import Table, publish

# Users, tokens, to-dos, events, throttles and audit records, each besides those of the benchmark.
SIZES, QUICK_SIZES = (0, 100_000, 1_000_000), (0, 10_000)
OWN = 100
# The most that a request may cost, in parts of its cost without other rows, and a page that is
# reached by cursors, in parts of the first one.
AIM = 1.2
# The page of a list that is compared with the first one, if there are as many rows.
DEEP = 10_000
# No request is refused, but each is counted.
SETTINGS = {
    f"APP_THROTTLES__{name}__limit": "1000000000"
    for name in ("login_identity", "login_address", "reset_email", "reset_address", "registration")
} | {"APP_PASSWORD_HASHES": "4"}


def requests(users: int) -> list[Request]:
    """Return what is measured: each about one of so many users at random."""
    email, with_password = "user{id}@example.com", min(users, WITH_PASSWORD)
    sessions = "/api/users/{id}/accessTokens"
    return [
        Request("GET /todos/{id}", "GET", "/api/todos/{id}", 1, users),
        # The first user has OWN more to-dos.
        Request("GET /todos?filter=, 20 of 100", "GET", OPEN, 1, 1),
        POST,
        Request("GET /users/{id}/accessTokens", "GET", sessions, 1, users),
        Request(
            "POST /users/login",
            "POST",
            "/api/users/login",
            1,
            with_password,
            {"email": email, "password": PASSWORD},
            with_token=False,
            statuses=(200, *REFUSED),
        ),
        Request(
            "POST /users/reset",
            "POST",
            "/api/users/reset",
            1,
            users,
            {"email": email},
            with_token=False,
        ),
        _as_heavy("GET /todos of many, first 20", filtered("/api/todos", limit=20)),
        _as_heavy(
            "GET /todos of many, newest 20", filtered("/api/todos", order="created DESC", limit=20)
        ),
        _as_heavy("GET /todos/count of many", "/api/todos/count"),
        _as_heavy("GET /users/{id}/accessTokens of many", f"/api/users/{users + 3}/accessTokens"),
        _as_admin("GET /users, by email", where={"email": email}),
        _as_admin("GET /users, by username", where={"username": email}),
        _as_admin("GET /users, first 20", limit=20),
    ]


def _as_admin(name: str, **filter_: Any) -> Request:
    return _as(ADMIN, name, filtered("/api/users", **filter_))


def _as_heavy(name: str, path: str) -> Request:
    return _as(HEAVY, name, path)


def _as(caller: int, name: str, path: str) -> Request:
    headers = {"Authorization": token(caller)}
    return Request(name, "GET", path, 1, OWN, with_token=False, headers=headers)


def main() -> None:
    """Measure on the databases, and print a table of costs and one of sizes for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, one round; not kept")
    parser.add_argument("--rounds", type=int, default=5, help="5 by default")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rows")
    options = parser.parse_args()
    sizes = QUICK_SIZES if options.quick else tuple(options.sizes)
    rounds, seconds = (1, 1) if options.quick else (options.rounds, 1.5)
    how = (
        f"{rounds} rounds of {seconds} s; pages and steps are means of {COUNTED} requests."
        f" The aim of the ratios is {AIM}"
    )
    tables = stack.on_each_database(
        lambda place: _measure(place, sizes, rounds, seconds),
        "shared_preload_libraries=pg_stat_statements",
    )
    publish("growth", how, tables, keep=not options.quick)


def _measure(place: Place, sizes: tuple[int, ...], rounds: int, seconds: float) -> Iterator[Table]:
    urls = {size: place.create(f"with_{size}") for size in sizes}
    for size, url in urls.items():
        fill(
            url, size + OWN, owners=size + OWN, extra=OWN, history=size, heavy=max(size // 10, OWN)
        )
    yield _sizes(place, urls[sizes[-1]], sizes[-1] + OWN)
    counts = {size: _count(url, size + OWN, place) for size, url in urls.items()}
    with ExitStack() as running:
        servers = {
            size: running.enter_context(stack.gunicorn("wsgi:app", url, place.folder, SETTINGS))
            for size, url in urls.items()
        }
        samples = _samples(servers, place.postgresql, rounds, seconds)
    unit = _unit(place)
    table = Table(
        place.title,
        [
            "statements",
            *(f"{unit}, {size:,}" for size in sizes),
            *(f"CPU µs, {size:,}" for size in sizes),
            *(f"CPU ratio, {size:,}" for size in sizes[1:]),
            *(f"time ratio, {size:,}" for size in sizes[1:]),
        ],
    )
    for name, of_sizes in samples.items():
        base, *others = ([_cpu(round_) for round_ in rounds] for rounds in of_sizes.values())
        rates = [[round_.run.rate for round_ in rounds] for rounds in of_sizes.values()]
        statements = counts[sizes[0]][name][0]
        table.rows.append(
            [
                name,
                statements,
                *(counts[size][name][1] for size in sizes),
                *(round(median(rates)) for rates in (base, *others)),
                *(_ratio(other, base) for other in others),
                *(_ratio(rates[0], other) for other in rates[1:]),
            ]
        )
    yield table
    yield _deep_pages(place, urls[sizes[-1]], sizes[-1])


def _cpu(sample: Sample) -> float:
    return sample.cpu + sample.database


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median of the ratios of each round."""
    return round(median(a / b for a, b in zip(ours, theirs, strict=True)), 2)


def _samples(
    servers: Mapping[int, Server], postgresql: int | None, rounds: int, seconds: float
) -> dict[str, dict[int, list[Sample]]]:
    """Measure each request with each number of rows in turn, after a moment to warm up."""
    by_size = {size: requests(size + OWN) for size in servers}
    found: dict[str, dict[int, list[Sample]]] = {}
    for place, request in enumerate(by_size[min(servers)]):
        rows = found[request.name] = {size: [] for size in servers}
        for number in range(rounds + 1):
            for size, server in servers.items():
                asked = [by_size[size][place]]
                sample = measure(server, postgresql, asked, seconds if number else 0.5)
                rows[size] += [sample] if number else []
    return found


def _deep_pages(place: Place, url: str, rows: int) -> Table:
    """Return the work of the first page of lists, and of one after many others.

    It adds an index, which the other requests do without.
    """
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("CREATE INDEX ix_todos_created ON todos (created)")
    most = min(DEEP * SIZE, rows // 2)
    # Counting the steps of SQLite makes a statement that skips many rows slow.
    environment = {**_environment(url, place), "APP_STATEMENT_TIMEOUT": "60"}
    lists = {
        "by id": (token(ADMIN), {}),
        "by created, with an index": (token(ADMIN), {"order": "created"}),
        "by created DESC": (token(ADMIN), {"order": "created DESC"}),
    }
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        work = pool.apply(count_pages, (environment, lists, most))
    page = f"page {most // SIZE:,}"
    table = Table(
        f"{place.title}, pages of to-dos",
        [f"{_unit(place)}, page 1", f"{page}, after", "ratio", f"{page}, skip", "ratio"],
    )
    for name, (first, *others) in work.items():
        ratios = [figure for other in others for figure in (other, round(other / first, 2))]
        table.rows.append([name, first, *ratios])
    return table


def _unit(place: Place) -> str:
    return "steps" if place.postgresql is None else "pages"


def _environment(url: str, place: Place) -> dict[str, str]:
    environment = {**stack.default_environment(url, place.folder), **SETTINGS}
    return {**environment, "APP_OUTBOX_IN_PROCESS": "false"}


def _count(url: str, users: int, place: Place) -> dict[str, tuple[float, float]]:
    """Return the statements of each request, and their pages or steps, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(count, (_environment(url, place), requests(users)))


def _sizes(place: Place, url: str, rows: int) -> Table:
    """Return the bytes of each table for one of its rows, and those of its indexes."""
    table = Table(f"{place.title}, bytes a row", ["table", "indexes", "all"])
    with create_engine(url).connect() as connection:
        find = _sqlite_sizes if place.postgresql is None else _postgresql_sizes
        for name, heap, indexes in find(connection):
            if heap > rows:
                figures = round(heap / rows), round(indexes / rows)
                table.rows.append([name, *figures, sum(figures)])
    return table


def _postgresql_sizes(connection: Connection) -> list[Any]:
    return list(
        connection.exec_driver_sql(
            "SELECT relname, pg_table_size(relid), pg_indexes_size(relid)"
            " FROM pg_stat_user_tables ORDER BY relname"
        )
    )


def _sqlite_sizes(connection: Connection) -> list[Any]:
    return list(
        connection.exec_driver_sql(
            "SELECT tbl_name, sum(pgsize) FILTER (WHERE type = 'table'),"
            " coalesce(sum(pgsize) FILTER (WHERE type = 'index'), 0)"
            " FROM dbstat('main', 1) JOIN sqlite_schema USING (name) GROUP BY 1 ORDER BY 1"
        )
    )


if __name__ == "__main__":
    main()
