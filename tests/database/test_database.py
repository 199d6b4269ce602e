"""Column types, constraints, time-outs and connections of the database."""

import os
import re
import shutil
import socket
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from sqlalchemy import create_engine, literal_column, make_url, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from app.database.engine import POOL_OVERFLOW, QUERY_CACHE
from app.database.session import db
from app.factory import create_app
from app.problems import ConfigurationError
from app.times import now
from app.todos.models import Todo
from app.users.models import AccessToken, User
from tests.conftest import PASSWORD
from tests.support.databases import connected, migrate
from tests.support.rows import count, statements


def user(**fields):
    return User(**{"email": "ada@example.com", "password_hash": "!", **fields})


def stored(**fields):
    """Store a user and read it again, from the database."""
    row = user(**fields)
    db.session.add(row)
    db.session.commit()
    db.session.expire_all()
    return db.session.get(User, row.id)


@pytest.fixture
def context(app):
    with app.app_context():
        yield


@pytest.mark.both_databases
@pytest.mark.parametrize("hours", [-8, 0, 5.5], ids=str)
def test_times_are_returned_aware_in_utc(context, hours):
    zone = timezone(timedelta(hours=hours))
    time = datetime(2026, 3, 29, 2, 30, 0, 678000, zone)

    found = stored(created=time).created

    assert found == time
    assert found.utcoffset() == timedelta(0)


@pytest.mark.both_databases
def test_a_naive_time_is_rejected(context):
    db.session.add(user(created=datetime(2026, 1, 1)))

    with pytest.raises(StatementError, match="naive"):
        db.session.commit()


@pytest.mark.both_databases
def test_times_are_compared_in_the_database(context):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    stored(created=moment - timedelta(hours=1))

    assert db.session.scalar(select(User.id).where(User.created < moment)) == 1
    assert db.session.scalar(select(User.id).where(User.created > moment)) is None


@pytest.mark.both_databases
def test_a_token_is_stored_as_its_sha256_only(app, token):
    with app.app_context():
        assert db.session.scalar(select(AccessToken.digest)) == sha256(token.encode()).hexdigest()


@pytest.mark.both_databases
@pytest.mark.parametrize("taken", ["email", "username_key"])
def test_names_are_unique_within_a_realm(context, taken):
    stored(username_key="ada", realm="acme")
    twin = {"email": "bob@example.com", "username_key": "bob"} | {
        taken: {"email": "ada@example.com", "username_key": "ada"}[taken]
    }

    db.session.add(user(**twin, realm="acme"))

    with pytest.raises(IntegrityError):
        db.session.commit()
    db.session.rollback()
    assert stored(**twin, realm="initech").id


@pytest.mark.both_databases
def test_the_database_deletes_tokens_and_todos_with_their_user(app, api, token):
    api("POST", "/todos", {"title": "x"}, token=token)

    with app.app_context():
        db.session.execute(text("DELETE FROM users"))
        db.session.commit()

    assert [count(app, model) for model in (User, AccessToken, Todo)] == [0, 0, 0]


@pytest.mark.only_on("sqlite")
def test_compiled_statements_of_any_number_of_filters_take_bounded_memory(context):
    for number in range(2 * QUERY_CACHE):
        db.session.execute(select(literal_column(str(number))))

    # SQLAlchemy drops the oldest when there are half as many more.
    assert QUERY_CACHE / 2 < len(db.engine._compiled_cache) <= 1.5 * QUERY_CACHE


@pytest.mark.both_databases
@pytest.mark.parametrize("model", [AccessToken, Todo])
def test_rows_require_an_existing_owner(context, model):
    fields = {
        AccessToken: {"digest": "x", "user_id": 7, "ttl": 1, "expires_at": now()},
        Todo: {"title": "x", "owner_id": 7},
    }

    db.session.add(model(**fields[model]))

    with pytest.raises(IntegrityError):
        db.session.commit()


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("foreign_keys", 1),
        ("synchronous", 1),
        ("busy_timeout", 5000),
        ("cache_size", -500),
    ],
)
def test_sqlite_pragmas_are_set(context, pragma, value):
    assert db.session.scalar(text(f"PRAGMA {pragma}")) == value


@pytest.mark.both_databases
def test_a_request_with_a_token_takes_two_queries(app, client, token):
    with statements(app) as sent:
        response = client.get("/api/users/1", headers={"Authorization": token})

    assert response.status_code == 200
    assert len(sent) == 2


@pytest.mark.both_databases
def test_a_request_without_a_token_takes_no_query(app, client):
    with statements(app) as sent:
        client.get("/api/users/1")

    assert sent == []


@pytest.mark.both_databases
def test_no_request_leaves_a_connection_checked_out(app, api, token):
    for path in ("/users/1", "/users/2", "/todos", "/todos/7", "/nowhere"):
        api("GET", path, token=token)

    with app.app_context():
        assert db.engine.pool.checkedout() == 0


@pytest.mark.both_databases
def test_a_database_that_fails_is_503_without_detail(app, api, database_url, token, caplog):
    with connected(database_url) as connection:
        connection.execute(text("ALTER TABLE access_tokens RENAME TO gone"))

    response = api("GET", "/users/1", token=token)

    with connected(database_url) as connection:
        connection.execute(text("ALTER TABLE gone RENAME TO access_tokens"))
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert set(response.json["error"]) == {"statusCode", "name", "message"}
    [line] = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert re.fullmatch(r"the database failed: \w+Error (42P01|SQLITE_ERROR)", line)
    assert api("GET", "/users/1", token=token).status_code == 200


