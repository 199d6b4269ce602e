"""The parser of filters: JSON becomes a tree, without a database or an app."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from app.errors import InvalidFilter
from app.ids import OBJECT_ID
from app.rest.filters import kinds
from app.rest.filters.parser import parse_filter, parse_where
from app.rest.filters.patterns import LikePattern
from app.rest.filters.remote_query import remote_order, remote_where
from app.rest.filters.tree import (
    OTHERS,
    Comparison,
    Filter,
    Group,
    Near,
    Order,
    Pattern,
    Place,
)

KINDS = {
    "id": kinds.identifier(OBJECT_ID),
    "count": kinds.INTEGER,
    "price": kinds.DECIMAL,
    "title": kinds.TEXT,
    "state": kinds.enumeration(["open", "closed"]),
    "isDone": kinds.BOOLEAN,
    "created": kinds.TIME,
    "day": kinds.DATE,
    "tags": kinds.ARRAYS[str],
    "scores": kinds.ARRAYS[float],
    "address": kinds.OBJECT,
    "place": kinds.POSITION,
}
OBJECT = "507f1f77bcf86cd799439011"
TIME = "2026-01-02T03:04:05.678Z"


def compared(name, operator, operand, kind=None, steps=()):
    return Comparison(Place(name, steps), kind or KINDS[name], operator, operand)


def like(text, **options):
    return Pattern(text, (LikePattern(text),), **options)


def named(value):
    """Return the name of a case: what the client sends."""
    try:
        return json.dumps(value)[:60]
    except TypeError:
        return ""


A_B = (compared("title", "eq", "a"), compared("title", "eq", "b"))


@pytest.mark.parametrize(
    ("where", "parsed"),
    [
        ({}, ()),
        ({"title": "a"}, A_B[:1]),
        ({"title": {"eq": "a", "neq": None}}, (A_B[0], compared("title", "neq", None))),
        ({"id": OBJECT.upper()}, (compared("id", "eq", OBJECT),)),
        ({"count": "7"}, (compared("count", "eq", 7),)),
        ({"count": {"between": ["1", 2]}}, (compared("count", "between", (1, 2)),)),
        ({"count": {"inq": [1, None]}}, (compared("count", "inq", (1, None)),)),
        ({"price": {"lte": "12.50"}}, (compared("price", "lte", Decimal("12.50")),)),
        ({"isDone": "false"}, (compared("isDone", "eq", False),)),
        ({"title": {"exists": "true"}}, (compared("title", "exists", True),)),
        (
            {"created": {"gt": TIME}},
            (compared("created", "gt", datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)),),
        ),
        ({"day": "2026-01-02"}, (compared("day", "eq", date(2026, 1, 2)),)),
        ({"tags": {"nin": ["a"]}}, (compared("tags", "nin", ("a",)),)),
        ({"scores": 1}, (compared("scores", "eq", 1.0),)),
        ({"address": None}, (compared("address", "eq", None),)),
        ({"title": {"like": "a%"}}, (compared("title", "like", like("a%")),)),
        (
            {"title": {"nilike": "a%"}},
            (compared("title", "nilike", like("a%", ignores_case=True)),),
        ),
        (
            {"title": {"like": "a%", "options": "i"}},
            (compared("title", "like", like("a%", ignores_case=True)),),
        ),
        (
            {"address.city": {"neq": "Bonn"}},
            (compared("address", "neq", "Bonn", kinds.TEXT, ("city",)),),
        ),
        (
            {"address.floor": {"inq": [None, 2]}},
            (compared("address", "inq", (None, 2.0), kinds.NUMBER, ("floor",)),),
        ),
        ({"address.new": True}, (compared("address", "eq", True, kinds.BOOLEAN, ("new",)),)),
        ({"or": [{"title": "a"}, {"title": "b"}]}, (Group("or", (A_B[:1], A_B[1:])),)),
        ({"and": [{}, {"title": "b"}]}, (Group("and", ((), A_B[1:])),)),
    ],
    ids=named,
)
def test_conditions_become_nodes_with_operands_of_the_type_of_the_property(where, parsed):
    assert parse_where(where, KINDS) == parsed


def test_the_alternatives_of_a_regular_expression_are_parsed_once():
    [comparison] = parse_where({"title": {"regexp": "/^a.*b|c_d$/i"}}, KINDS)

    expression, plain = comparison.operand.alternatives
    assert comparison.operand.ignores_case
    assert (expression.as_glob(), expression.as_regexp()) == ("a*b*", "^a.*b")
    assert plain == LikePattern(r"%c\_d")


def test_a_position_has_limits_in_radians_and_orders_by_distance():
    given = {"near": "52.5,13.4", "maxDistance": 6371.0088, "unit": "kilometers"}

    filter_ = parse_filter({"where": {"place": given}}, KINDS)

    near = Near({"lat": 52.5, "lng": 13.4}, least=None, most=1.0, given=given)
    assert filter_.where == (compared("place", "near", near),)
    assert filter_.order == (Order(Place("place"), near=near),)


def test_properties_that_are_not_declared_are_paths_in_what_holds_them():
    open_kinds = {**KINDS, OTHERS: kinds.OBJECT}

    [comparison] = parse_where({"color.name": "red"}, open_kinds)

    assert comparison == compared(OTHERS, "eq", "red", kinds.TEXT, ("color", "name"))
    assert str(comparison.place) == "color.name"


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        (None, {}),
        ({"order": "title DESC"}, {"order": (Order(Place("title"), descending=True),)}),
        (
            {"order": ["count", "count desc", "address.city ASC"]},
            {"order": (Order(Place("count")), Order(Place("address", ("city",))))},
        ),
        *(
            ({"order": order}, {"order": (Order(Place("title"), True), Order(Place("count")))})
            for order in (
                "title DESC, count",
                "title DESC,count ASC",
                " title desc ,, count ,",
                ["title DESC, count"],
                ["title DESC", "", "count,"],
            )
        ),
        *(({"order": order}, {}) for order in ("", ",", [""], [])),
        ({"limit": "5", "offset": 2}, {"limit": 5, "skip": 2}),
        *(({"limit": limit}, {"limit": 1000}) for limit in (9999, 10**30, "9" * 20, 1e300)),
        ({"limit": 5.0, "skip": 2.0}, {"limit": 5, "skip": 2}),
        ({"fields": ["title"]}, {"fields": {"title"}}),
        ({"fields": {"title": False}}, {"fields": KINDS.keys() - {"title"}}),
        ({"include": "todos"}, {"include": {"todos": {}}}),
        (
            {"include": [{"relation": "todos", "scope": {"limit": 1}}, {"owner": "todos"}]},
            {"include": {"todos": {"limit": 1}, "owner": {"include": "todos"}}},
        ),
    ],
    ids=named,
)
def test_the_other_parts_of_a_filter(raw, parsed):
    assert parse_filter(raw, KINDS) == Filter(**parsed, raw=raw or {})


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"nope": 1}, "A filter has no 'nope'"),
        ({"where": {"nope": 1}}, "There is no property 'nope'; there are id, count,"),
        ({"where": {"nope": {}}}, "There is no property 'nope'; there are id, count,"),
        ({"where": {"and": [{"nope": {"options": "i"}}]}}, "There is no property 'nope';"),
        ({"where": {"title": {"$gt": ""}}}, "title has no operator '$gt'; there are eq, neq, gt,"),
        ({"where": {"tags": {"gt": 1}}}, "tags has no operator 'gt'; there are eq, neq, inq,"),
        ({"where": {"count": 1.5}}, "count.eq must be a whole number."),
        ({"where": {"id": "x"}}, "id.eq must be 24 hexadecimal digits."),
        ({"where": {"state": "new"}}, "state.eq must be one of open, closed."),
        ({"where": {"count": {"gt": None}}}, "count.gt must not be null."),
        ({"where": {"count": {"between": [1]}}}, "count.between must be a list of two."),
        ({"where": {"count": {"like": "1%"}}}, "count.like must compare text with a text."),
        ({"where": {"title": {"regexp": "(a+)+$"}}}, "title.regexp takes text, ., .*, .+"),
        ({"where": {"title": {"gt": "a", "options": "i"}}}, 'title.options must be "i", beside'),
        ({"where": {"address": None, "title.x": 1}}, "'title.x' is no path"),
        ({"where": {"address": {"eq": {}}}}, "address.eq must be null"),
        ({"where": {"title": {}}}, "title must be a value, or an object with an operator."),
        ({"where": {"title": {"options": "i"}}}, "title must be a value, or an object with an"),
        ({"where": {"or": [{"id": OBJECT}, {"and": [{"count": {}}]}]}}, "count must be a value"),
        ({"where": {"tags": {}}}, "tags must be a value"),
        ({"where": {"place": {}}}, "place must be a value"),
        ({"where": {"address.city": {}}}, "address.city must be a value"),
        ({"where": []}, "where must be an object."),
        ({"where": ""}, "where must be an object."),
        ({"where": {"address.a b": 1}}, "'address.a b' is no path: after the property"),
        ({"where": {"title": {"near": "1,2"}}}, "title.near is for positions."),
        ({"where": {"place": {"near": "x"}}}, "place.near must be a position"),
        ({"order": "place"}, "order: place has no order"),
        ({"order": "title up"}, 'The order "title up" has invalid direction'),
        ({"order": "title, count up"}, 'The order "count up" has invalid direction'),
        ({"order": "title ASC count"}, "The order 'title ASC count' must be a property"),
        ({"order": ["title", 7]}, "The order '7' must be a property"),
        ({"order": ",".join(["title"] * 21)}, "order must not have more than 20 properties."),
        ({"limit": -1}, 'The limit parameter "-1" is not valid'),
        ({"limit": 1.5}, 'The limit parameter "1.5" is not valid'),
        ({"limit": "9" * 21}, 'The limit parameter "99999'),
        ({"limit": float("inf")}, 'The limit parameter "inf" is not valid'),
        ({"skip": 2**31}, 'The skip parameter "2147483648" is not valid'),
        ({"skip": 1e300}, 'The skip parameter "1e+300" is not valid'),
        ({"fields": {"title": "maybe"}}, "fields.title must be true or false."),
        ({"include": [7]}, "include must name things by text."),
    ],
    ids=named,
)
def test_a_filter_that_is_refused_names_the_invalid_part(raw, problem):
    with pytest.raises(InvalidFilter) as caught:
        parse_filter(raw, KINDS)

    assert caught.value.description.startswith(problem)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"nope": {"inq": [1] * 1001}}, "The filter has more than 1000 list items."),
        ({"or": [{"nope": 1}] * 250}, "The filter has more than 250 properties and operators."),
        ({"nope": {"like": "x" * 101}}, "nope.like must not have more than 100 characters."),
        ({"or": [{"nope": {"like": "x"}}] * 6}, "nope.like: a filter has at most 5 patterns;"),
        ({"title": {"regexp": "a|b|c|d|e|f"}}, "title.regexp: a filter has at most 5 patterns;"),
        ({"title": {"like": "%a_bcdefghijklmnopqrstu"}}, "title.like: patterns that are more"),
        ({"tags": {"inq": ["a"] * 21}}, "A filter compares at most 20 values"),
        ({"and": [{"tags": "a"}] * 3}, "A filter has at most 2 conditions on arrays;"),
    ],
    ids=named,
)
def test_what_a_filter_costs_is_bounded_and_its_size_before_it_is_parsed(where, problem):
    with pytest.raises(InvalidFilter) as caught:
        parse_filter({"where": where}, KINDS)

    assert caught.value.description.startswith(problem)


@pytest.mark.parametrize(
    ("where", "sent"),
    [
        (
            {"title": {"eq": "a"}, "count": {"gt": "1", "lt": 9}},
            {"title": "a", "count": {"gt": 1, "lt": 9}},
        ),
        ({"count": {"eq": 1, "neq": 2}}, None),
        ({"or": [{"title": "a"}, {"and": [{}, {"isDone": True}]}]}, None),
        ({"title": {"nlike": "%a", "options": "i"}}, None),
        ({"title": {"like": "a/i", "options": "i"}}, None),
        ({"title": {"regexp": "a/i", "options": "i"}}, None),
        ({"title": {"regexp": "/a/i"}, "created": {"between": [TIME, TIME]}}, None),
        ({"title": {"ilike": "a%", "exists": True}}, None),
        ({"day": "2026-01-02", "price": "1.50", "tags": {"inq": ["a"]}}, None),
        ({"address.city": {"neq": None}}, None),
        ({"place": {"near": "1,2", "maxDistance": 3, "unit": "feet"}}, None),
        ({"created": {"lt": 1767323045678}}, {"created": {"lt": TIME}}),
        ({"count": {"inq": ["1"]}}, {"count": {"inq": [1]}}),
    ],
    ids=named,
)
def test_a_remote_service_is_asked_in_the_form_of_the_client(where, sent):
    assert remote_where(parse_where(where, KINDS)) == (sent or where)


@pytest.mark.parametrize(
    ("order", "sent"),
    [
        ("title DESC", "title DESC"),
        (["count ASC"], "count"),
        ("title DESC, count", ["title DESC", "count"]),
        (None, []),
    ],
)
def test_a_remote_service_is_asked_for_the_parsed_order(order, sent):
    assert remote_order(parse_filter({"order": order}, KINDS).order) == sent


def test_the_distance_is_no_order_for_a_remote_service():
    filter_ = parse_filter({"where": {"place": {"near": "1,2"}}}, KINDS)

    assert remote_order(filter_.order) == []
