"""The log with every type of property, and of ids."""

import json

import pytest

from .conftest import ALL
from .test_pages import begin, read, types

pytestmark = pytest.mark.both_databases
VALUES = {
    "text": ("string", 'a "quoted" \' text, ü€😀\\'),
    "number": ("number", 1.5),
    "whole": ("integer", 7),
    "flag": ("boolean", True),
    "day": ("date", "2026-01-02T03:04:05.678Z"),
    "object": ("object", {"a": [1, None, "x"]}),
    "array": (["string"], ["a", "b"]),
    "place": ("geopoint", {"lat": 1.5, "lng": 2.5}),
    "buffer-name": ("string", "x"),
}
OTHER = {
    "text": "b",
    "number": 2.5,
    "whole": 8,
    "flag": False,
    "day": "2027-01-02T03:04:05.678Z",
    "object": {"b": 1},
    "array": ["c"],
    "place": {"lat": 2.5, "lng": 2.5},
    "buffer-name": "y",
}
SIMPLE = ["text", "number", "whole", "flag", "day", "buffer-name"]


@pytest.fixture
def things(make_shop):
    thing = {
        "name": "Thing",
        "plural": "things",
        "changes": {"keep": [*VALUES]},
        "properties": {name: {"type": kind} for name, (kind, _) in VALUES.items()},
        "acls": ALL,
    }
    return make_shop({"thing": thing})


def test_rows_with_every_type_are_logged(things):
    start = begin(things, "things")
    values = {name: value for name, (_, value) in VALUES.items()}

    created = things("POST", "/things", values).json
    things("POST", "/things", dict.fromkeys(VALUES))

    page = read(things, start, "things")
    assert page["changes"][0]["data"] == created
    assert types(page) == [("create", 1), ("create", 2)]


@pytest.mark.parametrize("name", SIMPLE)
def test_a_filter_by_kept_values_is_exact(things, name):

    where = json.dumps({"things": {"where": {name: VALUES[name][1]}}})
    query = f"&options={where}"
    for value in (VALUES[name][1], OTHER[name]):
        things("POST", "/things", {name: value})
    start = begin(things, "things")
    for number in (1, 2):
        things("PATCH", f"/things/{number}", {name: None})

    assert types(read(things, start, "things", query)) == [("remove", 1)]
