"""A PostgreSQL server whose processes are stopped, while its system acknowledges what is sent."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import OperationalError

from app.database import libpq
from app.database.exclusive import lock_others_out
from app.database.session import db, transaction
from app.testing.apps import close
from app.todos.models import Todo
from tests.conftest import Api
from tests.support.apps import build
from tests.support.databases import connected, migrate
from tests.support.postgres import cluster

pytestmark = pytest.mark.live

TODO = {"title": "x"}
STATEMENT_TIMEOUT, GRACE = 0.3, 0.3
# The least that psycopg waits for a connection.
CONNECT_TIMEOUT = 2
# For what else a request does, on a busy machine.
LATE = 30
CALLS = {
    "a read": ("GET", "/todos/1", None),
    "a list": ("GET", "/todos", None),
    "a create": ("POST", "/todos", TODO),
    "a transaction": ("POST", "/todos", [TODO, TODO]),
    "a login": ("POST", "/users/login", {"email": "ada@example.com", "password": "x"}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with cluster() as server:
        server.create()
        server.start()
        migrate(server.url, tmp_path_factory.mktemp("frozen"))
        yield server


@pytest.fixture
def app(server, tmp_path, monkeypatch):
    monkeypatch.setattr(libpq, "GRACE", GRACE)
    url = f"{server.url}&connect_timeout={CONNECT_TIMEOUT}"
    app = build(url, tmp_path, STATEMENT_TIMEOUT=STATEMENT_TIMEOUT, THREADS=len(CALLS))
    yield app
    close(app)


@pytest.fixture
def frozen():
    """The pids of the stopped processes, which go on at the end of the test."""
    pids = []
    yield pids
    thaw(pids)


@pytest.fixture
def freeze(server, frozen):
    return lambda: frozen.extend(server.freeze())


def thaw(frozen):
    while frozen:
        os.kill(frozen.pop(), signal.SIGCONT)


@pytest.fixture
def api(app, secrets):
    return Api(app.test_client(), secrets)


def test_requests_are_refused_in_time_and_answered_once_it_goes_on(
    app, api, freeze, frozen, secrets
):
    token = api.newcomer()
    with app.app_context():
        # One for each call, all of them idle.
        connections = [db.engine.connect() for _ in CALLS]
        for connection in connections:
            connection.close()

    def call(name):
        verb, path, body = CALLS[name]
        return Api(app.test_client(), secrets)(verb, path, body, token=token).status_code

    freeze()
    with ThreadPoolExecutor(len(CALLS)) as threads:
        # All are answered before the server is.
        statuses = dict(zip(CALLS, threads.map(call, CALLS), strict=True))
    thaw(frozen)

    assert statuses == dict.fromkeys(CALLS, 503)
    assert api("POST", "/todos", TODO, token=token).status_code == 200
    assert api("GET", "/todos", token=token).json[-1]["title"] == "x"


def commit_while(freeze):
    with transaction():
        db.session.add(Todo(title="x", owner_id=1))
        db.session.flush()
        freeze()


def test_a_commit_is_waited_for_no_longer_than_a_statement(app, api, freeze, frozen):
    token = api.newcomer("grace@example.com")
    with app.app_context():
        with pytest.raises(OperationalError, match="has not answered for"):
            commit_while(freeze)
        thaw(frozen)

    # On another connection.
    assert api("POST", "/todos", TODO, token=token).status_code == 200


def test_what_lifts_the_time_out_of_statements_is_waited_for(app, server):
    longer = STATEMENT_TIMEOUT + GRACE + 0.5
    with app.app_context():
        with transaction():
            lock_others_out(db.session.connection(), 1)
            db.session.connection().exec_driver_sql(f"SELECT pg_sleep({longer})")
        with connected(server.url) as other, transaction():
            other.exec_driver_sql("LOCK TABLE todos")
            with pytest.raises(OperationalError, match=r"lock timeout|statement timeout"):
                db.session.connection().exec_driver_sql("LOCK TABLE todos")


def test_without_a_time_out_of_statements_there_is_no_bound(server, tmp_path):
    app = build(f"{server.url}&options=-c%20statement_timeout%3D0", tmp_path)

    with app.app_context(), db.engine.connect() as connection:
        assert connection.connection.driver_connection.bound is None
    close(app)
