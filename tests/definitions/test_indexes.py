"""Indexes over one or several properties, in LoopBack 3's forms."""

import json

import pytest
from sqlalchemy import inspect

from app.database.metadata import app_metadata
from app.database.session import db
from app.problems import ConfigurationError
from tests.support.documents import blocks

from .library import OPEN

PAIR = {"shiftId": 1, "volunteerId": 1}
UNIQUE_PAIRS = [
    {"keys": PAIR, "options": {"unique": True}},
    {"keys": ["shiftId", "volunteerId"], "unique": True},
    {"keys": "shiftId, volunteerId", "options": {"unique": "true"}},
    {"columns": "shift_id, volunteer_id", "kind": "UNIQUE"},
]
PLAIN_PAIRS = [PAIR, "shiftId, volunteerId", {"keys": "shiftId,volunteerId"}]


def sign_up(indexes, **more):
    return {
        "name": "SignUp",
        "properties": {"note": "string", "place": "geopoint", **more.pop("properties", {})},
        "relations": {
            "shift": {"type": "belongsTo", "model": "Shift"},
            "volunteer": {"type": "belongsTo", "model": "Shift"},
        },
        "indexes": indexes,
        "acls": OPEN,
        **more,
    }


SHIFT = {"name": "Shift", "properties": {"title": "string"}, "acls": OPEN}


def indexes_of(table):
    """Return the columns of the indexes of a table in the database, those that are unique apart."""
    found = inspect(db.engine)
    unique = {tuple(each["column_names"]) for each in found.get_unique_constraints(table)}
    plain = {tuple(each["column_names"]) for each in found.get_indexes(table) if not each["unique"]}
    return plain, unique


@pytest.mark.both_databases
@pytest.mark.parametrize("index", UNIQUE_PAIRS)
def test_a_pair_that_must_be_unique_is_refused_by_a_sentence_about_both(serve, index):
    api = serve({"signUp": sign_up({"pair": index}), "shift": SHIFT})
    token = api.logged_in()
    for _ in range(2):
        api("POST", "/shifts", {}, token=token)
    pair = {"shiftId": 1, "volunteerId": 2}
    assert api("POST", "/signUps", pair, token=token).status_code == 200

    refused = api("POST", "/signUps", pair, token=token)
    other = api("POST", "/signUps", {"shiftId": 2, "volunteerId": 2}, token=token)

    error = refused.json["error"]
    assert refused.status_code == 422
    assert error["message"] == (
        "The request is not valid: another SignUp has the same `shiftId` and `volunteerId`."
    )
    assert error["details"]["codes"] == {"shiftId": ["uniqueness"], "volunteerId": ["uniqueness"]}
    assert other.status_code == 200
    moved = api("PATCH", f"/signUps/{other.json['id']}", {"shiftId": 1}, token=token)
    assert moved.status_code == 422
    assert len(api("GET", "/signUps", token=token).json) == 2


@pytest.mark.both_databases
def test_indexes_are_those_of_the_table(make_models):
    plain = {f"plain{number}": index for number, index in enumerate(PLAIN_PAIRS)}
    more = {"by_note": {"note": -1}, "again": "note", "of_ids": "id", "no": False}
    app = make_models({"signUp": sign_up({**plain, **more}), "shift": SHIFT})

    with app.app_context():
        plain, unique = indexes_of("sign_up")

    assert {("shift_id", "volunteer_id"), ("note",)} <= plain
    assert ("id",) not in plain
    assert unique == set()


def test_an_index_is_inherited_and_may_be_removed(make_models):
    base = sign_up({"pair": UNIQUE_PAIRS[0], "by_note": {"note": 1}})
    derived = {"name": "Late", "base": "SignUp", "indexes": {"by_note": None}, "acls": OPEN}
    app = make_models({"signUp": base, "late": derived, "shift": SHIFT})

    with app.app_context():
        plain, unique = indexes_of("late")

    assert unique == {("shift_id", "volunteer_id")}
    assert ("note",) not in plain


