"""Models in JSON as clients know them: properties, relations, rules and owners."""

import pytest
from openapi_spec_validator import validate

from tests.support.answers import field_codes, refusal

from .library import LIBRARY, LOAN, NOTE, OPEN, rule


@pytest.fixture
def library(serve):
    """The library, with a user who is logged in."""
    api = serve(LIBRARY)
    return api, api.logged_in()


BOOK = {
    "title": "Emma",
    "pages": 474,
    "rating": 4.5,
    "isLent": True,
    "boughtAt": "2026-01-02T03:04:05.678Z",
    "printedOn": "1815-12-23",
    "price": "12.50",
    "code": "018c5a3e-7d2b-4c1a-9f00-3b1d2e4f5a6b",
    "mongoRef": "0123456789abcdef01234567",
    "kind": "poems",
    "extra": {"signed": True},
    "tags": ["classic"],
    "copies": [{"n": 1}],
    "place": {"lat": 51, "lng": -1.5},
    "isbn": "978",
    "shelfMark": "AB-12",
    "authorId": None,
}


def test_a_property_of_every_type_is_stored_and_filtered(library):
    api, token = library

    created = api("POST", "/books", BOOK, token=token)
    where = '{"where":{"printedOn":{"lt":"1900-01-01"},"price":"12.5","extra.signed":true}}'

    assert (created.status_code, created.json) == (200, {"id": 1, **BOOK})
    assert api("GET", f"/Books?filter={where}", token=token).json == [created.json]


def test_what_is_not_sent_has_its_default(library):
    api, token = library

    found = api("POST", "/books", {"title": "Emma"}, token=token).json

    assert (found["pages"], found["isLent"], found["kind"]) == (1, False, "novel")
    assert found["boughtAt"].endswith("Z")
    assert len(found["code"]) == 36
    assert found["tags"] is None


# Values that do not fit, each with its property.
MISFITS = [
    ("title", ""),
    ("title", "x" * 101),
    ("pages", 0),
    ("pages", 5001),
    ("pages", "many"),
    ("printedOn", "yesterday"),
    ("price", "1.005"),
    ("kind", "comic"),
    ("mongoRef", "0123"),
    ("shelfMark", "ab-1"),
    ("shelfMark", "A-1"),
    ("authorId", 99),
    ("colour", "red"),
]


def test_a_value_that_does_not_fit_is_422_and_names_its_property(library):
    api, token = library

    for name, value in MISFITS:
        response = api("POST", "/books", {"title": "Emma", name: value}, token=token)

        assert response.status_code == 422, (name, value)
        assert list(field_codes(response)) == [name], (name, value)


def test_decimals_have_bounds_and_choices(serve):
    price = {"type": "decimal", "precision": 6, "scale": 2, "validates": {"min": "0.01", "max": 99}}
    debt = {"type": "decimal", "validates": {"max": "-0.50"}}
    rate = {"type": "decimal", "scale": 3, "validates": {"in": ["0.07", 0.19]}}
    item = {
        "name": "Item",
        "properties": {
            "price": {**price, "required": True},
            "debt": {**debt, "required": True},
            "rate": {**rate, "required": True},
        },
        "acls": OPEN,
    }
    api = serve({"item": item})
    token = api.logged_in()
    document = api("GET", "/openapi.json").json
    validate(document)
    example = document["components"]["schemas"]["NewItem"]["examples"][0]

    assert example == {"price": "0.01", "debt": "-0.50", "rate": "0.070"}
    assert api("POST", "/items", example, token=token).json == {"id": 1, **example}
    assert (
        api("PATCH", "/items/1", {"price": "99.00", "rate": 0.19}, token=token).status_code == 200
    )
    for change, said in [
        ({"price": "99.01"}, "must be at most 99.00"),
        ({"price": 0}, "must be at least 0.01"),
        ({"debt": "-0.49"}, "must be at most -0.50"),
        ({"rate": "0.16"}, "must be one of 0.070, 0.190"),
    ]:
        for verb, path in [("PATCH", "/items/1"), ("POST", "/items/update?where={}")]:
            response = api(verb, path, change, token=token)
            assert field_codes(response) == {name: ["invalid"] for name in change}
            assert list(response.json["error"]["details"]["messages"].values()) == [[said]]


