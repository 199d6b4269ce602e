"""Models with `strict: false`: names that are hidden or protected, and not declared."""

import json

import pytest

from app.rest.collection import served_collections
from tests.support.answers import field_codes, refusal

from .library import OPEN

SECRET = "k3y"
PERSON = {
    "name": "Person",
    "strict": False,
    "properties": {
        "name": "string",
        "pin": {"type": "string", "hidden": True},
        "code": "string",
    },
    "relations": {
        "shelf": {"type": "belongsTo", "model": "Shelf"},
        "pets": {"type": "hasMany", "model": "Pet"},
    },
    "hidden": ["secret", "code", "shelfId", "a-b"],
    "protected": ["phone", "name"],
    "acls": OPEN,
}
PET = {
    "name": "Pet",
    "properties": {"name": "string"},
    "relations": {"person": {"type": "belongsTo", "model": "Person"}},
    "acls": OPEN,
}
SHELF = {
    "name": "Shelf",
    "relations": {"people": {"type": "hasMany", "model": "Person"}},
    "acls": OPEN,
}
HIDDEN = ("secret", "pin", "code", "shelfId", "a-b")
# Values that rows have from before the model hid them.
KEPT = {
    "secret": {"x": SECRET, "y": [SECRET]},
    "pin": SECRET,
    "code": SECRET,
    "a-b": SECRET,
    "phone": f"{SECRET}-phone",
    "color": "red",
}
CONDITIONS = [
    SECRET,
    None,
    {"eq": SECRET},
    {"neq": SECRET},
    {"gt": "a"},
    {"between": ["a", "z"]},
    {"inq": [SECRET]},
    {"nin": ["a"]},
    {"like": "k%"},
    {"ilike": "K%"},
    {"regexp": "^k"},
    {"exists": True},
]


@pytest.fixture
def people(serve):
    api = serve({"person": PERSON, "pet": PET, "shelf": SHELF})
    token = api.logged_in()

    def call(verb, path, body=None, **query):
        texts = {name: json.dumps(value) for name, value in query.items()}
        return api(verb, path, body, token=token, query_string=texts)

    call("POST", "/shelves", {})
    assert call("POST", "/people", {"name": "Ada", "shelfId": 1}).status_code == 200
    call("POST", "/pets", {"name": "Cat", "personId": 1})
    app = api.client.application
    with app.app_context():
        rows = served_collections.of(app)["People"].rows
        rows.update([rows.key == 1], {"others_": KEPT})
    return call


def paths(name):
    return (name, f"{name}.x", f"{name}.x.y")


@pytest.mark.both_databases
def test_what_is_hidden_is_in_no_answer(people):
    row = {"id": 1, "name": "Ada", "phone": f"{SECRET}-phone", "color": "red"}

    assert people("GET", "/people").json == [row]
    assert people("GET", "/people/1").json == row
    assert people("GET", "/shelves/1/people").json == [row]
    assert people("PATCH", "/people/1", {"color": "blue"}).json == {**row, "color": "blue"}


def test_what_is_hidden_is_not_asked_for_beside_what_is_not_declared(people):
    for path in [path for name in HIDDEN for path in paths(name)]:
        wheres = [{path: condition} for condition in CONDITIONS]
        wheres += [{"or": [{"color": "x"}, {"and": [{path: {"like": "k%"}}]}]}]
        for where in wheres:
            answers = [
                people("GET", "/people", filter={"where": where}),
                people("GET", "/people/findOne", filter={"where": where}),
                people("GET", "/people/count", where=where),
                people("GET", "/shelves/1/people", filter={"where": where}),
                people("POST", "/people/update", {"color": "x"}, where=where),
                people("POST", "/people/upsertWithWhere", {"color": "x"}, where=where),
            ]
            refused = {refusal(answer) for answer in answers}
            assert refused == {(400, "INVALID_FILTER")}, where
        for part in ({"order": path}, {"order": ["color", f"{path} DESC"]}, {"fields": [path]}):
            answer = people("GET", "/people", filter=part)
            assert refusal(answer) == (400, "INVALID_FILTER"), part
    message = people("GET", "/people", filter={"where": {"secret": "x"}}).json["message"]
    assert message == "There is no property 'secret'; there are id, name."


