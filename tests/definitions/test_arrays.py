"""Arrays of models in JSON: their items, and what COMPATIBILITY makes of them."""

import json

import pytest

from tests.support.answers import field_codes, refusal

from .library import OPEN
from .test_compatibility import ON

SET = {
    "name": "Set",
    "properties": {
        "tags": ["string"],
        "numbers": ["number"],
        "flags": ["boolean"],
        "dates": ["date"],
        "list": "array",
        "parts": ["object"],
        "gold": "boolean",
    },
    "acls": OPEN,
}


@pytest.fixture
def call(serve):
    """Serve sets with settings; return a function that calls them."""

    def start(**settings):
        api = serve({"set": SET}, **settings)
        token = api.logged_in()

        def call(verb, path, body=None, **query):
            texts = {name: json.dumps(value) for name, value in query.items()}
            return api(verb, path, body, token=token, query_string=texts)

        return call

    return start


@pytest.mark.both_databases
@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_an_array_of_booleans_is_stored_read_and_found(call, settings):
    sets = call(**settings)
    for flags in ([True, False], [False], [], None):
        assert sets("POST", "/sets", {"flags": flags}).json["flags"] == flags

    for where, found in [
        ({"flags": True}, [1]),
        ({"flags": "false"}, [1, 2]),
        ({"flags": {"inq": [True, None]}}, [1, 4]),
        ({"flags": {"neq": False}}, [3, 4]),
    ]:
        rows = sets("GET", "/sets", filter={"where": where}).json
        assert [row["id"] for row in rows] == found, where
    for flags in ([{}], ["yes"], [2], [None], True, {"a": True}):
        assert field_codes(sets("POST", "/sets", {"flags": flags})) == {"flags": ["invalid"]}, flags


TIME = "2026-01-02T03:04:05.678Z"
CONVERTED = [
    ("tags", [1, "b", 1.5, True, 1e21], ["1", "b", "1.5", "true", "1e+21"]),
    ("numbers", ["1", 2, " 1e3 ", "-0.5"], [1, 2, 1000, -0.5]),
    ("flags", [1, "0", "true", False, "1", 0], [True, False, True, False, True, False]),
    ("dates", [1767323045678, "2026-01-02", "2026-01-02T03:04:05.678999Z"], None),
]
DATES = [TIME, "2026-01-02T00:00:00.000Z", TIME]


@pytest.mark.both_databases
def test_items_are_converted_with_the_setting_in_every_body(call):
    sets = call(**ON)

    for name, sent, stored in CONVERTED:
        expected = stored or DATES
        created = sets("POST", "/sets", {name: sent}).json
        assert (created[name], sets("GET", f"/sets/{created['id']}").json[name]) == (
            expected,
            expected,
        )
        for verb, path, body in [
            ("PATCH", "/sets/1", {}),
            ("PUT", "/sets/1", {}),
            ("PATCH", "/sets", {"id": 1}),
        ]:
            assert sets(verb, path, {**body, name: sent}).json[name] == expected, (verb, name)
        assert sets("POST", "/sets", [{name: sent}]).json[0][name] == expected
        assert sets("POST", "/sets/update", {name: sent}, where={"id": 1}).json == {"count": 1}
    unchanged = {"list": ["1", 2, True], "parts": [{"a": "1"}], "dates": ["soon"]}
    assert sets("POST", "/sets", unchanged).json.items() >= unchanged.items()


def test_items_are_not_converted_without_the_setting(call):
    sets = call()

    for name, sent, _ in CONVERTED:
        assert field_codes(sets("POST", "/sets", {name: sent})) == {name: ["invalid"]}
    texts = {"dates": ["2026-01-02", "soon"]}
    assert sets("POST", "/sets", texts).json["dates"] == texts["dates"]


def test_what_items_cannot_be_is_refused_with_the_setting_too(call):
    sets = call(**ON)

    for body in [
        {"tags": [{}]},
        {"tags": [None]},
        {"tags": [["a"]]},
        {"tags": "a"},
        {"tags": {"0": "a"}},
        {"numbers": ["x"]},
        {"numbers": [""]},
        {"numbers": ["0x10"]},
        {"numbers": ["9" * 41]},
        {"numbers": [True]},
        {"flags": ["yes"]},
        {"flags": [None]},
        {"dates": [True]},
        {"parts": ["x"]},
        {"gold": "yes"},
    ]:
        [name] = body
        assert field_codes(sets("POST", "/sets", body)) == {name: ["invalid"]}, body


def test_a_boolean_may_be_0_or_1_as_a_text_with_the_setting(call):
    sets = call(**ON)

    stored = [sets("POST", "/sets", {"gold": gold}).json["gold"] for gold in ("1", "0", 1, 0)]

    assert stored == [True, False, True, False]


@pytest.mark.both_databases
def test_conditions_on_arrays_are_converted_with_the_setting(call):
    sets = call(**ON)
    sets("POST", "/sets", {name: sent for name, sent, _ in CONVERTED})

    for where in [
        {"tags": 1},
        {"tags": {"inq": [True]}},
        {"numbers": "1000"},
        {"flags": 1},
        {"flags": {"inq": ["0"]}},
        {"dates": 1767323045678},
        {"dates": {"inq": ["2026-01-02"]}},
    ]:
        assert sets("GET", "/sets/count", where=where).json == {"count": 1}, where
    for where in ({"flags": 2}, {"numbers": True}, {"tags": {"like": "a"}}):
        refused = sets("GET", "/sets/count", where=where)
        assert refusal(refused) == (400, "INVALID_FILTER"), where
