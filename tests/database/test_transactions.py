"""`transaction()` is atomic, and statements outside of it commit by themselves."""

import ast
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import bindparam, delete, insert, make_url, select, text
from sqlalchemy.exc import IntegrityError

import app as package
from app.access.roles import Role
from app.database.session import (
    after_commit,
    begin_held,
    db,
    held_transaction,
    in_transaction,
    savepoint,
    transaction,
)
from app.database.statements import PreparedStatement
from tests.support.databases import connected
from tests.support.rows import count

ROLES = Role.__table__
INSERT = PreparedStatement(insert(ROLES).values(name=bindparam("name")).returning(ROLES.c.name))


@pytest.fixture
def context(app):
    with app.app_context():
        yield


def add(name):
    db.session.execute(insert(Role.__table__).values(name=name))


def run(*steps):
    """Take steps in one transaction; an exception in their place is raised."""
    with transaction():
        for step in steps:
            if isinstance(step, BaseException):
                raise step
            step()


def adding(name):
    return lambda: add(name)


def names():
    return set(db.session.scalars(select(Role.name)))


def checked_out():
    return db.engine.pool.checkedout()


def seen_by_others(database_url):
    with connected(database_url) as connection:
        return set(connection.scalars(text("SELECT name FROM roles")))


@pytest.mark.both_databases
def test_a_statement_alone_is_committed_at_once(context, database_url):
    add("a")

    assert seen_by_others(database_url) == {"a"}


@pytest.mark.both_databases
def test_a_transaction_commits_at_the_end_of_its_block(context, database_url):
    with transaction():
        add("a")
        before = names(), seen_by_others(database_url)
        add("b")

    assert before == ({"a"}, set())
    assert seen_by_others(database_url) == {"a", "b"}


@pytest.mark.both_databases
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_rolls_back_and_the_session_stays_usable(context, database_url, error):
    with pytest.raises(error):
        run(adding("a"), error())

    add("b")
    with transaction():
        add("c")
    assert names() == seen_by_others(database_url) == {"b", "c"}


@pytest.mark.both_databases
def test_a_database_error_rolls_back_and_the_session_stays_usable(context, database_url):
    with pytest.raises(IntegrityError):
        run(adding("a"), adding("a"))

    with transaction():
        add("b")
    assert names() == seen_by_others(database_url) == {"b"}


@pytest.mark.both_databases
def test_an_entity_that_failed_to_insert_is_not_inserted_again(context):
    add("a")
    with pytest.raises(IntegrityError), transaction():
        db.session.add(Role(name="a"))

    with transaction():
        db.session.add(Role(name="b"))
    assert names() == {"a", "b"}


@pytest.mark.both_databases
def test_a_nested_transaction_joins_the_outer_one(context, database_url):
    between = []
    inner = [lambda: run(adding("a")), lambda: between.append(seen_by_others(database_url))]
    with pytest.raises(ValueError, match="outer"):
        run(*inner, ValueError("outer"))
    run(lambda: run(adding("b")))

    assert between == [set()]
    assert seen_by_others(database_url) == {"b"}


@pytest.mark.both_databases
@pytest.mark.parametrize("error", [None, ValueError])
def test_prepared_statements_and_the_session_are_in_one_transaction(context, database_url, error):
    seen = []
    steps = [
        lambda: INSERT.first({"name": "prepared"}),
        adding("sent"),
        lambda: db.session.add(Role(name="flushed")),
        lambda: seen.append((names(), seen_by_others(database_url))),
    ]
    if error:
        with pytest.raises(error):
            run(*steps, error())
    else:
        run(*steps)

    everything = {"prepared", "sent", "flushed"}
    assert seen == [(everything, set())]
    assert names() == seen_by_others(database_url) == (set() if error else everything)
    assert checked_out() == 1


