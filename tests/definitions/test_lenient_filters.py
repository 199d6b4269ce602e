"""Filters as clients of LoopBack 3 send them, with COMPATIBILITY and without it."""

import json

import pytest

from tests.support.answers import refusal

from .library import OPEN
from .test_compatibility import ON

COIN = {
    "name": "Coin",
    "properties": {
        "name": "string",
        "code": {"type": "string", "enum": ["42", "7", "true"]},
        "mint": "number",
        "gold": "boolean",
        "value": {"type": "decimal", "scale": 2},
        "secret": {"type": "string", "hidden": True},
        "pin": "string",
    },
    "protected": ["pin"],
    "relations": {
        "slug": {"type": "belongsTo", "model": "Slug"},
        "twins": {"type": "hasMany", "model": "Coin", "foreignKey": "twinId"},
    },
    "acls": OPEN,
}
SLUG = {
    "name": "Slug",
    "properties": {"id": {"type": "string", "id": True, "required": True, "length": 20}},
    "relations": {"coins": {"type": "hasMany", "model": "Coin"}},
    "acls": OPEN,
}
ROWS = [
    {"name": "5", "code": "42", "mint": 1, "gold": True, "slugId": "7", "secret": "b", "pin": "b"},
    {"name": "1.5", "code": "7", "mint": 2, "gold": False, "secret": "a", "pin": "a"},
    {"name": "true", "code": "true", "mint": 3},
]


@pytest.fixture
def ask(serve):
    """Serve coins with settings; return a function that asks for them with a filter."""

    def start(**settings):
        api = serve({"coin": COIN, "slug": SLUG}, **settings)
        token = api.logged_in()
        api("POST", "/slugs", {"id": "7"}, token=token)
        assert api("POST", "/coins", ROWS, token=token).status_code == 200
        api("POST", "/coins/update?where={}", {"twinId": 1}, token=token)

        def ask(filter_, path="/coins", **more):
            query = {"filter": json.dumps(filter_), **more}
            return api("GET", path, token=token, query_string=query)

        ask.api, ask.token = api, token
        return ask

    return start


def ids(response):
    assert response.status_code == 200, response.json
    return [each["id"] for each in response.json]


WHERES = [
    ({"name": 5}, [1]),
    ({"name": {"neq": 5}}, [2, 3]),
    ({"name": {"inq": [1.5, True]}}, [2, 3]),
    ({"name": {"between": [1, 5]}}, [1, 2]),
    ({"or": [{"name": 5}, {"and": [{"name": True}]}]}, [1, 3]),
    ({"code": {"inq": [42]}}, [1]),
    ({"code": True}, [3]),
    ({"slugId": 7}, [1]),
    ({"gold": 1}, [1]),
    ({"gold": 0}, [2]),
    ({"gold": "1"}, [1]),
    ({"gold": "0"}, [2]),
    ({"gold": 1.0}, [1]),
    ({"gold": {"neq": 1}}, [2, 3]),
    ({"gold": {"inq": [0, 1]}}, [1, 2]),
]
NEVER = [
    {"name": {"like": 5}},
    {"name": {}},
    {"name": [5]},
    {"name": {"inq": [{}]}},
    {"gold": 2},
    {"gold": "yes"},
    {"gold": ""},
    {"mint": "many"},
    {"mint": True},
    {"secret": "a"},
    {"color": "red"},
    {"or": [{"secret": "a"}]},
]


@pytest.mark.both_databases
@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_values_of_a_where_are_converted_with_the_setting_alone(ask, settings):
    coins = ask(**settings)

    for where, found in WHERES:
        response = coins({"where": where})
        if settings:
            assert ids(response) == found, where
        else:
            assert refusal(response) == (400, "INVALID_FILTER"), where
    for where in NEVER:
        assert refusal(coins({"where": where})) == (400, "INVALID_FILTER"), where


def test_values_are_converted_wherever_conditions_stand(ask):
    lenient = ask(**ON)
    where = {"name": 5, "gold": 1}
    call, token = lenient.api, lenient.token

    assert ids(lenient({"where": where}, "/slugs/7/coins")) == [1]
    count = lenient({}, "/coins/count", where=json.dumps(where))
    assert count.json == {"count": 1}
    scope = {"relation": "coins", "scope": {"where": where}}
    assert ids_of(lenient({"include": scope}, "/slugs/7").json["coins"]) == [1]
    brackets = call("GET", "/coins?filter[where][gold]=1&filter[where][code]=42", token=token)
    assert ids(brackets) == [1]
    for body, path in [({"mint": 9}, "update"), ({"mint": 8}, "upsertWithWhere")]:
        query = {"where": json.dumps({"name": 5})}
        changed = call("POST", f"/coins/{path}", body, token=token, query_string=query)
        assert changed.status_code == 200
    assert [each["mint"] for each in lenient({}).json] == [8, 2, 3]


def ids_of(rows):
    return [row["id"] for row in rows]


