"""The functions of aggregates, for each type of property, on both databases."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from tests.rest.samples import BERLIN, CODES

pytestmark = pytest.mark.both_databases
FIRST, LAST = (datetime(2026, 1, day, 3, 4, 5, 678000, tzinfo=UTC) for day in (2, 9))


def test_counts_are_of_rows_of_values_and_of_different_values(store, compute):
    store({"color": "red"}, {"color": "red"}, {"color": "green"}, {"color": None})

    found = compute(
        rows={"count": "*"}, values={"count": "color"}, colors={"countDistinct": "color"}
    )

    assert found == {"rows": 4, "values": 3, "colors": 2}


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("count", [5, -7, None], {"sum": -2, "avg": -1.0, "min": -7, "max": 5}),
        ("ratio", [0.5, -2.25, None], {"sum": -1.75, "avg": -0.875, "min": -2.25, "max": 0.5}),
        (
            *("price", [Decimal("12.50"), Decimal("-0.01"), Decimal("0.10"), None]),
            {"sum": "12.59", "avg": "4.196667", "min": "-0.01", "max": "12.50"},
        ),
        ("text", ["b", "B", "a", "é", None], {"min": "B", "max": "é"}),
        ("status", ["open", "closed"], {"min": "closed", "max": "open"}),
        ("color", ["red", "green"], {"min": "green", "max": "red"}),
        (
            *("at", [LAST, FIRST, None]),
            {"min": "2026-01-02T03:04:05.678Z", "max": "2026-01-09T03:04:05.678Z"},
        ),
        (
            *("due_on", [date(2026, 3, 1), date(2025, 12, 31)]),
            {"min": "2025-12-31", "max": "2026-03-01"},
        ),
    ],
)
def test_values_have_the_form_of_their_property(store, compute, name, values, expected):
    store(*({name: value} for value in values))
    property_ = {"due_on": "dueOn"}.get(name, name)

    found = compute(**{word: {word: property_} for word in expected})

    assert found == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("flag", [True, False, False]),
        ("code", [UUID(code) for code in CODES[:2]]),
        ("address", [{"city": "Berlin"}, {}]),
        ("tags", [["a"], []]),
        ("place", [BERLIN, BERLIN]),
    ],
)
def test_values_without_an_order_are_counted(store, compute, name, values):
    store(*({name: value} for value in [*values, None]))

    assert compute(values={"count": name}) == {"values": len(values)}


def test_functions_of_no_rows_are_null_and_counts_are_0(compute):
    functions = {word: {word: "price"} for word in ("sum", "avg", "min", "max", "count")}

    found = compute(**functions, average={"avg": "ratio"}, whole={"sum": "count"})

    assert found == dict.fromkeys(("sum", "avg", "min", "max", "average", "whole")) | {"count": 0}


def test_sums_of_decimals_are_exact(store, compute):
    store(*[{"price": Decimal("0.10")}] * 30, *[{"price": Decimal("999999.99")}] * 200)

    assert compute(total={"sum": "price"}) == {"total": "200000001.00"}


def test_averages_of_decimals_are_rounded_half_away_from_zero(store, compute, aggregate):
    store(
        *({"text": "up", "price": Decimal("0.01") * (n == 0)} for n in range(32)),
        *({"text": "down", "price": Decimal("-0.01") * (n == 0)} for n in range(32)),
    )

    found = aggregate(groupBy="text", aggregate={"mean": {"avg": "price"}})

    assert found == [{"text": "down", "mean": "-0.000313"}, {"text": "up", "mean": "0.000313"}]


def test_sums_of_numbers_that_no_float_holds_are_refused(store, ask):
    store({"ratio": 1e308}, {"ratio": 1e308})

    for word in ("sum", "avg"):
        refused = ask(aggregate={"total": {word: "ratio"}})
        assert refused.status_code == 400
        assert "too large for a number" in refused.json["message"]


@pytest.mark.both_databases
def test_a_sum_that_is_0_has_no_sign(store, ask):
    store({"ratio": -0.0}, {"ratio": -0.0})

    assert ask(aggregate={"sum": {"sum": "ratio"}, "mean": {"avg": "ratio"}}).text == (
        '[{"sum":0.0,"mean":0.0}]\n'
    )


def test_averages_of_numbers_far_from_0_are_no_error(store, compute):
    store({"ratio": 1e200}, {"ratio": -1e200})

    assert compute(mean={"avg": "ratio"}) == {"mean": 0.0}


def test_having_compares_results_by_their_kind(store, aggregate):
    store(
        {"text": "a", "price": Decimal("1.10"), "count": 2**31 - 1, "at": FIRST, "color": "red"},
        {"text": "a", "price": Decimal("2.20"), "count": 2**31 - 1, "at": LAST, "color": "red"},
        {"text": "b", "price": Decimal("9.99"), "count": -1, "at": FIRST, "color": "green"},
    )
    functions = {
        "n": {"count": "*"},
        "total": {"sum": "price"},
        "mean": {"avg": "price"},
        "whole": {"sum": "count"},
        "last": {"max": "at"},
        "color": {"min": "color"},
    }
    selecting_a = [
        {"n": 2},
        {"n": {"neq": 1}},
        {"n": {"gt": "1"}},
        {"total": "3.30"},
        {"total": {"lt": 9.99}},
        {"total": {"between": ["3.29", "3.31"]}},
        {"mean": "1.650000"},
        {"mean": {"lt": "1.6501"}},
        {"whole": 2**32 - 2},
        {"whole": {"gt": 2**32 - 3}},
        {"whole": {"inq": [2**32 - 2, 5]}},
        {"whole": {"nin": [-1]}},
        {"last": {"gte": "2026-01-09T03:04:05.678Z"}},
        {"color": "red"},
        {"color": {"like": "r%"}},
        {"or": [{"n": 5}, {"and": [{"n": 2}, {"color": "red"}]}]},
    ]

    for having in selecting_a:
        found = aggregate(groupBy="text", aggregate=functions, having=having)
        assert [group["text"] for group in found] == ["a"], having


def test_having_may_exclude_the_only_result(store, aggregate):
    store({"count": 1})
    functions = {"n": {"count": "*"}}

    assert aggregate(aggregate=functions, having={"n": 1}) == [{"n": 1}]
    assert aggregate(aggregate=functions, having={"n": {"gt": 1}}) == []


def test_integers_beyond_the_exact_range_of_floats_are_written_in_full(store, ask):
    store(*[{"count": 2**31 - 1}] * 3)

    text = ask(aggregate={"total": {"sum": "count"}}).get_data(as_text=True)

    assert json.loads(text) == [{"total": 3 * (2**31 - 1)}]
