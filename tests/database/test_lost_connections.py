"""Connections that PostgreSQL ends, or no longer writes for: what is repeated, and what is not."""

import pytest
from flask import g
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import OperationalError

from app.database.connections import KEPT, RequestPool
from app.database.session import db
from app.factory import create_app
from app.problems import ConfigurationError
from app.testing.apps import close
from app.throttles import BLOCKED_UNTIL
from app.todos.models import Todo
from tests.conftest import PASSWORD, Api
from tests.support.apps import build
from tests.support.databases import connected
from tests.support.postgres_proxy import counted
from tests.support.rows import count

TODO = {"title": "x"}
READ_ONLY = "SET default_transaction_read_only = on"


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


@pytest.fixture
def app(make_app):
    """An app of its own: its engine gets listeners."""
    return make_app(AUDIT_DAYS=None)


@pytest.fixture
def at_use(app, token, monkeypatch):
    """Do something to a connection when a request uses it, after the pool has checked it.

    A request takes it from the pool, and may keep it for further statements.
    """

    def listen(**actions):
        """Call `first`, `second` and so on with the driver's connection."""
        pending = [actions.get(each) for each in ("first", "second", "third")]

        def act(connection):
            if pending and (action := pending.pop(0)):
                action(connection)

        def connect(connections):
            kept = getattr(g, KEPT, None)
            connection = usual(connections)
            if connection is kept:
                act(connection.driver_connection)
            return connection

        usual = RequestPool.connect
        monkeypatch.setattr(RequestPool, "connect", connect)
        with app.app_context():
            event.listen(db.engine, "checkout", lambda connection, *_: act(connection))

    return listen


@pytest.fixture
def end(database_url):
    """Have the server end a connection, as it does when it stops."""

    def terminate(connection):
        pid = connection.info.backend_pid
        with connected(database_url) as other:
            other.execute(text(f"SELECT pg_terminate_backend({pid}, 60000)"))

    return terminate


def become_read_only(connection):
    connection.execute(READ_ONLY)


def test_a_read_that_finds_its_connection_ended_is_repeated(app, api, token, at_use, end):
    at_use(first=end)

    assert api("POST", "/todos", TODO, token=token).status_code == 200
    assert count(app, Todo) == 1


def test_a_begin_that_finds_its_connection_ended_is_repeated(app, api, token, at_use, end):
    at_use(second=end)

    assert api("POST", "/todos", [TODO, TODO], token=token).status_code == 200
    assert count(app, Todo) == 2


def test_a_login_outlives_a_connection_that_ends_while_it_hashes(app, api, token, end):
    def end_once(connection, _cursor, statement, *_):
        if "password_hash" in statement and not ended:
            ended.append(statement)
            end(connection.connection.driver_connection)

    # The methods of the stored hashes are known from now on.
    api.login()
    ended = []
    with app.app_context():
        event.listen(db.engine, "after_cursor_execute", end_once)

    api.login()

    assert ended


def test_a_write_is_not_repeated_as_it_may_have_been_done(app, api, token, at_use, end):
    at_use(second=end)

    response = api("POST", "/todos", TODO, token=token)

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert count(app, Todo) == 0
    assert api("POST", "/todos", TODO, token=token).status_code == 200


def test_a_read_is_repeated_once(api, token, at_use, end):
    at_use(first=end, second=end)

    assert api("GET", "/todos/1", token=token).status_code == 503
    assert api("GET", "/todos/1", token=token).status_code == 404


def test_no_statement_is_repeated_if_the_session_would_forget_changes(app, token, end):
    todo = Todo(title="x", owner_id=1)
    with app.app_context():
        end(db.session.connection().connection.driver_connection)
        db.session.add(todo)
        with pytest.raises(OperationalError):
            BLOCKED_UNTIL.first({"row_name": "login", "row_digest": "x"})

        assert todo in db.session


def test_connections_to_a_server_that_became_read_only_are_replaced(app, api, token):
    with app.app_context():
        connections = [db.engine.connect() for _ in range(3)]
        for each in connections:
            each.exec_driver_sql(READ_ONLY)
            each.close()

    # What was refused has changed nothing, so that it is repeated.
    assert api("POST", "/todos", TODO, token=token).status_code == 200
    assert count(app, Todo) == 1


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [("POST", "/todos", [TODO, TODO]), ("POST", "/todos/update?where={}", {"isComplete": True})],
)
def test_a_refused_transaction_is_503_and_the_next_one_succeeds(
    api, token, at_use, verb, path, body
):
    at_use(second=become_read_only)

    assert api(verb, path, body, token=token).status_code == 503
    assert api(verb, path, body, token=token).status_code == 200


def test_requests_are_503_while_the_server_cannot_be_reached(database_url, tmp_path, secrets):
    with counted(database_url) as proxy:
        app = build(proxy.url, tmp_path)
        api = Api(app.test_client(), secrets)
        token = api.newcomer()
        with app.app_context():
            db.engine.dispose()

    calls = {
        ("GET", "/todos", None),
        ("GET", "/users/1", None),
        ("POST", "/users/login", '{"email": "ada@example.com", "password": "x"}'),
    }
    for verb, path, data in calls:
        response = api(verb, path, token=token, data=data, content_type="application/json")
        assert (response.status_code, response.headers["Retry-After"]) == (503, "5"), path
        assert set(response.json["error"]) == {"statusCode", "name", "message"}
    close(app)


def hosts(url, *others, **parameters):
    """Return the URL with several hosts, in SQLAlchemy's form."""
    parsed = make_url(url)
    host = parsed.query.get("host") or parsed.host
    port = parsed.query.get("port") or parsed.port or 5432
    query = {"host": [*others, f"{host}:{port}"], **parameters}
    several = parsed.set(host=None, port=None, query=query)
    return several.render_as_string(hide_password=False)


def test_of_several_hosts_the_one_that_writes_is_used(database_url, tmp_path):
    url = hosts(database_url, "127.0.0.1:1", "/nowhere:5432", target_session_attrs="read-write")
    app = build(url, tmp_path)

    body = {"email": "ada@example.com", "password": PASSWORD}
    assert app.test_client().post("/api/users", json=body).status_code == 200
    close(app)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (None, "session is read-only"),
        ("postgresql+psycopg://ostiary@a:5432,b:5433/x", "@/database?host=a:5432&host=b:5432"),
    ],
)
def test_hosts_that_cannot_be_used_stop_the_start(database_url, tmp_path, url, reason):
    read_only = {"options": "-c default_transaction_read_only=on"}
    url = url or hosts(database_url, "127.0.0.1:1", target_session_attrs="read-write", **read_only)

    with pytest.raises(ConfigurationError) as caught:
        create_app({"SQLALCHEMY_DATABASE_URI": url, "MAIL_FOLDER": str(tmp_path)})

    assert reason in str(caught.value)
