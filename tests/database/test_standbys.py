"""Standbys that answer reads of models, of a real PostgreSQL server that is replicated."""

import itertools
import logging
import os
import re
import signal
from collections import Counter

import pytest
from sqlalchemy import text

from app.access.identity import current_identity
from app.database.session import db, transaction
from app.database.standbys import group
from app.database.standbys.reader import split_hosts, standbys
from app.factory import create_app
from app.metrics.catalog import Catalog
from app.metrics.counting import GaugeSampler
from app.problems import ConfigurationError
from app.rest.collection import served_collections
from app.testing.apps import close
from app.todos.models import Todo
from tests.conftest import Api
from tests.support.apps import build
from tests.support.databases import connected, migrate
from tests.support.postgres import cluster
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

TODO = {"title": "x"}
POSITION = "X-Database-Position"
REPLAYED = text("SELECT pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn)")
TABLE = re.compile(r"(?:FROM|INTO|UPDATE) (\w+)")


@pytest.fixture(scope="module")
def primary(tmp_path_factory):
    with cluster() as server:
        server.create()
        server.start(log_statement="all")
        migrate(server.url, tmp_path_factory.mktemp("primary"))
        yield server


@pytest.fixture(scope="module")
def started_standby(primary):
    with cluster() as server:
        server.follow(primary)
        server.start(log_statement="all", hot_standby_feedback="on")
        yield server


@pytest.fixture
def standby(primary, started_standby):
    """A standby that is there, replays, and has replayed everything."""
    if not (started_standby.data / "postmaster.pid").exists():
        started_standby.start(log_statement="all")
    resume(started_standby)
    catch_up(primary, started_standby)
    return started_standby


@pytest.fixture
def make_app(primary, standby, tmp_path, monkeypatch):
    """Return an app that looks at its standby when a test asks for it."""
    monkeypatch.setattr(group.Standbys, "_start", lambda self: None)
    apps = []

    def make(**settings):
        settings = {"READ_DATABASE_URL": standby.url, "READ_MAX_LAG": 60, **settings}
        apps.append(build(primary.url, tmp_path, **settings))
        standbys.of(apps[-1]).look()
        return apps[-1]

    yield make
    for app in apps:
        close(app)


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def api(app, secrets):
    return Api(app.test_client(), secrets)


@pytest.fixture
def email(numbers=itertools.count()):  # noqa: B008 one for all
    """An address for each test: the database is not emptied."""
    return f"user{next(numbers)}@example.com"


@pytest.fixture
def token(api, email):
    return api.newcomer(email)


def ask(server, sql):
    with connected(server.url) as connection:
        return connection.execute(text(sql)).scalar()


def pause(standby):
    """Hold replay back: the standby receives what is written and does not show it."""
    ask(standby, "SELECT pg_wal_replay_pause()")
    # It may still be replaying a record.
    eventually(lambda: ask(standby, "SELECT pg_get_wal_replay_pause_state()") == "paused")


def resume(standby):
    ask(standby, "SELECT pg_wal_replay_resume()")


def catch_up(primary, standby):
    # What ends at a page of the log is past the header of the next one.
    written = ask(primary, "SELECT pg_switch_wal()::text")

    def has_replayed():
        with connected(standby.url) as connection:
            return connection.execute(REPLAYED, {"position": written}).scalar()

    eventually(has_replayed)


def look(app, primary, standby):
    """Let the app notice that the standby has replayed everything.

    It must have replayed something since the app's first check, to be used while it is behind.
    """
    for _ in range(2):
        ask(primary, "SELECT pg_logical_emit_message(false, 'test', 'something')")
        catch_up(primary, standby)
        eventually(lambda: may_be_chosen(app))


def may_be_chosen(app):
    """Return True if reads may be sent to the standby after a check."""
    standbys.of(app).look()
    return standbys.of(app).choose(0) is not None


class Statements:
    """The tables that clients of a server read or write, from its log, since the last look."""

    def __init__(self, server):
        self._log = server.folder / "log"
        self._end = self._log.stat().st_size

    def tables(self):
        with self._log.open() as log:
            log.seek(self._end)
            found = TABLE.findall(log.read())
            self._end = log.tell()
        return Counter(found)


def test_rows_are_read_from_the_standby_and_all_else_from_the_primary(
    app, api, token, primary, standby
):
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    on_primary, on_standby = Statements(primary), Statements(standby)

    aggregate = "/todos/aggregate?filter[aggregate][n][count]=*"
    counts = "/todos/count", aggregate, f"/todos/{todo}/exists"
    for path in (f"/todos/{todo}", "/todos", "/todos", *counts):
        assert api("GET", path, token=token).status_code == 200

    assert on_standby.tables() == {"todos": 6}
    assert on_primary.tables().keys() == {"access_tokens", "role_mappings"}


