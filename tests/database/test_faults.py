"""Errors of real databases, and what the service takes them for."""

import pytest
from sqlalchemy.exc import DBAPIError, TimeoutError

from app.database.faults import (
    Violated,
    error_reason,
    is_foreign_key_violation,
    is_missing_table,
    is_read_only,
    is_timeout,
    violated_columns,
)
from app.database.session import db

pytestmark = pytest.mark.both_databases

TABLES = [
    "CREATE TEMPORARY TABLE makers (id INTEGER PRIMARY KEY)",
    "CREATE TEMPORARY TABLE things (a INTEGER, b INTEGER, maker INTEGER REFERENCES makers,"
    " UNIQUE (a, b))",
    "INSERT INTO things (a, b) VALUES (1, 2)",
]


@pytest.fixture
def fail(app):
    """Return the error of a statement."""
    with app.app_context(), db.engine.connect() as connection:
        connection.detach()
        for statement in TABLES:
            connection.exec_driver_sql(statement)

        def fail(statement):
            with pytest.raises(DBAPIError) as caught:
                connection.exec_driver_sql(statement)
            return caught.value

        yield fail


@pytest.mark.parametrize("statement", ["SELECT 1 FROM absent", "SELECT absent FROM things"])
def test_a_table_or_column_that_does_not_exist(fail, statement):
    error = fail(statement)

    assert is_missing_table(error)
    assert "absent" in error_reason(error)
    assert violated_columns(error) is None
    others = (is_timeout, is_read_only, is_foreign_key_violation)
    assert not [is_other for is_other in others if is_other(error)]


def test_a_unique_constraint_is_named_by_its_columns(fail):
    error = fail("INSERT INTO things (a, b) VALUES (1, 2)")

    assert violated_columns(error) == violated_columns(error.orig) == Violated("things", {"a", "b"})
    assert not is_missing_table(error)
    assert not is_foreign_key_violation(error)


def test_a_foreign_key_is_another_constraint(fail):
    error = fail("INSERT INTO things (maker) VALUES (7)")

    assert is_foreign_key_violation(error)
    assert violated_columns(error) is None


def test_waiting_for_a_connection_may_take_too_long():
    assert is_timeout(TimeoutError("no connection"))


def test_the_reason_is_one_line_or_nothing():
    assert error_reason(ValueError("\nfirst\nsecond")) == "first"
    assert error_reason(ValueError()) == ""
