"""Relations with a `scope`: which rows they lead to, as LoopBack 3 has it."""

import json

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal

from .library import OPEN


def to_boats(kind="hasMany", **scope):
    return {"type": kind, "model": "Boat", "foreignKey": "harbourId", "scope": scope}


FAST = {"where": {"fast": True}}
HARBOUR = {
    "name": "Harbour",
    "properties": {"name": "string", "kind": "string"},
    "relations": {
        "boats": to_boats(),
        "fastBoats": to_boats(**FAST, order="name DESC", limit=2, fields=["id", "name"]),
        "berthed": to_boats(include="harbour"),
        "flagship": to_boats("hasOne", **FAST, order="name DESC"),
        "oldMasters": {
            "type": "hasMany",
            "model": "Master",
            "through": "Post",
            "scope": {"where": {"age": {"gt": 50}}},
        },
        "signs": {
            "type": "hasMany",
            "model": "Sign",
            "polymorphic": "signable",
            "scope": {"where": {"text": {"neq": "gone"}}},
        },
        "guides": {
            "type": "referencesMany",
            "model": "Master",
            "scope": {"where": {"age": {"lt": 50}}},
        },
    },
    "acls": OPEN,
}
TO_HARBOUR = {"type": "belongsTo", "model": "Harbour", "foreignKey": "harbourId"}
BOAT = {
    "name": "Boat",
    "properties": {"name": "string", "fast": "boolean"},
    # The model's own: the relation's is in addition to it.
    "scope": {"where": {"name": {"neq": "wreck"}}},
    "relations": {
        "harbour": TO_HARBOUR,
        "bigHarbour": {**TO_HARBOUR, "scope": {"where": {"kind": "big"}}},
    },
    "acls": OPEN,
}
POST = {
    "name": "Post",
    "relations": {
        "harbour": {"type": "belongsTo", "model": "Harbour"},
        "master": {"type": "belongsTo", "model": "Master"},
    },
    "acls": OPEN,
}
MODELS = {
    "harbour": HARBOUR,
    "boat": BOAT,
    "master": {"name": "Master", "properties": {"age": "number"}, "acls": OPEN},
    "post": POST,
    "sign": {
        "name": "Sign",
        "properties": {"text": "string"},
        "relations": {"signable": {"type": "belongsTo", "polymorphic": True}},
        "acls": OPEN,
    },
}


@pytest.fixture
def call(serve):
    """Serve the models, with a big harbour that has five boats, and a small one without."""
    api = serve(MODELS)
    token = api.logged_in()

    def call(verb, path, body=None, **filter_):
        query = {"query_string": {"filter": json.dumps(filter_)}} if filter_ else {}
        return api(verb, path, body, token=token, **query)

    for kind in ("big", "small"):
        call("POST", "/Harbours", {"name": kind, "kind": kind})
    boats = [{"name": name, "fast": name in "adw"} for name in "abcd"]
    call("POST", "/Harbours/1/boats", [*boats, {"name": "wreck", "fast": True}])
    call("POST", "/Harbours/1/oldMasters", [{"age": 60}, {"age": 30}])
    return call


def names(response):
    assert response.status_code == 200, response.json
    return [row["name"] for row in response.json]


def test_a_list_has_the_rows_within_the_scope(call):
    path = "/Harbours/1/fastBoats"

    assert call("GET", path).json == [{"id": 4, "name": "d"}, {"id": 1, "name": "a"}]
    assert call("GET", f"{path}/count").json == {"count": 2}
    assert names(call("GET", "/Harbours/1/boats")) == ["a", "b", "c", "d"]
    assert names(call("GET", path, order="name ASC")) == ["a", "d"]
    assert call("GET", path, where={"fast": False}).json == []
    # As in LoopBack 3, a request gets no more rows and no other properties.
    call("POST", "/Harbours/1/boats", {"name": "da", "fast": True})
    assert names(call("GET", path, limit=10)) == ["da", "d"]
    assert names(call("GET", path, limit=1)) == ["da"]
    assert call("GET", path, fields=["name", "fast"], limit=1).json == [{"name": "da"}]
    assert call("GET", "/Harbours/2/fastBoats").json == []
    [first, *_] = call("GET", "/Harbours/1/berthed").json
    assert first["harbour"]["name"] == "big"


def test_rows_outside_of_the_scope_are_as_if_they_did_not_exist(call):
    path = "/Harbours/1/fastBoats"

    assert call("GET", f"{path}/1").json == {"id": 1, "name": "a"}
    for verb, body in [("GET", None), ("PUT", {"name": "x"}), ("DELETE", None)]:
        assert refusal(call(verb, f"{path}/2", body)) == (404, "MODEL_NOT_FOUND")
    assert call("PUT", f"{path}/1", {"fast": False}).status_code == 200
    assert call("DELETE", path).status_code == 204
    assert names(call("GET", "/Harbours/1/boats")) == ["a", "b", "c"]


def test_a_row_that_is_created_need_not_be_within_the_scope(call):
    created = call("POST", "/Harbours/1/fastBoats", {"name": "e"})

    assert (created.status_code, created.json["harbourId"], created.json["fast"]) == (200, 1, None)
    assert names(call("GET", "/Harbours/1/fastBoats")) == ["d", "a"]


