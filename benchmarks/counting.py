"""Count what requests do in the database: statements, and the work of these.

That is the pages that PostgreSQL reads, from memory or disk, or the steps of SQLite's virtual
machine.
"""

import importlib
import json
import os
import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import URL, create_engine, event, make_url

from .calls import environ, respond
from .kinds import filtered
from .load import Request

WARM_UP, COUNTED = 20, 50
# Rows of a page that is counted, and of those that lead to it.
SIZE, MOST = 20, 1000
# Returns the statements until now, and their work.
Counter = Callable[[], tuple[int, int]]


def count(
    environment: Mapping[str, str], requests: Sequence[Request]
) -> dict[str, tuple[float, float]]:
    """Import the application; return the statements of each request, and their pages or steps.

    Call it in a process of its own.
    """
    app, counter = _prepare(environment)
    return {request.name: _mean(app, request, counter) for request in requests}


def _prepare(environment: Mapping[str, str]) -> tuple[Any, Counter]:
    """Return the application on a database, and the counter of this."""
    os.environ.clear()
    os.environ.update(environment)
    url = make_url(environment["DATABASE_URL"])
    if url.get_backend_name() == "postgresql":
        counting = url.update_query_dict({"options": "-c pg_stat_statements.track=top"})
        os.environ["DATABASE_URL"] = counting.render_as_string(hide_password=False)
    app = importlib.import_module("wsgi").app
    return app, _pages(url) if url.get_backend_name() == "postgresql" else _steps(app)


def count_pages(
    environment: Mapping[str, str], lists: Mapping[str, tuple[str, dict[str, Any]]], rows: int
) -> dict[str, list[float]]:
    """Return the work of three pages of each list, by the caller's token and a filter.

    The first one, and the one after so many rows by a cursor and by `skip`. Call it in a process of
    its own.
    """
    app, counter = _prepare(environment)
    return {
        name: [
            _mean(app, request, counter)[1]
            for request in _pages_of(app, {"Authorization": value}, filter_, rows)
        ]
        for name, (value, filter_) in lists.items()
    }


def _pages_of(
    app: Any, headers: Mapping[str, str], filter_: dict[str, Any], rows: int
) -> list[Request]:
    def page(**more: Any) -> Request:
        path = filtered("/api/todos", **filter_, **more)
        return Request("", "GET", path, 1, 1, with_token=False, headers=headers)

    found: dict[str, Any] = {}
    for _ in range(rows // MOST):
        link = respond(app, environ(page(limit=MOST, **found), 1))["Link"]
        [text] = parse_qs(urlsplit(link.partition(">")[0]).query)["filter"]
        found = {"after": json.loads(text)["after"]}
    return [page(limit=SIZE, **begins) for begins in ({}, found, {"skip": rows})]


def _mean(app: Any, request: Request, counter: Counter) -> tuple[float, float]:
    for number in range(WARM_UP + COUNTED):
        if number == WARM_UP:
            before = counter()
        respond(app, environ(request, random.randint(request.first, request.last)))
    statements, work = (after - start for after, start in zip(counter(), before, strict=True))
    return round(statements / COUNTED, 1), round(work / COUNTED, 1)


def _pages(url: URL) -> Counter:
    """Return a function for the statements until now, and the pages that they have read."""
    connection = create_engine(url, isolation_level="AUTOCOMMIT").connect()
    connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def counter() -> tuple[int, int]:
        found = connection.exec_driver_sql(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(shared_blks_hit + shared_blks_read), 0)"
            " FROM pg_stat_statements WHERE query !~ '^(BEGIN|COMMIT|ROLLBACK)'"
        )
        return tuple(map(int, found.one()))  # type: ignore[return-value]

    return counter


def _steps(app: Any) -> Counter:
    """Return a function for the statements until now, and the steps that they have taken."""
    statements: list[str] = []
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    def note(statement: str) -> None:
        # A statement is traced again for each action of a foreign key.
        if statement.split()[0] not in {"BEGIN", "COMMIT", "ROLLBACK"}:
            statements.append(statement)

    def watch(connection: sqlite3.Connection, _record: Any) -> None:
        connection.set_progress_handler(step, 1)
        connection.set_trace_callback(note)

    with app.app_context():
        event.listen(app.extensions["sqlalchemy"].engine, "connect", watch)
    return lambda: (len(statements), steps[0])
