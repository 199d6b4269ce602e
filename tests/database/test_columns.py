"""Column types: what they store on each database, and what they return."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from app.database.columns import ExactDecimal, GeoPoint, Position, UtcDateTime, unit_vector

SQLITE, POSTGRESQL = sqlite.dialect(), postgresql.dialect()
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "on_sqlite", "on_postgresql"),
    [
        (None, None, None),
        (Decimal("1"), 100, Decimal("1.00")),
        (Decimal("-1.25"), -125, Decimal("-1.25")),
        (Decimal("1.2500"), 125, Decimal("1.25")),
        (Decimal("1E2"), 10000, Decimal("100.00")),
        (Decimal("999.99"), 99999, Decimal("999.99")),
    ],
)
def test_a_decimal_is_stored_exactly(value, on_sqlite, on_postgresql):
    column = ExactDecimal(5, 2)

    assert column.process_bind_param(value, SQLITE) == on_sqlite
    assert column.process_bind_param(value, POSTGRESQL) == on_postgresql
    assert column.process_result_value(on_sqlite, SQLITE) == value
    assert column.process_result_value(on_postgresql, POSTGRESQL) == value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("NaN", "not a number"),
        ("Infinity", "not a number"),
        ("1000", "more than 3 digits"),
        ("1E999999", "more than 3 digits"),
        ("0.001", "more than 2 decimals"),
        ("1E-999999", "more than 2 decimals"),
    ],
)
def test_a_decimal_that_does_not_fit_is_refused(value, problem):
    with pytest.raises(ValueError, match=problem):
        ExactDecimal(5, 2).exact(Decimal(value))


@pytest.mark.parametrize("digits", [(19, 2), (5, 6), (5, -1)])
def test_a_decimal_has_at_most_eighteen_digits(digits):
    with pytest.raises(ValueError, match="at most 18 digits"):
        ExactDecimal(*digits)


@pytest.mark.parametrize(
    ("given", "stored"),
    [(None, None), (NOON, NOON), (NOON.astimezone(timezone(timedelta(hours=5))), NOON)],
)
def test_a_time_is_stored_and_returned_in_utc(given, stored):
    column = UtcDateTime()

    found = column.process_bind_param(given, SQLITE)

    assert found == stored
    assert found is None or found.utcoffset() == timedelta(0)
    # SQLite returns it without a zone.
    naive = stored and stored.replace(tzinfo=None)
    assert column.process_result_value(naive, SQLITE) == stored
    assert column.process_result_value(given, POSTGRESQL) == stored


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        UtcDateTime().process_bind_param(datetime(2026, 1, 2), SQLITE)


@pytest.mark.parametrize(
    ("lat", "lng", "vector"),
    [(0, 0, (1, 0, 0)), (0, 90, (0, 1, 0)), (90, 0, (0, 0, 1)), (0, 180, (-1, 0, 0))],
)
def test_a_position_is_stored_with_its_unit_vector(lat, lng, vector):
    position, column = Position(lat=lat, lng=lng), GeoPoint()

    stored = column.process_bind_param(position, SQLITE)

    assert tuple(unit_vector(position).values()) == pytest.approx(vector)
    assert stored == {**position, **unit_vector(position)}
    assert column.process_result_value(stored, SQLITE) == position