@pytest.mark.both_databases
def test_a_transaction_of_prepared_statements_needs_no_session(context, database_url):
    with pytest.raises(IntegrityError):
        run(lambda: INSERT.first({"name": "a"}), lambda: INSERT.first({"name": "a"}))
    with transaction():
        INSERT.first({"name": "b"})
        before = seen_by_others(database_url)

    assert (before, seen_by_others(database_url)) == (set(), {"b"})
    assert not db.session.registry.has()
    assert checked_out() == 0


@pytest.mark.both_databases
def test_what_the_session_has_not_sent_is_committed_with_prepared_statements(context, database_url):
    with transaction():
        INSERT.first({"name": "a"})
        db.session.add(Role(name="b"))

    assert seen_by_others(database_url) == {"a", "b"}


@pytest.mark.both_databases
def test_an_action_runs_after_the_commit_at_once_without_one_and_not_after_a_rollback(context):
    done = []
    with transaction():
        with transaction():
            after_commit(lambda: done.append("nested"))
        assert done == []
    after_commit(lambda: done.append("alone"))
    with pytest.raises(ZeroDivisionError):
        run(lambda: after_commit(lambda: done.append("rolled back")), ZeroDivisionError())

    assert done == ["nested", "alone"]


@pytest.mark.only_on("sqlite")
@pytest.mark.both_databases
def test_a_block_that_raises_in_a_savepoint_is_undone_alone(context, database_url):
    done = []

    def fail(outer):
        with savepoint():
            add(f"{outer}-1")
            INSERT.first({"name": f"{outer}-2"})
            db.session.add(Role(name=f"{outer}-3"))
            after_commit(lambda: done.append(f"{outer}-4"))
            raise KeyError(outer)

    with transaction():
        add("a")
        db.session.add(Role(name="b"))
        after_commit(lambda: done.append("c"))
        with pytest.raises(KeyError):
            fail("inner")
        with savepoint():
            with pytest.raises(KeyError):
                fail("innermost")
            add("d")
        INSERT.first({"name": "e"})
    with pytest.raises(KeyError):
        fail("alone")
    with savepoint():
        add("f")

    assert seen_by_others(database_url) == names() == {"a", "b", "d", "e", "f"}
    assert done == ["c"]


@pytest.mark.only_on("sqlite")
def test_a_transaction_locks_sqlite_for_writing_from_its_start(app, context, database_url):
    path = make_url(database_url).database
    other = sqlite3.connect(path, timeout=0, isolation_level=None)

    with transaction():
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        assert other.execute("SELECT count(*) FROM roles").fetchone() == (0,)
    other.execute("BEGIN IMMEDIATE")
    other.close()


