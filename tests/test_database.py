"""What the database stores, and what it takes care of by itself."""

from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import IntegrityError, StatementError

from app.extensions import db, now
from app.todos.models import Todo
from app.users.models import AccessToken, User
from tests.rows import count


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


def test_now_is_utc_to_the_millisecond():
    assert now().tzinfo is UTC
    assert now().microsecond % 1000 == 0
    assert abs(now() - datetime.now(UTC)) < timedelta(seconds=1)


@pytest.mark.parametrize("hours", [-8, 0, 5.5], ids=str)
def test_times_come_back_aware_and_in_utc(context, hours):
    zone = timezone(timedelta(hours=hours))
    time = datetime(2026, 3, 29, 2, 30, 0, 678000, zone)

    found = stored(created=time).created

    assert found == time
    assert found.utcoffset() == timedelta(0)


def test_a_naive_time_is_refused(context):
    db.session.add(user(created=datetime(2026, 1, 1)))

    with pytest.raises(StatementError, match="naive"):
        db.session.commit()


def test_times_are_compared_in_the_database(context):
    stored(created=now() - timedelta(hours=1))

    assert db.session.scalar(select(User.id).where(User.created < now())) == 1
    assert db.session.scalar(select(User.id).where(User.created > now())) is None


def test_a_token_is_stored_as_its_sha256_only(app, token):
    with app.app_context():
        assert db.session.scalar(select(AccessToken.digest)) == sha256(token.encode()).hexdigest()


@pytest.mark.parametrize("taken", ["email", "username"])
def test_names_are_unique_within_a_realm(context, taken):
    stored(username="ada", realm="acme")
    twin = {"email": "bob@example.com", "username": "bob"} | {
        taken: {"email": "ada@example.com", "username": "ada"}[taken]
    }

    db.session.add(user(**twin, realm="acme"))

    with pytest.raises(IntegrityError):
        db.session.commit()
    db.session.rollback()
    assert stored(**twin, realm="initech").id


def test_the_database_deletes_tokens_and_todos_with_their_user(app, api, token):
    api("POST", "/todos", {"title": "x"}, token=token)

    with app.app_context():
        db.session.execute(text("DELETE FROM users"))
        db.session.commit()

    assert [count(app, model) for model in (User, AccessToken, Todo)] == [0, 0, 0]


@pytest.mark.parametrize("model", [AccessToken, Todo])
def test_nothing_is_owned_by_nobody(context, model):
    fields = {
        AccessToken: {"digest": "x", "user_id": 7, "ttl": 1, "expires_at": now()},
        Todo: {"title": "x", "owner_id": 7},
    }

    db.session.add(model(**fields[model]))

    with pytest.raises(IntegrityError):
        db.session.commit()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("foreign_keys", 1), ("synchronous", 1), ("busy_timeout", 10000)],
)
def test_sqlite_is_prepared(context, pragma, value):
    assert db.session.scalar(text(f"PRAGMA {pragma}")) == value


def test_a_request_with_a_token_costs_two_queries(app, client, token):
    statements = []
    headers = {"Authorization": token}

    with app.app_context():
        record = lambda *details: statements.append(details[2])  # noqa: E731
        db.event.listen(db.engine, "before_cursor_execute", record)
    response = client.get("/api/users/1", headers=headers)

    assert response.status_code == 200
    assert len(statements) == 2


def test_a_request_without_a_token_costs_no_query(app, client):
    statements = []

    with app.app_context():
        record = lambda *details: statements.append(details[2])  # noqa: E731
        db.event.listen(db.engine, "before_cursor_execute", record)
    client.get("/api/users/1")

    assert statements == []


def test_no_request_leaves_a_connection_checked_out(app, api, token):
    for path in ("/users/1", "/users/2", "/todos", "/todos/7", "/nowhere"):
        api("GET", path, token=token)

    with app.app_context():
        assert db.engine.pool.checkedout() == 0


def test_a_database_that_fails_is_503_without_detail(app, api, database_url, token, caplog):
    engine = create_engine(database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if database_url.startswith("sqlite"):
            connection.execute(text("ALTER TABLE access_tokens RENAME TO gone"))
        else:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != "
            connection.execute(text(f"{end} pg_backend_pid() AND datname IS NOT NULL"))

        response = api("GET", "/users/1", token=token)

        if database_url.startswith("sqlite"):
            connection.execute(text("ALTER TABLE gone RENAME TO access_tokens"))
    engine.dispose()
    assert response.status_code == 503
    assert set(response.json["error"]) == {"statusCode", "name", "message"}
    assert "the database failed" in caplog.text
    assert api("GET", "/users/1", token=token).status_code == 200