ANYTHING = ["a text", 7, -1.5, True, False, {"a": [1, {"b": None}]}, [], ["x", 2], {}, ""]


@pytest.mark.both_databases
def test_a_property_of_any_type_holds_every_value_of_json(serve):
    properties = {"value": "any", "other": {"description": "without a type"}}
    api = serve({"item": {"name": "Item", "properties": properties, "acls": OPEN}})
    token = api.logged_in()

    for value in ANYTHING:
        body = {"value": value, "other": value}
        row = api("POST", "/items", body, token=token).json
        assert row["value"] == row["other"] == value
        assert type(row["value"]) is type(value)
        assert api("PATCH", f"/items/{row['id']}", {"other": None}, token=token).json == {
            **row,
            "other": None,
        }
        assert api("GET", f"/items/{row['id']}", token=token).json["value"] == value
    assert api("GET", "/items?filter[where][value.a]=x", token=token).json == []
    found = api("GET", '/items/count?where={"other":null}', token=token).json
    assert found == {"count": len(ANYTHING)}
    for value in (2**60, {"a": 2**60}, "x" * 20_001):
        assert field_codes(api("POST", "/items", {"value": value}, token=token)) == {
            "value": ["invalid"]
        }


def test_what_is_missing_has_one_code_and_one_text_for_every_type(serve):
    types = ["string", "number", "integer", "boolean", "date", "dateonly", "decimal", "uuid"]
    types += ["objectid", "object", "geopoint", "array", ["string"]]
    properties = {f"p{place}": {"type": each, "required": True} for place, each in enumerate(types)}
    properties["kind"] = {"type": "string", "enum": ["a"], "required": True}
    properties["ownId"] = {"type": "number", "required": True}
    relations = {"own": {"type": "belongsTo", "model": "Thing"}}
    thing = {"name": "Thing", "properties": properties, "relations": relations, "acls": OPEN}
    api = serve({"thing": thing})
    token = api.logged_in()

    for body in ({}, dict.fromkeys(properties)):
        response = api("POST", "/things", body, token=token)
        assert field_codes(response) == {name: ["presence"] for name in properties}
        messages = response.json["error"]["details"]["messages"]
        assert messages == {name: ["can't be blank"] for name in properties}


def test_two_rows_do_not_share_what_is_unique(library):
    api, token = library
    api("POST", "/books", {"title": "Emma", "isbn": "978"}, token=token)

    response = api("POST", "/books", {"title": "Emma", "isbn": "978"}, token=token)

    assert field_codes(response) == {"isbn": ["uniqueness"]}


@pytest.mark.both_databases
def test_a_hidden_value_that_another_row_has_is_named(serve):
    properties = {
        "pin": {"type": "string", "unique": True, "hidden": True},
        # Of the mixin, which sets it.
        "createdAt": {"type": "number", "unique": True, "mysql": {"columnName": "made"}},
    }
    mixins = {"TimeStamp": True}
    api = serve(
        {"note": {"name": "Note", "properties": properties, "mixins": mixins, "acls": OPEN}}
    )
    token = api.logged_in()

    created = api("POST", "/notes", [{"pin": "1"}, {"pin": "2"}], token=token)
    assert [sorted(each) for each in created.json] == [["createdAt", "id", "updatedAt"]] * 2
    for refused in (
        api("POST", "/notes", {"pin": "1"}, token=token),
        api("PATCH", "/notes/2", {"pin": "1"}, token=token),
    ):
        assert field_codes(refused) == {"pin": ["uniqueness"]}