def test_what_writes_is_on_the_primary_alone(app, api, token, primary, standby):
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    on_standby = Statements(standby)

    for verb, path, body in [
        ("PATCH", f"/todos/{todo}", {"title": "y"}),
        ("PUT", f"/todos/{todo}", TODO),
        ("POST", "/todos/update?where={}", {"title": "z"}),
        ("DELETE", f"/todos/{todo}", None),
    ]:
        assert api(verb, path, body, token=token).status_code == 200

    assert on_standby.tables() == {}


def test_a_session_sees_what_it_has_written_and_another_one_what_the_standby_has(
    app, api, email, token, primary, standby
):
    other = api.login(email)["id"]
    look(app, primary, standby)
    pause(standby)

    written = api("POST", "/todos", TODO, token=token)
    path = f"/todos/{written.json['id']}"
    # It has received everything and shows nothing of it.
    standbys.of(app).look()

    assert api("GET", path, token=token).status_code == 200
    assert api("GET", path, token=other).status_code == 404
    # A client may know of a write of somebody else, too.
    headers = {POSITION: written.headers[POSITION]}
    assert api("GET", path, token=other, headers=headers).status_code == 200
    # A login sees everything that was before it.
    assert api("GET", path, token=api.login(email)["id"]).status_code == 200
    resume(standby)
    look(app, primary, standby)
    assert api("GET", path, token=other).status_code == 200


def test_a_read_after_a_change_and_a_removal_is_of_what_is_there(app, api, token, primary, standby):
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    pause(standby)

    api("PATCH", f"/todos/{todo}", {"title": "y"}, token=token)
    assert api("GET", "/todos", token=token).json[0]["title"] == "y"
    api("DELETE", f"/todos/{todo}", token=token)
    assert api("GET", f"/todos/{todo}", token=token).status_code == 404


def test_what_a_request_has_written_is_read_from_the_primary(app, token, primary, standby):
    look(app, primary, standby)
    pause(standby)
    with app.test_request_context(headers={"Authorization": token}):
        app.preprocess_request()
        todos = served_collections.of(app)["todos"]
        before = todos.rows.count([])
        with transaction():
            db.session.add(Todo(title="y", owner_id=current_identity().user_id))

        assert todos.rows.count([]) == before + 1


def test_a_batch_that_writes_reads_from_the_primary_and_another_one_from_the_standby(
    app, api, token, primary, standby
):
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    on_standby = Statements(standby)
    read = {"method": "GET", "path": f"/todos/{todo}"}
    change = {"method": "PATCH", "path": f"/todos/{todo}", "body": {"title": "y"}}

    api("POST", "/batch", {"requests": [read, read]}, token=token)
    of_reads = on_standby.tables()
    changed = api("POST", "/batch", {"requests": [change, read]}, token=token)

    assert of_reads == {"todos": 2}
    assert on_standby.tables() == {}
    assert changed.json["responses"][1]["body"]["title"] == "y"
    assert int(changed.headers[POSITION]) > 0


def test_a_standby_that_is_lost_is_replaced_without_an_error_and_used_again(
    app, api, token, primary, standby, caplog
):
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    assert api("GET", f"/todos/{todo}", token=token).status_code == 200
    caplog.clear()
    on_primary = Statements(primary)

    standby.stop("immediate")
    statuses = [api("GET", f"/todos/{todo}", token=token).status_code for _ in range(3)]
    statuses += [api("GET", "/todos/count", token=token).status_code]
    found = on_primary.tables()
    standbys.of(app).look()

    assert statuses == [200] * 4
    assert found["todos"] == 4
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    standby.start(log_statement="all")
    look(app, primary, standby)
    on_standby = Statements(standby)
    assert api("GET", f"/todos/{todo}", token=token).status_code == 200
    assert on_standby.tables() == {"todos": 1}


def test_a_standby_that_is_too_far_behind_is_left_out(make_app, secrets, email, primary, standby):
    app = make_app(READ_MAX_LAG=0.2)
    api = Api(app.test_client(), secrets)
    token, other = api.newcomer(email), api.login(email)["id"]
    pause(standby)
    path = f"/todos/{api('POST', '/todos', TODO, token=token).json['id']}"

    # The primary has written more than 0.2 s ago.
    eventually(lambda: api("GET", path, token=other).status_code == 200 or standbys.of(app).look())
    resume(standby)
    look(app, primary, standby)
    on_standby = Statements(standby)
    api("GET", path, token=other)

    assert on_standby.tables() == {"todos": 1}


def test_a_standby_that_stands_still_delays_one_request_only(
    app, api, token, primary, standby, monkeypatch
):
    monkeypatch.setattr(group, "LOOK_TIMEOUT", 0.3)
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    look(app, primary, standby)
    on_primary = Statements(primary)
    api("GET", f"/todos/{todo}", token=token)

    frozen = standby.freeze()
    try:
        standbys.of(app).look()
        answer = api("GET", f"/todos/{todo}", token=token)
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)

    assert answer.status_code == 200
    assert on_primary.tables()["todos"] == 1


