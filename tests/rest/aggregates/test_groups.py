"""Groups: values, units of time, null, order, limit and skip, on both databases."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from tests.rest.samples import CODES

pytestmark = pytest.mark.both_databases
N = {"n": {"count": "*"}}


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("text", ["b", "B", "a", "b"], ["B", "a", "b"]),
        ("count", [3, -1, 3], [-1, 3]),
        ("ratio", [0.5, -2.25], [-2.25, 0.5]),
        ("flag", [True, False, True], [False, True]),
        ("price", [Decimal("9.50"), Decimal("10.00")], ["9.50", "10.00"]),
        ("code", [UUID(CODES[0]), UUID(CODES[0])], [CODES[0]]),
        ("status", ["open", "closed"], ["closed", "open"]),
        ("color", ["red", "green"], ["green", "red"]),
        (
            *("at", [datetime(2026, 1, 2, tzinfo=UTC), datetime(2025, 1, 2, tzinfo=UTC)]),
            ["2025-01-02T00:00:00.000Z", "2026-01-02T00:00:00.000Z"],
        ),
        ("due_on", [date(2026, 1, 2)], ["2026-01-02"]),
    ],
)
def test_rows_are_grouped_by_values_and_null_is_a_group(store, aggregate, name, values, expected):
    store({name: None}, *({name: value} for value in values))
    property_ = {"due_on": "dueOn"}.get(name, name)

    found = aggregate(groupBy=[property_], aggregate=N)

    assert [group[property_] for group in found] == [None, *expected]
    assert sum(group["n"] for group in found) == len(values) + 1


@pytest.mark.parametrize(
    ("unit", "time", "start"),
    [
        ("year", "2026-12-31T23:59:59.999", "2026-01-01T00:00:00"),
        ("month", "2024-02-29T23:59:59.999", "2024-02-01T00:00:00"),
        ("week", "2026-01-01T00:00:00.000", "2025-12-29T00:00:00"),
        ("week", "2025-12-28T23:59:59.999", "2025-12-22T00:00:00"),
        ("week", "2025-12-29T00:00:00.000", "2025-12-29T00:00:00"),
        ("day", "2026-03-29T01:59:59.999", "2026-03-29T00:00:00"),
        ("hour", "2026-03-29T01:59:59.999", "2026-03-29T01:00:00"),
        ("week", "0001-01-02T00:00:00.000", "0001-01-01T00:00:00"),
        ("year", "0001-01-02T00:00:00.000", "0001-01-01T00:00:00"),
        ("week", "9999-12-30T23:59:59.999", "9999-12-27T00:00:00"),
        ("year", "9999-12-30T23:59:59.999", "9999-01-01T00:00:00"),
    ],
)
def test_times_are_grouped_by_the_unit_that_they_are_in(store, aggregate, unit, time, start):
    store({"at": datetime.fromisoformat(f"{time}+00:00")})

    assert aggregate(groupBy=[{"at": unit}]) == [{"at": f"{start}.000Z"}]


@pytest.mark.parametrize(
    ("unit", "day", "start"),
    [
        ("year", date(2026, 12, 31), "2026-01-01"),
        ("month", date(2024, 2, 29), "2024-02-01"),
        ("week", date(2026, 1, 4), "2025-12-29"),
        ("day", date(2026, 1, 4), "2026-01-04"),
        ("week", date(1, 1, 1), "0001-01-01"),
        ("week", date(9999, 12, 31), "9999-12-27"),
    ],
)
def test_dates_are_grouped_by_the_unit_that_they_are_in(store, aggregate, unit, day, start):
    store({"due_on": day})

    assert aggregate(groupBy=[{"dueOn": unit}]) == [{"dueOn": start}]


def test_groups_of_several_properties_are_ordered_by_them(store, aggregate):
    store(
        {"status": "open", "flag": True},
        {"status": "closed", "flag": True},
        {"status": "open", "flag": False},
        {"status": "open", "flag": True},
    )

    found = aggregate(groupBy=["status", "flag"], aggregate=N)

    assert found == [
        {"status": "closed", "flag": True, "n": 1},
        {"status": "open", "flag": False, "n": 1},
        {"status": "open", "flag": True, "n": 2},
    ]


def test_groups_are_ordered_by_functions_then_by_what_is_left(store, aggregate):
    store(*({"text": text, "price": Decimal(price)} for text, price in PRICES))

    found = aggregate(
        groupBy="text", aggregate=N | {"total": {"sum": "price"}}, order=["total DESC", "n"]
    )

    assert [group["text"] for group in found] == ["d", "b", "a", "c", None]


PRICES = [("a", "10"), ("b", "9"), ("b", "9"), ("c", "5"), ("c", "5"), ("d", "100"), (None, "-1")]


def test_order_limit_and_skip_choose_groups(store, aggregate):
    store(*({"count": number} for number in range(5)))

    first = aggregate(groupBy="count", order="count DESC", limit=2)
    next_ = aggregate(groupBy="count", order="count DESC", limit=2, skip=2)

    assert [group["count"] for group in first] == [4, 3]
    assert [group["count"] for group in next_] == [2, 1]


def test_only_the_rows_of_the_where_count(store, aggregate):
    store({"count": 1, "tags": ["a"]}, {"count": 2, "tags": ["b"]}, {"count": 3, "tags": ["a"]})

    found = aggregate(where={"tags": "a"}, aggregate={"total": {"sum": "count"}})

    assert found == [{"total": 4}]