@pytest.mark.parametrize(
    "scope", [{"where": {"gold": 1}}, {"where": {"code": 42}, "order": "mint DESC, id"}], ids=str
)
def test_the_default_filter_of_a_model_is_read_likewise(serve, scope):
    api = serve({"coin": {**COIN, "scope": scope}, "slug": SLUG}, **ON)
    token = api.logged_in()
    api("POST", "/slugs", {"id": "7"}, token=token)
    api("POST", "/coins", ROWS, token=token)

    assert ids(api("GET", "/coins", token=token)) == [1]


IGNORED = [
    ({"nope": 1, "page": {"size": 2}}, [1, 2, 3]),
    ({"limit": "", "skip": "", "offset": ""}, [1, 2, 3]),
    ({"limit": 2, "skip": ""}, [1, 2]),
    ({"limit": "2.0", "skip": " 1 "}, [2, 3]),
    ({"order": "color DESC"}, [1, 2, 3]),
    ({"order": ["color.shade DESC", "mint DESC"]}, [3, 2, 1]),
    ({"order": "color, mint DESC"}, [3, 2, 1]),
    ({"fields": ["id", "color"]}, [1, 2, 3]),
    ({"fields": {"color": False}}, [1, 2, 3]),
]


SELECTED = [
    ({"fields": ["name", "color"]}, ["name"]),
    ({"fields": ["color"]}, []),
    ({"fields": "color"}, []),
    ({"fields": {"color": True}}, []),
    ({"fields": {"color": True, "name": True}}, ["name"]),
    ({"fields": ["color"], "include": "slug"}, ["slug"]),
]


@pytest.mark.both_databases
@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_what_a_filter_names_that_does_not_exist_is_ignored_with_the_setting_alone(ask, settings):
    coins = ask(**settings)

    if not settings:
        for filter_, _ in (*IGNORED, *SELECTED):
            assert refusal(coins(filter_)) == (400, "INVALID_FILTER"), filter_
        return
    for filter_, found in IGNORED:
        assert ids(coins(filter_)) == found, filter_
    for filter_, keys in SELECTED:
        assert list(coins(filter_).json[0]) == keys, filter_
    one = coins({"fields": ["name", "color"]}, "/coins/1")
    assert (list(one.json), "ETag" in one.headers) == (["name"], True)


@pytest.mark.both_databases
def test_what_an_include_names_that_does_not_exist_is_ignored_too(ask):
    lenient = ask(**ON)

    def twins(**scope):
        include = {"relation": "twins", "scope": scope}
        return lenient({"include": include}, "/coins/1").json["twins"]

    assert ids_of(twins(order="color DESC, mint DESC", nope=1, limit="")) == [3, 2, 1]
    assert [list(each) for each in twins(fields=["name", "color"])] == [["name"]] * 3
    assert twins(fields=["color"]) == [{}, {}, {}]


def test_the_names_of_hidden_and_protected_properties_stay_refused(ask):
    lenient = ask(**ON)

    for filter_ in [
        {"order": "secret"},
        {"order": ["color", "secret DESC"]},
        {"order": "secret.x"},
        {"fields": ["secret"]},
        {"fields": {"secret": False}},
        {"include": {"relation": "twins", "scope": {"order": "secret"}}},
        {"include": {"relation": "twins", "scope": {"fields": ["pin"]}}},
        {"include": {"relation": "twins", "scope": {"order": "pin"}}},
        {"where": {"secret": {"gt": "a"}}},
    ]:
        assert refusal(lenient(filter_)) == (400, "INVALID_FILTER"), filter_
    for filter_ in ({"fields": ["password"]}, {"order": "password"}):
        assert refusal(lenient(filter_, "/users/1")) == (400, "INVALID_FILTER"), filter_


@pytest.mark.parametrize(
    "filter_",
    [
        {"limit": "many"},
        {"limit": "1e400"},
        {"limit": "1.5"},
        {"skip": -1},
        {"order": "color sideways"},
        {"order": 5},
        {"fields": {"color": "maybe"}},
        {"fields": [5]},
        {"include": "nope"},
        {"where": ""},
    ],
    ids=json.dumps,
)
def test_what_is_malformed_is_refused_all_the_same(ask, filter_):
    assert refusal(ask(**ON)(filter_)) == (400, "INVALID_FILTER")


def test_the_next_page_has_no_more_than_was_read(ask):
    lenient = ask(**ON)

    first = lenient({"limit": "2", "page": 1, "order": "color, id"})
    path = first.headers["Link"].removeprefix("</api").removesuffix('>; rel="next"')

    assert "page" not in path
    assert ids(lenient.api("GET", path, token=lenient.token)) == [3]


@pytest.mark.both_databases
def test_a_model_with_undeclared_properties_orders_by_them_and_fields_name_declared_ones(serve):
    api = serve({"coin": {**COIN, "strict": False}, "slug": SLUG}, **ON)
    token = api.logged_in()
    api(
        "POST",
        "/coins",
        [{"name": "a", "color": "red"}, {"name": "b", "color": "blue"}],
        token=token,
    )

    def ask(filter_):
        return api("GET", "/coins", token=token, query_string={"filter": json.dumps(filter_)})

    assert ids(ask({"order": "color"})) == [2, 1]
    assert refusal(ask({"fields": ["color"]})) == (400, "INVALID_FILTER")
