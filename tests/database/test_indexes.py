"""Statements find their rows by an index, however many others there are."""

import json
import re
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import text

from app import throttles
from app.access.roles import grant
from app.database.session import db
from app.outbox import claims, maintenance
from app.users.sessions.tokens import purge_tokens
from tests.conftest import PASSWORD
from tests.support.databases import connected
from tests.support.rows import statements

# Tables with a row for each role.
SMALL = {"roles"}


def scans(url, sent):
    """Return the statements that read all rows of a table, with SQLite's plan."""
    found = {}
    with connected(url) as connection:
        for statement in sent:
            if statement.split()[0] not in {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}:
                continue
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
            plan = [row.detail for row in rows]
            if any(each.startswith("SCAN ") and not _is_small(each) for each in plan):
                found[statement] = plan
    return found


def _is_small(step):
    """Tell whether a step reads a subquery, or a table without many rows."""
    table = step.split()[1]
    return step == "SCAN CONSTANT ROW" or table in SMALL or table not in db.metadata.tables


def where(**conditions):
    return {"filter": json.dumps({"where": conditions})}


USER = {"email": "ada@example.com", "password": PASSWORD}
CALLS = {
    "a user by email": ("GET", "/users", {"query_string": where(email="ada@example.com")}),
    "a user by username": ("GET", "/users", {"query_string": where(username="ada")}),
    "users of a realm": ("GET", "/users", {"query_string": where(realm="acme")}),
    "registration": ("POST", "/users", {"json": {**USER, "email": "bob@example.com"}}),
    "login": ("POST", "/users/login", {"json": USER}),
    "login by username": (
        "POST",
        "/users/login",
        {"json": {"username": "ada", "password": PASSWORD}},
    ),
    "reset": ("POST", "/users/reset", {"json": {"email": "ada@example.com"}}),
    "sessions": ("GET", "/users/1/accessTokens", {}),
    "records of a user": ("GET", "/users/1/audit", {}),
    "to-dos of a user": ("GET", "/users/1/todos", {}),
    "a to-do": ("GET", "/todos/1", {}),
    "deletion of a user": ("DELETE", "/users/1", {}),
}


@pytest.mark.only_on("sqlite")
def test_requests_scan_no_table(shared_app, database_url, password_hash, secrets):
    app = shared_app(THROTTLE_ENABLED=True)
    client = app.test_client()
    for email in ("ada@example.com", "admin@example.com"):
        client.post("/api/users", json={**USER, "email": email, "username": email[:3]})
    with app.app_context():
        grant(2, "admin")
    login = client.post("/api/users/login", json={**USER, "email": "admin@example.com"}).json
    secrets.append(login["id"])
    headers = {"Authorization": login["id"]}
    client.post("/api/users/1/todos", json={"title": "x"}, headers=headers)

    with statements(app) as sent:
        for name, (method, path, arguments) in CALLS.items():
            response = client.open(f"/api{path}", method=method, headers=headers, **arguments)
            assert response.status_code == 200, (name, response.text)
            secrets.extend(filter(None, [response.json.get("id") if "login" in name else None]))

    assert len(sent) > 2 * len(CALLS)
    assert scans(database_url, sent) == {}


@pytest.mark.only_on("sqlite")
def test_background_work_scans_no_table(app, database_url):
    with statements(app) as sent, app.app_context():
        claims.next_attempt()
        claims.claim_due()
        maintenance.purge(timedelta(days=7))
        purge_tokens()
        throttles.purge_batch()

    assert len(sent) >= 5
    assert scans(database_url, sent) == {}


# The rows of the user with the id 1 are the latest ones, each between two of others.
FILL = """
    INSERT INTO todos (title, is_complete, created, owner_id)
    SELECT 'x', mod(number, 2) = 0, now(),
      CASE WHEN number > 30000 AND mod(number, 2) = 0 THEN 1 ELSE 2 END
    FROM generate_series(1, 40000) AS number
"""
PAGES = [
    ("/todos", None),
    ("/todos", {"limit": 20, "skip": 1000}),
    ("/todos", {"where": {"isComplete": True}, "limit": 20}),
    ("/todos", {"order": "id DESC", "limit": 20}),
    ("/users/1/todos", {"limit": 20}),
]


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize(("path", "filter_"), PAGES)
def test_the_latest_rows_of_an_owner_are_found_without_those_of_others(app, api, path, filter_):
    tokens = [api.logged_in(f"{name}@example.com") for name in "ab"]
    with app.app_context(), unrecorded() as connection:
        connection.exec_driver_sql(FILL)
        connection.exec_driver_sql("ANALYZE todos")
    query = {} if filter_ is None else {"filter": json.dumps(filter_)}
    with statements(app) as sent:
        for _ in range(2):
            assert api("GET", path, token=tokens[0], query_string=query).status_code == 200

    # The second time it is prepared.
    statement = [each for each in sent if "FROM todos" in each][-1]

    with app.app_context(), unrecorded() as connection:
        plan = plan_for_ones(connection, statement)

    assert any("ix_todos_owner_id_id" in step for step in plan), plan


@contextmanager
def unrecorded():
    """Yield a connection in a transaction; the server records what the service sends only."""
    with db.engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SET LOCAL pg_stat_statements.track = none")
        yield connection
        connection.exec_driver_sql("COMMIT")


def plan_for_ones(connection, statement):
    """Return PostgreSQL's plan of a prepared statement all of whose values are 1."""
    connection.exec_driver_sql(f"PREPARE planned AS {statement}")
    values = ", ".join(["'1'"] * len({*re.findall(r"\$\d+", statement)}))
    plan = [*connection.scalars(text(f"EXPLAIN EXECUTE planned({values})"))]
    connection.exec_driver_sql("DEALLOCATE planned")
    return plan