def test_what_is_protected_is_not_asked_for_by_the_scope_of_an_include(people):
    for name in (*HIDDEN, "phone", "name"):
        for path in paths(name):
            for scope in (
                {"where": {path: {"like": "k%"}}},
                {"where": {"or": [{path: SECRET}]}},
                {"order": path},
                {"fields": [path]},
            ):
                include = {"relation": "person", "scope": scope}
                answer = people("GET", "/pets", filter={"include": include})
                assert refusal(answer) == (400, "INVALID_FILTER"), scope
    assert people("GET", "/people/count", where={"phone": {"like": "k%"}}).json == {"count": 1}


@pytest.mark.both_databases
def test_included_rows_have_what_is_not_declared_without_what_is_protected(people):
    include = {"relation": "person", "scope": {"where": {"color": "red"}, "order": "color"}}

    for given in ("person", include):
        [pet] = people("GET", "/pets", filter={"include": given}).json
        assert pet["person"] == {"id": 1, "color": "red"}
    [pet] = people("GET", "/pets", filter={"include": {"person": "shelf"}}).json
    assert pet["person"] == {"id": 1, "color": "red", "shelf": {"id": 1}}


def test_other_spellings_of_a_hidden_name_are_other_properties(people):
    spellings = ["Secret", "SECRET", "secret_", "$secret", "secret-", "$"]

    for name in spellings:
        assert people("GET", "/people/count", where={name: {"like": "k%"}}).json == {"count": 0}
        assert people("PATCH", "/people/1", {name: "mine"}).json[name] == "mine"
        assert people("GET", "/people/count", where={name: "mine"}).json == {"count": 1}
    for name in [
        " secret",
        "secret ",
        "\u017fecret",
        "secret\u200b",
        "secret[0]",
        '"secret"',
    ]:
        answer = people("GET", "/people/count", where={name: {"like": "k%"}})
        assert refusal(answer) == (400, "INVALID_FILTER"), name
    for name in ("secret", "a-b"):
        assert field_codes(people("PATCH", "/people/1", {name: "mine"})) == {name: ["unknown"]}


def test_all_that_is_not_declared_is_no_property_by_itself(serve):
    api = serve({"person": {**PERSON, "hidden": [], "relations": {}}})
    token = api.logged_in()
    api("POST", "/people", {"color": "red", "$others": {"color": "blue"}}, token=token)

    def get(**filter):
        return api("GET", "/people", token=token, query_string={"filter": json.dumps(filter)})

    assert get(where={"$others.color": "blue"}).json[0]["$others"] == {"color": "blue"}
    assert get(where={"$others.color": "red"}).json == []
    assert get(where={"$others": {"exists": False}}).json == []
    assert refusal(get(fields=["$others"])) == (400, "INVALID_FILTER")
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    fields = schemas["PersonFilter"]["properties"]["fields"]["anyOf"][0]["items"]["enum"]
    assert "$others" not in fields


@pytest.mark.both_databases
def test_paths_lead_into_what_is_declared_and_into_what_is_not(serve):
    person = {**PERSON, "properties": {"home": "object", "name": "string"}, "relations": {}}
    api = serve({"person": person})
    token = api.logged_in()
    home = {"city": "Ulm", "floor": 2}
    api("POST", "/people", [{"home": home}, {"work": home}, {}], token=token)

    def ids(**filter):
        query = {"filter": json.dumps(filter)}
        answer = api("GET", "/people", token=token, query_string=query)
        return [row["id"] for row in answer.json] if answer.status_code == 200 else refusal(answer)

    assert ids(where={"home.city": "Ulm"}) == [1]
    assert ids(where={"work.city": "Ulm"}) == [2]
    assert ids(where={"home.floor": {"gt": 1}}, order="home.city DESC") == [1]
    assert ids(order="work.city DESC") == [2, 1, 3]
    assert ids(where={"name.x": "Ulm"}) == (400, "INVALID_FILTER")


def test_a_default_filter_may_select_by_what_is_hidden(serve):
    scope = {"where": {"secret": {"neq": "x"}}, "order": "color"}
    api = serve({"person": {**PERSON, "scope": scope, "relations": {}}})
    token = api.logged_in()
    api("POST", "/people", [{"color": "b"}, {"color": "a"}], token=token)
    app = api.client.application
    with app.app_context():
        collection = served_collections.of(app)["People"]
        collection.rows.update([collection.rows.key == 1], {"others_": {"secret": "x"}})

    assert [row["id"] for row in api("GET", "/people", token=token).json] == [2]