def test_a_relation_to_one_row_leads_to_one_within_the_scope(call):
    assert call("GET", "/Harbours/1/flagship").json["name"] == "d"
    assert call("GET", "/Harbours/2/flagship").status_code == 404
    assert call("PUT", "/Harbours/1/flagship", {"fast": False}).json["name"] == "d"
    assert call("GET", "/Harbours/1/flagship").json["name"] == "a"
    assert call("GET", "/Boats/1/bigHarbour").json["name"] == "big"
    call("PATCH", "/Harbours/1", {"kind": "small"})
    assert call("GET", "/Boats/1/bigHarbour").status_code == 404
    assert call("GET", "/Boats/1/harbour").json["kind"] == "small"
    assert field_codes(call("PATCH", "/Boats/1", {"harbourId": 9})) == {"harbourId": ["invalid"]}


def test_relations_of_other_kinds_have_a_scope_too(call):
    assert [row["age"] for row in call("GET", "/Harbours/1/oldMasters").json] == [60]
    assert call("GET", "/Harbours/1/oldMasters/count").json == {"count": 1}
    assert call("GET", "/Harbours/1/oldMasters/2").status_code == 404
    assert call("DELETE", "/Harbours/1/oldMasters").status_code == 204
    assert [link["masterId"] for link in call("GET", "/Posts").json] == [2]
    call("POST", "/Harbours/1/signs", [{"text": "a"}, {"text": "gone"}])
    assert [row["text"] for row in call("GET", "/Harbours/1/signs").json] == ["a"]


def test_includes_have_the_rows_within_the_scope(call):
    call("PATCH", "/Harbours/1", {"masterIds": [1, 2]})
    call("POST", "/Harbours/1/signs", [{"text": "a"}, {"text": "gone"}])
    relations = ["fastBoats", "flagship", "oldMasters", "signs", "guides"]

    big, small = call("GET", "/Harbours", include=relations).json

    assert big["fastBoats"] == [{"id": 4, "name": "d"}, {"id": 1, "name": "a"}]
    assert big["flagship"]["name"] == "d"
    assert [row["age"] for row in big["oldMasters"]] == [60]
    assert [row["text"] for row in big["signs"]] == ["a"]
    assert [row["age"] for row in big["guides"]] == [30]
    assert [small[name] for name in ("fastBoats", "signs")] == [[], []]
    scoped = {"relation": "fastBoats", "scope": {"order": "name", "limit": 5, "fields": ["name"]}}
    [row] = call("GET", "/Harbours", include=scoped, limit=1).json
    assert row["fastBoats"] == [{"name": "a"}, {"name": "d"}]
    [row] = call("GET", "/Harbours", include="berthed", limit=1).json
    assert row["berthed"][0]["harbour"]["id"] == 1
    assert call("GET", "/Boats/1", include="bigHarbour").json["bigHarbour"]["id"] == 1
    call("PATCH", "/Harbours/1", {"kind": "small"})
    assert "bigHarbour" not in call("GET", "/Boats/1", include="bigHarbour").json


@pytest.mark.parametrize(
    ("scope", "problem"),
    [
        ({"where": {"colour": "red"}}, "harbour.json: relations.boats.scope: "),
        ({"order": "name sideways"}, "harbour.json: relations.boats.scope: "),
        ({"fields": ["colour"]}, "harbour.json: relations.boats.scope: "),
        ("fast", "harbour.json: relations.boats.scope: must be a filter"),
        ({"include": "captain"}, "the relation Harbours.boats: its scope cannot be used: "),
        ({"include": {"harbour": {"boats": "harbour"}}}, "its scope cannot be used: .* at most 3"),
    ],
)
def test_a_scope_that_is_no_filter_stops_the_start(serve, scope, problem):
    relations = {**HARBOUR["relations"], "boats": {**to_boats(), "scope": scope}}

    with pytest.raises(ConfigurationError, match=problem):
        serve({**MODELS, "harbour": {**HARBOUR, "relations": relations}})


def test_a_scope_of_users_is_one_of_users(serve):
    admins = {"type": "hasMany", "model": "Account", "foreignKey": "clubId"}
    level = {"where": {"level": 9}}
    club = {"name": "Club", "relations": {"admins": {**admins, "scope": level}}, "acls": OPEN}
    account = {
        "name": "Account",
        "base": "User",
        "plural": "users",
        "properties": {"level": "number"},
        "acls": [{**OPEN[0], "property": ["find", "create"]}],
    }
    api = serve({"club": club, "account": account})
    token = api.logged_in()
    api("POST", "/Clubs", {}, token=token)
    for level in (1, 9):
        body = {"email": f"a{level}@example.com", "password": PASSWORD, "level": level}
        assert api("POST", "/Clubs/1/admins", body, token=token).status_code == 200

    assert [row["level"] for row in api("GET", "/Clubs/1/admins", token=token).json] == [9]
    club["relations"] = {"admins": {**admins, "scope": {"where": {"colour": 1}}}}
    with pytest.raises(ConfigurationError, match=r"the relation Clubs\.admins: its scope"):
        serve({"club": club, "account": account})