def test_a_session_whose_position_was_lost_with_the_primary_waits_for_the_standby(
    app, api, token, primary, standby
):
    """The commit of a position waits for no disk."""
    look(app, primary, standby)
    pause(standby)
    todo = api("POST", "/todos", TODO, token=token).json["id"]
    with connected(primary.url) as connection:
        connection.execute(text("UPDATE access_tokens SET write_position = NULL"))

    primary.stop("immediate")
    primary.start(log_statement="all")
    standbys.of(app).look()

    assert api("GET", f"/todos/{todo}", token=token).status_code == 200


def test_the_metrics_tell_how_many_are_in_use(app, standby):
    catalog = Catalog()
    sampler = GaugeSampler(app, catalog)

    def in_use():
        sampler.sample()
        [metric] = catalog.standbys.collect()
        return metric.samples[0].value

    eventually(lambda: may_be_chosen(app))
    assert in_use() == 1
    standby.stop("immediate")
    standbys.of(app).look()
    assert in_use() == 0


def test_a_server_that_is_no_standby_is_not_asked(make_app, secrets, email, primary):
    app = make_app(READ_DATABASE_URL=primary.url)
    api = Api(app.test_client(), secrets)
    token = api.newcomer(email)

    assert standbys.of(app).choose(0) is None
    assert api("GET", "/todos", token=token).json == []


@pytest.mark.parametrize("position", ["x", "-1", "1" * 20, "²"])
def test_a_position_that_is_no_number_is_refused(api, token, position):
    answer = api("GET", "/todos", token=token, headers={POSITION: position.encode()})

    assert (answer.status_code, answer.json["error"]["code"]) == (400, "INVALID_POSITION")


def test_a_position_counts_that_was_written_since_the_primary_was_asked_last(
    app, api, email, token, primary, standby
):
    other = api.login(email)["id"]
    look(app, primary, standby)
    pause(standby)
    written = api("POST", "/todos", TODO, token=token)

    headers = {POSITION: written.headers[POSITION]}
    path = f"/todos/{written.json['id']}"

    assert api("GET", path, token=other).status_code == 404
    assert api("GET", path, token=other, headers=headers).status_code == 200


@pytest.mark.parametrize("ahead", [1_000_000_000, 10**18])
def test_a_position_that_nobody_has_written_is_ignored(app, api, token, primary, standby, ahead):
    todo = api("POST", "/todos", TODO, token=token)
    look(app, primary, standby)
    on_primary, on_standby = Statements(primary), Statements(standby)

    headers = {POSITION: str(int(todo.headers[POSITION]) + ahead)}
    answer = api("GET", f"/todos/{todo.json['id']}", token=token, headers=headers)

    assert answer.status_code == 200
    assert on_standby.tables() == {"todos": 1}
    assert "todos" not in on_primary.tables()


def test_a_write_that_is_refused_has_no_position(api, token):
    assert POSITION not in api("POST", "/todos", {"title": 1}, token=token).headers
    assert POSITION not in api("GET", "/todos", token=token).headers
    assert POSITION not in api("OPTIONS", "/todos", token=token).headers
    assert int(api("POST", "/todos", TODO, token=token).headers[POSITION]) > 0


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql+psycopg://u:p@a/x", ["a:5432"]),
        ("postgresql+psycopg://u:p@a:1/x?sslmode=require", ["a:1"]),
        ("postgresql+psycopg://u:p@/x?host=a:1&host=b&target_session_attrs=any", ["a:1", "b:5432"]),
        ("postgresql+psycopg://u:p@/x?host=::1,::2&port=5432,5433", ["::1:5432", "::2:5433"]),
    ],
)
def test_each_host_is_a_standby(url, hosts):
    assert [*split_hosts(url)] == hosts


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"READ_DATABASE_URL": "sqlite:///x"}, "address of PostgreSQL"),
        ({"READ_DATABASE_URL": "x"}, "must look like"),
        ({"READ_DATABASE_URL": "postgresql+psycopg:///x?host=a&host=b&port=1"}, "as many ports"),
        (
            {
                "READ_DATABASE_URL": "postgresql+psycopg://a/x",
                "SQLALCHEMY_DATABASE_URI": "sqlite://",
            },
            "needs a DATABASE_URL of PostgreSQL",
        ),
    ],
)
def test_what_cannot_be_read_from_stops_the_start(postgres_url, tmp_path, settings, problem):
    given = {"SQLALCHEMY_DATABASE_URI": postgres_url, "MAIL_FOLDER": str(tmp_path), **settings}

    with pytest.raises(ConfigurationError, match=problem):
        create_app(given)