def with_options(url, options):
    changed = make_url(url).update_query_dict({"options": options})
    return changed.render_as_string(hide_password=False)


IDLE = "idle_in_transaction_session_timeout"
READ_ONLY = "-c default_transaction_read_only=on"
only_postgres = pytest.mark.only_on("postgresql")


@pytest.mark.both_databases
@only_postgres
def test_connections_that_the_server_ended_are_replaced(app, api, token, database_url):
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid != "
    for _ in range(3):
        with connected(database_url) as connection:
            connection.execute(text(f"{end} pg_backend_pid() AND datname IS NOT NULL"))

        assert api("GET", "/users/1", token=token).status_code == 200


@pytest.mark.both_databases
@only_postgres
def test_a_read_only_database_is_503_and_logs_no_value(make_app, database_url, caplog):
    client = make_app(SQLALCHEMY_DATABASE_URI=with_options(database_url, READ_ONLY)).test_client()

    response = client.post("/api/users", json={"email": "bob@example.com", "password": PASSWORD})

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert "the database failed: InternalError 25006" in caplog.text
    assert "bob@example.com" not in caplog.text
    assert "INSERT" not in caplog.text


@pytest.mark.both_databases
def test_errors_hide_the_values_of_statements(context):
    with pytest.raises(DBAPIError) as caught:
        db.session.execute(text("SELECT * FROM nowhere WHERE x = :x"), {"x": PASSWORD})

    assert PASSWORD not in str(caught.value)
    db.session.rollback()


@pytest.mark.both_databases
@only_postgres
def test_a_locked_table_is_503_within_the_time_out(make_app, api, token, database_url):
    client = make_app(STATEMENT_TIMEOUT=1).test_client()
    engine = create_engine(database_url)
    with engine.connect() as connection:
        connection.execute(text("LOCK TABLE todos IN ACCESS EXCLUSIVE MODE"))
        response = client.get("/api/todos", headers={"Authorization": token})
    engine.dispose()

    assert response.status_code == 503
    assert response.json["error"]["code"] == "DATABASE_TIMEOUT"
    assert response.headers["Retry-After"] == "5"
    assert client.get("/api/todos", headers={"Authorization": token}).status_code == 200


@pytest.mark.both_databases
def test_a_pool_without_a_free_connection_is_503(make_app, token):
    app = make_app(THREADS=1, STATEMENT_TIMEOUT=0.2)
    with app.app_context():
        held = [db.engine.connect() for _ in range(1 + POOL_OVERFLOW)]

    response = app.test_client().get("/api/todos", headers={"Authorization": token})
    for connection in held:
        connection.close()

    assert response.status_code == 503
    assert response.json["error"]["code"] == "DATABASE_TIMEOUT"


@pytest.mark.both_databases
@only_postgres
def test_the_url_and_the_settings_override_our_time_outs(make_app, database_url):
    url = with_options(database_url, "-c statement_timeout=1234 -c work_mem=5MB")
    given = {"pool_size": 3, "connect_args": {"application_name": "doors"}}
    app = make_app(SQLALCHEMY_DATABASE_URI=url, SQLALCHEMY_ENGINE_OPTIONS=given)

    with app.app_context(), db.engine.connect() as connection:
        found = {
            name: connection.scalar(text(f"SHOW {name}"))
            for name in ("statement_timeout", "lock_timeout", IDLE, "work_mem", "application_name")
        }
        size = db.engine.pool.size()

    assert found == {
        "statement_timeout": "1234ms",
        "lock_timeout": "5s",
        IDLE: "1min",
        "work_mem": "5MB",
        "application_name": "doors",
    }
    assert size == 3


def test_connecting_to_an_unresponsive_server_times_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql+psycopg://ada@127.0.0.1:{port}/x?connect_timeout=2"

        with pytest.raises(ConfigurationError, match="timeout"):
            create_app({"SQLALCHEMY_DATABASE_URI": url, "MAIL_FOLDER": str(tmp_path)})


def test_a_sqlite_file_is_accessible_only_to_its_owner(tmp_path):
    path = tmp_path / "new.sqlite"
    before = os.umask(0)
    try:
        migrate(f"sqlite:///{path}", tmp_path)
        app = create_app({"SQLALCHEMY_DATABASE_URI": f"sqlite:///{path}"})
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(text("DELETE FROM users"))
            modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.glob("new.*")}
    finally:
        os.umask(before)
    with app.app_context():
        db.engine.dispose()

    assert modes == {"new.sqlite": 0o600, "new.sqlite-wal": 0o600, "new.sqlite-shm": 0o600}


def test_a_sqlite_file_that_others_may_read_is_warned_about(sqlite_template, tmp_path, caplog):
    path = tmp_path / "ostiary.sqlite"
    shutil.copy(sqlite_template, path)
    path.chmod(0o644)

    create_app({"SQLALCHEMY_DATABASE_URI": f"sqlite:///{path}", "MAIL_FOLDER": str(tmp_path)})

    assert f"{path} is open to other users (mode 644)" in caplog.text
    assert path.stat().st_mode & 0o777 == 0o644