@pytest.mark.only_on("sqlite")
def test_a_transaction_that_fails_to_lock_leaves_a_usable_session(context, database_url):
    other = sqlite3.connect(make_url(database_url).database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    db.session.execute(text("PRAGMA busy_timeout=1"))

    with pytest.raises(Exception, match="locked"), transaction():
        add("a")
    other.close()
    with transaction():
        add("b")
    # The connection that waits a millisecond must not serve another test.
    db.engine.dispose()

    assert seen_by_others(database_url) == {"b"}


@pytest.mark.both_databases
def test_the_state_of_a_transaction_does_not_outlive_its_app_context(app, database_url):
    with app.app_context(), transaction():
        add("a")
    with app.app_context():
        db.session.execute(delete(Role))

    assert count(app, Role) == 0


def test_only_transaction_commits_and_rolls_back():
    root = Path(package.__file__).parents[1]
    found = {
        (path.relative_to(root).as_posix(), ast.unparse(node))
        for name in ("app", "ostiary_loopback")
        for path in (root / name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"commit", "rollback", "begin", "begin_nested"}
    }

    assert found == {
        *(("app/database/session.py", f"Session.{word}") for word in ("commit", "rollback")),
        *(
            ("app/database/session.py", f"super().{word}")
            for word in ("begin", "commit", "rollback")
        ),
        ("app/database/session.py", "session.rollback"),
        # Connections, not sessions: one prolongs a token, which may fail, one tries the database
        # at the start.
        ("app/database/engine.py", "connection.commit"),
        ("app/database/startup.py", "connection.rollback"),
        # What the pool calls for a connection that is returned.
        ("app/database/libpq.py", "super().rollback"),
        ("app/database/session.py", "db.session.begin_nested"),
        # An enrolment begins.
        ("app/factors/steps.py", "enrolment.begin"),
        ("app/factors/views.py", "totp.begin"),
        ("app/factors/passkeys/views.py", "service.begin"),
        # An answer begins.
        ("app/server/worker.py", "conn.outgoing.begin"),
        ("app/changes/endpoints.py", "parked.begin"),
        # What begins there is a login.
        ("app/oauth/login.py", "flows.begin"),
        ("app/oauth/views.py", "login.begin"),
    }


# Transactions that are held


def hold(*steps):
    """Take steps while transactions are held; an exception in their place is raised."""
    with held_transaction():
        for step in steps:
            if isinstance(step, BaseException):
                raise step
            step()


def failing(*steps):
    """Return a step that takes these in one transaction, which fails, and goes on."""

    def fail():
        with pytest.raises(ZeroDivisionError):
            run(*steps, ZeroDivisionError())

    return fail


@pytest.mark.both_databases
def test_a_held_transaction_commits_at_the_end_what_its_transactions_have_done(
    context, database_url
):
    done = []
    with held_transaction():
        add("before")
        assert seen_by_others(database_url) == {"before"}
        run(adding("a"), lambda: after_commit(lambda: done.append("a")))
        add("b")
        run(adding("c"))
        assert (seen_by_others(database_url), done) == ({"before"}, [])

    assert (seen_by_others(database_url), done) == ({"before", "a", "b", "c"}, ["a"])
    assert not in_transaction()


@pytest.mark.both_databases
def test_a_held_transaction_is_undone_with_its_block(context, database_url):
    with pytest.raises(ZeroDivisionError):
        hold(begin_held, adding("a"), lambda: run(adding("b")), ZeroDivisionError())

    assert seen_by_others(database_url) == set()
    assert not in_transaction()
    run(adding("c"))
    assert seen_by_others(database_url) == {"c"}


@pytest.mark.both_databases
def test_the_first_transaction_that_is_held_may_fail_and_be_tried_again(context, database_url):
    hold(failing(adding("a")), lambda: run(adding("b")))

    assert seen_by_others(database_url) == {"b"}


@pytest.mark.both_databases
def test_if_a_later_one_fails_all_are_undone_and_this_is_an_error(context, database_url):
    with pytest.raises(RuntimeError):
        hold(lambda: run(adding("a")), failing(adding("b")))

    assert seen_by_others(database_url) == set()


@pytest.mark.both_databases
@pytest.mark.parametrize("first", [begin_held, names])
def test_a_nested_one_may_fail_as_if_nothing_were_held(context, database_url, first):
    hold(first, lambda: run(adding("a"), failing()))

    assert seen_by_others(database_url) == {"a"}


def test_begin_held_does_nothing_where_none_is_held(context):
    begin_held()

    assert not in_transaction()


def test_a_block_without_a_transaction_holds_none(context):
    with held_transaction():
        assert names() == set()
        assert not in_transaction()

    db.session.remove()
    assert checked_out() == 0


@pytest.mark.both_databases
@pytest.mark.parametrize("method", ["begin", "commit", "rollback"])
def test_a_transaction_ends_with_its_block_only(app, context, method):
    def end():
        add("first")
        getattr(db.session, method)()

    with pytest.raises(RuntimeError, match="called within a transaction"), transaction():
        end()

    add("second")
    db.session.commit()
    assert names() == {"second"}


def test_an_action_that_fails_after_the_commit_does_not_prevent_the_next_ones(app, context):
    done = []

    def write():
        add("first")
        after_commit(lambda: done.append(1))
        after_commit(lambda: 1 / 0)
        after_commit(lambda: done.append(2))

    with pytest.raises(ZeroDivisionError), transaction():
        write()

    assert done == [1, 2]
    assert names() == {"first"}
