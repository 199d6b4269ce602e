"""Run several calls at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Connection, text
from werkzeug.test import TestResponse

Call = Callable[[FlaskClient], TestResponse]


def at_once(app: Flask, *calls: Call) -> list[TestResponse]:
    """Run each call on a thread and with a client of its own, all released together."""
    barrier = Barrier(len(calls))

    def run(call: Call) -> TestResponse:
        client = app.test_client()
        barrier.wait(timeout=60)
        answer = call(client)
        # As clients do that read Retry-After: on a busy machine SQLite may refuse a writer, and
        # PostgreSQL may end a transaction after several deadlocks.
        return call(client) if is_busy(answer) else answer

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def is_busy(answer: Any) -> bool:
    """Return True if a call's answer is that the database was busy; it has changed nothing then."""
    is_error = isinstance(answer, TestResponse) and answer.status_code == 503 and answer.is_json
    return is_error and answer.json["error"].get("code") in (None, "DATABASE_TIMEOUT")


def waiting(connection: Connection) -> int:
    """Count the sessions of a database of PostgreSQL that wait for a lock."""
    connection.rollback()
    waits = "wait_event_type = 'Lock' AND datname = current_database()"
    return int(connection.scalar(text(f"SELECT count(*) FROM pg_stat_activity WHERE {waits}")) or 0)