@pytest.mark.both_databases
def test_relations_of_every_kind_lead_to_their_rows(library):
    api, token = library

    def post(path, body):
        response = api("POST", path, body, token=token)
        assert response.status_code == 200, response.json
        return response.json

    jane, tom = post("/people", {"name": "Jane"}), post("/people", {"name": "Tom"})
    book = post(f"/people/{jane['id']}/books", {"title": "Emma"})
    card = post("/people/1/card", {"number": "7"})
    shelf = post("/books/1/shelves", {"name": "A"})
    loan = post("/loans", {"bookId": 1, "readerId": 2})
    include = '{"include":["author","shelves","readers"]}'

    assert book["authorId"] == jane["id"]
    assert (card["personId"], loan["until"]) == (1, None)
    assert api("GET", f"/books/1?filter={include}", token=token).json == {
        **book,
        "author": jane,
        "shelves": [shelf],
        "readers": [tom],
    }
    assert api("GET", "/shelves/1/books", token=token).json == [book]
    assert api("GET", "/books/1/author", token=token).json == jane
    assert api("DELETE", "/books/1/readers/rel/2", token=token).status_code == 204
    assert api("GET", "/loans", token=token).json == []


@pytest.mark.both_databases
def test_the_link_to_a_row_goes_with_the_row(library):
    api, token = library
    for path, body in [
        *(("/books", {"title": "Emma"}), ("/books", {"title": "Persuasion"})),
        *(("/books/1/readers", {"name": "Jane"}), ("/books/1/shelves", {"name": "A"})),
    ]:
        assert api("POST", path, body, token=token).status_code == 200
    stale = {"If-Match": '"other"'}

    refused = api("DELETE", "/books/1/readers/1", token=token, headers=stale)

    assert refusal(refused) == (412, "PRECONDITION_FAILED")
    assert len(api("GET", "/loans", token=token).json) == 1
    assert refusal(api("DELETE", "/books/2/readers/1", token=token)) == (404, "MODEL_NOT_FOUND")
    for path in ("readers", "shelves"):
        assert api("DELETE", f"/books/1/{path}/1", token=token).status_code == 204
        assert api("GET", f"/books/1/{path}/count", token=token).json == {"count": 0}
    for path in ("/loans", "/people", "/shelves"):
        assert api("GET", path, token=token).json == []


@pytest.mark.both_databases
@pytest.mark.parametrize("is_required", [False, True])
def test_an_array_creates_rows_and_their_links_or_none(serve, is_required):
    until = {"type": "dateonly", "required": is_required}
    api = serve({**LIBRARY, "loan": {**LOAN, "properties": {"until": until}}})
    token, bodies = api.logged_in(), [{"name": "A"}, {"name": "B"}]
    api("POST", "/books", {"title": "Emma"}, token=token)

    shelves = api("POST", "/books/1/shelves", bodies, token=token).json
    readers = api("POST", "/books/1/readers", bodies, token=token)

    assert api("GET", "/books/1/shelves", token=token).json == shelves
    assert [shelf["name"] for shelf in shelves] == ["A", "B"]
    stored = [] if is_required else readers.json
    assert api("GET", "/books/1/readers", token=token).json == stored
    assert api("GET", "/people", token=token).json == stored
    if is_required:
        assert field_codes(readers) == {"0.until": ["presence"], "1.until": ["presence"]}


def test_a_row_belongs_to_its_creator_and_is_private_to_its_owner(serve):
    api = serve({"note": NOTE})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")

    note = api("POST", "/notes", {"text": "mine"}, token=ada)

    assert note.json == {"id": 1, "text": "mine", "userId": 1}
    assert api("GET", "/notes/1", token=bob).status_code == 404
    assert api("GET", "/notes", token=bob).json == []
    assert api("GET", "/notes/1/author", token=ada).json["email"] == "ada@example.com"
    assert refusal(api("POST", "/notes", {"text": "a"})) == (401, "AUTHORIZATION_REQUIRED")


@pytest.mark.parametrize("body", [{"userId": 2}, {"userId": 99}])
def test_only_a_rule_beyond_owner_lets_a_caller_name_somebody_else(serve, body):
    api = serve({"note": NOTE})
    ada, _bob = api.logged_in(), api.logged_in("bob@example.com")
    api("POST", "/notes", {"text": "mine"}, token=ada)

    for verb, path in [("POST", "/notes"), ("PATCH", "/notes/1"), ("PUT", "/notes/1")]:
        response = api(verb, path, body, token=ada)

        assert field_codes(response) == {"userId": ["invalid"]}
    response = api("POST", "/notes/update?where={}", body, token=ada)
    assert field_codes(response) == {"userId": ["invalid"]}


