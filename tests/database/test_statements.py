"""Prepared statements: conversions, errors, transactions and time-outs as with a session."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Integer, bindparam, func, insert, inspect, literal, select, text, type_coerce
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.types import TypeDecorator

from app.database.connections import PARTITION
from app.database.session import db, transaction
from app.database.statements import PreparedStatement
from app.todos.models import Todo
from app.users.models import User
from tests.support.databases import connected

pytestmark = pytest.mark.both_databases

TODOS = inspect(Todo).columns
VALUES = {name: bindparam(name) for name in ("title", "is_complete", "created", "owner_id")}
INSERT = PreparedStatement(insert(Todo.__table__).values(VALUES).returning(*TODOS))
SELECT = PreparedStatement(select(*TODOS).where(TODOS.created == bindparam("created")))
COUNT = PreparedStatement(select(func.count().label("number")).select_from(Todo.__table__))

TIME = datetime(2026, 3, 29, 2, 30, 0, 678000, timezone(timedelta(hours=-8)))
ROW = {"title": "a", "is_complete": True, "created": TIME, "owner_id": 1}


@pytest.fixture
def context(app):
    with app.app_context():
        with transaction():
            db.session.add(User(id=1, email="ada@example.com", password_hash="!"))
        # Statements find no session, as in a request that has used none.
        db.session.remove()
        yield


def test_values_and_columns_are_converted_both_ways(context):
    stored = INSERT.first(ROW)
    found = SELECT.first({"created": TIME.astimezone(UTC)})
    by_session = db.session.get(Todo, stored.id)

    assert found == stored
    assert found._asdict() == {name: getattr(by_session, name) for name in found._fields}
    assert found.created == TIME
    assert found.created.utcoffset() == timedelta(0)
    assert found.is_complete is True
    assert found.desc is None


def test_all_rows_are_read_in_parts_and_converted_only_when_they_are_read(context):
    converted = []

    class Counted(TypeDecorator):
        impl, cache_ok = Integer, True

        def process_result_value(self, value, dialect):
            converted.append(value)
            return value

    number = 2 * PARTITION + 1
    with transaction():
        for _ in range(number):
            INSERT.first(ROW)
    rows = PreparedStatement(select(type_coerce(TODOS.id, Counted()).label("id")))

    first = rows.read({}, next)
    assert converted == [first.id]
    assert len(rows.read({}, list)) == number


def test_literal_values_in_the_statement_are_converted(context):
    INSERT.first(ROW)
    fixed = PreparedStatement(select(TODOS.title).where(TODOS.created == TIME).limit(1))

    assert fixed.first({}).title == "a"


def test_percent_signs_and_repeated_parameters_are_kept(context):
    INSERT.first({**ROW, "title": "100 %(title)s"})
    title = bindparam("title", type_=TODOS.title.type)
    like = TODOS.title.like("100 \\%(%", escape="\\")
    repeated = PreparedStatement(select(TODOS.title).where(like, TODOS.title == title, title != ""))

    assert repeated.first({"title": "100 %(title)s"}).title == "100 %(title)s"


def test_a_statement_without_a_result_returns_none(context):
    assert SELECT.first({"created": TIME}) is None


def count_by_session():
    return db.session.scalar(select(func.count(Todo.id)))


def in_transaction(*steps):
    with transaction():
        return [step() for step in steps]


@pytest.mark.parametrize("run", [lambda step: step(), in_transaction], ids=["alone", "within"])
def test_a_constraint_violation_is_an_integrity_error_without_values(context, run):
    with pytest.raises(IntegrityError) as caught:
        run(lambda: INSERT.first({**ROW, "owner_id": 4711}))

    assert "2026" not in str(caught.value)
    assert INSERT.first(ROW).owner_id == 1


def test_a_statement_outside_a_transaction_commits_by_itself(app, context, database_url):
    INSERT.first(ROW)

    with connected(database_url) as connection:
        assert connection.scalar(text("SELECT count(*) FROM todos")) == 1
    assert db.engine.pool.checkedout() == 0


def test_a_statement_takes_part_in_an_open_transaction(context):
    seen = []
    with pytest.raises(IntegrityError):
        in_transaction(
            lambda: db.session.execute(insert(Todo), [{**ROW, "title": "b"}]),
            lambda: seen.append(SELECT.first({"created": TIME}).title),
            lambda: INSERT.first({**ROW, "title": "c"}),
            lambda: seen.append((COUNT.first({}).number, count_by_session())),
            lambda: INSERT.first({**ROW, "owner_id": 4711}),
        )

    assert seen == ["b", (2, 2)]
    assert COUNT.first({}).number == 0


def test_statements_are_prepared_anew_after_a_rollback(context):
    """The driver deallocates all that it has prepared, also for its cursors."""
    for _ in range(12):
        COUNT.first({})
        count_by_session()

    with pytest.raises(IntegrityError):
        in_transaction(lambda: INSERT.first({**ROW, "owner_id": 4711}))

    assert [COUNT.first({}).number for _ in range(12)] == [0] * 12
    assert count_by_session() == 0


def test_more_statements_than_a_connection_keeps_are_executed(context):
    INSERT.first(ROW)
    numbers = range(110)
    statements = [
        PreparedStatement(select(TODOS.title, literal(number).label(f"n{number}")))
        for number in numbers
    ]
    for _ in range(7):
        rows = [statement.first({}) for statement in statements]

    assert [row[1] for row in rows] == list(numbers)


only_postgres = pytest.mark.only_on("postgresql")


def end_connections(url):
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid != "
    with connected(url) as connection:
        connection.execute(text(f"{end} pg_backend_pid() AND datname IS NOT NULL"))


@only_postgres
def test_a_pooled_connection_closed_by_the_server_is_replaced(context, database_url):
    INSERT.first(ROW)
    end_connections(database_url)

    assert COUNT.first({}).number == 1


@only_postgres
def test_a_connection_closed_by_the_server_in_a_transaction_fails_once(context, database_url):
    with pytest.raises(OperationalError) as caught:
        in_transaction(lambda: end_connections(database_url), lambda: COUNT.first({}))

    assert caught.value.connection_invalidated
    assert in_transaction(lambda: INSERT.first(ROW).owner_id, count_by_session) == [1, 1]
    assert COUNT.first({}).number == 1


@only_postgres
def test_a_read_by_the_connection_of_a_session_that_the_server_closed_is_repeated(
    context, database_url
):
    db.session.execute(select(Todo.id))
    end_connections(database_url)

    assert COUNT.first({}).number == 0


def test_a_statement_is_limited_by_the_statement_time_out(shared_app):
    app = shared_app(STATEMENT_TIMEOUT=0.3)
    numbers = select(literal(1).label("number")).cte(recursive=True)
    endless = numbers.union_all(select(numbers.c.number + 1))
    slow = PreparedStatement(select(func.count().label("rows")).select_from(endless))

    for joins in (False, True):
        with app.test_request_context():
            if joins:
                db.session.execute(select(Todo.id))
            with pytest.raises(OperationalError) as caught:
                slow.first({})
        cause = caught.value.orig
        state = getattr(cause, "sqlstate", None) or cause.sqlite_errorname
        assert state in {"57014", "SQLITE_INTERRUPT"}
