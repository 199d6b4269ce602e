"""Count what requests do in the database: statements, and the work of these.

That is the pages that PostgreSQL reads, from memory or disk, or the steps of SQLite's virtual
machine.
"""

import importlib
import os
import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import URL, create_engine, event, make_url

from .calls import environ, respond
from .load import Request

WARM_UP, COUNTED = 20, 50
# Returns the statements until now, and their work.
Counter = Callable[[], tuple[int, int]]


def count(
    environment: Mapping[str, str], requests: Sequence[Request]
) -> dict[str, tuple[float, float]]:
    """Import the application; return the statements of each request, and their pages or steps.

    Call it in a process of its own.
    """
    os.environ.clear()
    os.environ.update(environment)
    url = make_url(environment["DATABASE_URL"])
    if url.get_backend_name() == "postgresql":
        counting = url.update_query_dict({"options": "-c pg_stat_statements.track=top"})
        os.environ["DATABASE_URL"] = counting.render_as_string(hide_password=False)
    app = importlib.import_module("wsgi").app
    counter = _pages(url) if url.get_backend_name() == "postgresql" else _steps(app)
    return {request.name: _mean(app, request, counter) for request in requests}


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