def test_an_admin_names_the_owner(serve):
    api = serve({"note": NOTE})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")
    api.client.application.test_cli_runner().invoke(
        args=["roles", "grant", "ada@example.com", "admin"]
    )

    note = api("POST", "/notes", {"text": "his", "userId": 2}, token=ada)

    assert note.json["userId"] == 2
    assert api("GET", "/notes", token=bob).json == [note.json]
    assert api("PATCH", "/notes/1", {"userId": 1}, token=ada).json["userId"] == 1
    assert api("GET", "/notes", token=bob).json == []
    assert field_codes(api("POST", "/notes", {"userId": 99}, token=ada)) == {"userId": ["invalid"]}


@pytest.mark.both_databases
def test_rules_name_methods_as_loopback_does(serve):
    acls = [
        rule("$everyone", "DENY"),
        rule("$everyone", property=["create", "find", "patchAttributes", "updateAll"]),
        # Names that allow nothing, and that deny all the same.
        rule("$everyone", property=["*", "destroyById", "prototype.__get__note"]),
        rule("$everyone", property="prototype.findById", accessType="READ"),
        rule("$everyone", property=[]),
        rule("$everyone", "DENY", property="update"),
        rule("$everyone", "AUDIT", property="count"),
        rule("$everyone", "ALARM", property="exists"),
        rule("$everyone", property="", accessType="EXECUTE", principalType="APP"),
    ]
    properties = {"text": "string"}
    relations = {"note": {"type": "belongsTo", "model": "Note"}}
    note = {"name": "Note", "properties": properties, "relations": relations, "acls": acls}
    api = serve({"note": note}, COMPATIBILITY="loopback3")

    created = api("POST", "/notes", {"text": "a"}).json
    assert api("PATCH", "/notes/1", {"text": "b"}).json == {**created, "text": "b"}
    assert api("GET", "/notes").json == [{**created, "text": "b"}]
    assert api("GET", "/notes/count").json == {"count": 1}
    assert api("HEAD", "/notes/1").status_code == 200
    for verb, path in [
        ("GET", "/notes/1"),
        ("GET", "/notes/1/note"),
        ("GET", "/notes/findOne"),
        ("DELETE", "/notes/1"),
        ("POST", "/notes/update?where={}"),
    ]:
        assert api(verb, path, {} if verb == "POST" else None).status_code == 401, path


@pytest.mark.parametrize(("default", "status"), [("ALLOW", 200), ("DENY", 401)])
def test_a_rule_without_permission_does_what_holds_by_default(serve, default, status):
    acls = [
        rule("$everyone", "DENY" if default == "ALLOW" else "ALLOW"),
        rule("$everyone", None, property="find"),
    ]
    api = serve({"note": {"name": "Note", "defaultPermission": default, "acls": acls}})

    assert api("GET", "/notes").status_code == status
    assert api("GET", "/notes/count").status_code == (401 if status == 200 else 200)


def test_replacing_a_row_keeps_its_owner(serve):
    api = serve({"note": NOTE})
    ada = api.logged_in()
    api("POST", "/notes", {"text": "mine", "userId": None}, token=ada)

    assert api("PUT", "/notes/1", {"text": "b"}, token=ada).json["userId"] == 1
    assert api("PUT", "/notes/1", {"text": "c", "userId": 1}, token=ada).json["userId"] == 1
    assert api("POST", "/users/1/notes", {}, token=ada).status_code == 404


@pytest.mark.both_databases
def test_a_property_of_any_name_leaves_the_total_as_it_is(serve):
    properties = {"total_": "number", "number": "string"}
    api = serve({"bill": {"name": "Bill", "properties": properties, "acls": OPEN}})
    token = api.logged_in()
    api("POST", "/Bills", [{"total_": 50, "number": "a"}, {"total_": 60}], token=token)

    # The statement is prepared at its second execution.
    for _ in range(3):
        found = api("GET", "/Bills?filter[limit]=1&count=true", token=token)

        assert found.json == [{"total_": 50, "number": "a", "id": 1}]
        assert found.headers["X-Total-Count"] == "2"