def test_a_text_in_an_index_has_the_length_that_an_index_can_hold(make_models):
    names = {"first": "string", "last": "string", "city": "string", "long": "string"}
    index = {"keys": {"first": 1, "last": 1, "city": 1}}
    app = make_models({"signUp": sign_up({"names": index}, properties=names), "shift": SHIFT})

    columns = app_metadata.of(app).tables["sign_up"].columns

    assert [columns[name].type.length for name in ("first", "last", "city")] == [200] * 3
    assert columns["long"].type.length is None


INVALID = [
    ({"x": 1}, "signUp.json: indexes.x: must name properties, as in"),
    ({"x": {}}, "signUp.json: indexes.x: must name properties, as in"),
    ({"x": {"keys": ["note", 5]}}, "signUp.json: indexes.x: must name properties, as in"),
    (
        {"x": {"keys": "note", "options": {"unique": "yes"}}},
        "signUp.json: indexes.x.options.unique: must be true or false",
    ),
    ([1], "signUp.json: indexes: must be an object"),
    (
        {"x": {"note": 1, "long": 1}},
        "signUp.json: indexes.x: its texts have up to 700 characters together",
    ),
]


@pytest.mark.parametrize(("indexes", "problem"), INVALID)
def test_an_invalid_index_stops_the_start(make_models, indexes, problem):
    properties = {"long": {"type": "string", "length": 400}}
    note = {"note": {"type": "string", "length": 300}}
    model = sign_up(indexes, properties={**properties, **note})

    with pytest.raises(ConfigurationError) as raised:
        make_models({"signUp": model, "shift": SHIFT})

    assert problem in str(raised.value)


WARNED = [
    ({"x": {"where": "2dsphere"}}, "indexes.x: is not made: there are no indexes of the kind"),
    ({"x": {"nope": 1}}, "indexes.x: is not made: there is no property 'nope'"),
    ({"x": "place"}, "indexes.x: is not made: the type of place is geopoint"),
]


@pytest.mark.parametrize(("indexes", "warning"), WARNED)
def test_an_index_that_cannot_be_made_is_a_warning(make_models, caplog, indexes, warning):
    make_models({"signUp": sign_up(indexes), "shift": SHIFT})

    assert f"signUp.json: {warning}" in caplog.text


@pytest.mark.both_databases
def test_what_clients_neither_see_nor_write_is_not_named(serve):
    slot = {"slot": {"type": "string", "hidden": True, "readOnly": True, "default": "a"}}
    index = {"pair": {"keys": {"shiftId": 1, "slot": 1}, "options": {"unique": True}}}
    api = serve({"signUp": sign_up(index, properties=slot), "shift": SHIFT})
    token = api.logged_in()
    api("POST", "/shifts", {}, token=token)

    _, refused = (api("POST", "/signUps", {"shiftId": 1}, token=token) for _ in range(2))

    assert refused.status_code == 422
    assert refused.json["error"]["details"]["messages"] == {"shiftId": ["already exists"]}
    assert "slot" not in refused.text


@pytest.mark.parametrize("option", ["expireAfterSeconds", "partialFilterExpression"])
def test_an_option_that_changes_what_an_index_does_is_a_warning(make_models, caplog, option):
    index = {"keys": {"note": 1}, "options": {option: 60}}
    make_models({"signUp": sign_up({"x": index}), "shift": SHIFT})

    assert f"signUp.json: indexes.x.options.{option}: is without effect" in caplog.text


def test_the_documented_forms_are_indexes(make_models):
    [forms] = blocks("docs/model-files.md", "json", "Indexes and limits")
    names = ("day", "place", "time", "shiftId", "volunteerId")
    properties = {name: {"type": "string", "length": 20} for name in names}
    model = {"name": "booking", "properties": properties, "indexes": json.loads(forms)}

    app = make_models({"booking": {**model, "acls": OPEN}})

    with app.app_context():
        assert indexes_of("booking") == (
            {("day", "place"), ("time", "place")},
            {("shift_id", "volunteer_id")},
        )
