"""RELATION_PERMISSIONS: whose rules decide on calls of relations, and on includes."""

import pytest

from app.access.roles import grant
from tests.support.answers import refusal

from .library import rule

CLOSED = [rule("$everyone", "DENY")]
NOTE = {
    "name": "Note",
    "properties": {"text": "string"},
    "relations": {
        "lines": {"type": "hasMany", "model": "Line"},
        "seal": {"type": "hasOne", "model": "Seal"},
        "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
        "author": {"type": "belongsTo", "model": "Account", "foreignKey": "authorId"},
    },
    "acls": [*CLOSED, *(rule("$authenticated", accessType=kind) for kind in ("READ", "WRITE"))],
}
HIDING = {"properties": {"text": "string", "pin": "string"}, "hidden": ["pin"], "acls": CLOSED}
LINE = {
    "name": "Line",
    **HIDING,
    "scope": {"where": {"text": {"neq": "gone"}}},
    "relations": {"note": {"type": "belongsTo", "model": "Note"}},
}
MODELS = {
    "note": NOTE,
    "line": LINE,
    "seal": {"name": "Seal", **HIDING},
    "tag": {"name": "Tag", **HIDING},
    "account": {
        "name": "Account",
        "base": "User",
        "plural": "users",
        "relations": {
            "notes": {"type": "hasMany", "model": "Note", "foreignKey": "authorId"},
            "roles": {
                "type": "hasMany",
                "model": "Role",
                "through": "RoleMapping",
                "foreignKey": "principalId",
            },
        },
        "acls": [rule("$owner", property=["__get__roles", "__create__notes"])],
    },
}
DENIED = (403, "ACCESS_DENIED")


def relation_of(response):
    return refusal(response), response.json["error"].get("details")


@pytest.fixture
def notes(serve):
    """Serve the models with a note of Ada; return the client and the tokens of Ada and Bob."""

    def start(**settings):
        api = serve(MODELS, **settings)
        ada, bob = api.logged_in(), api.logged_in("bob@example.com")
        assert api("POST", "/notes", {"text": "hers", "authorId": 1}, token=ada).status_code == 200
        return api, ada, bob

    return start


def test_the_rules_of_both_decide_and_a_refusal_names_the_relation(notes):
    api, ada, _ = notes()

    for verb, relation in [
        *(("GET", "lines"), ("POST", "lines"), ("GET", "lines/count"), ("DELETE", "lines")),
        *(("GET", "seal"), ("POST", "seal"), ("PUT", "tags/rel/1"), ("GET", "tags")),
    ]:
        body = {} if verb == "POST" else None
        response = api(verb, f"/notes/1/{relation}", body, token=ada)
        named = {"relation": relation.partition("/")[0]}
        assert relation_of(response) == (DENIED, named), relation
    response = api("GET", "/notes?filter[include]=lines", token=ada)
    assert relation_of(response) == (DENIED, {"relation": "include.lines"})
    # The rules of the parent are not those of a relation.
    assert relation_of(api("GET", "/lines", token=ada)) == (DENIED, None)


@pytest.mark.both_databases
def test_the_rules_of_the_parent_decide_alone(notes):
    api, _, bob = notes(RELATION_PERMISSIONS="parent")

    def call(verb, path, body=None, status=200):
        response = api(verb, f"/notes/1/{path}", body, token=bob)
        assert response.status_code == status, (path, response.json)
        return response.json

    line = call("POST", "lines", {"text": "a", "pin": "1"})
    assert line == {"id": 1, "text": "a", "noteId": 1}
    call("POST", "lines", {"text": "gone"})
    assert call("GET", "lines") == [line]
    assert call("GET", "lines/count") == {"count": 1}
    assert call("PUT", "lines/1", {"text": "b"})["text"] == "b"
    assert call("GET", "lines/1")["text"] == "b"
    call("GET", "lines/9", status=404)
    assert call("POST", "seal", {})["noteId"] == 1
    assert call("GET", "seal")["id"] == 1
    assert call("PUT", "seal", {"text": "red"})["text"] == "red"
    assert call("POST", "tags", {"text": "t"}) == {"id": 1, "text": "t"}
    call("HEAD", "tags/rel/1")
    included = '{"include": ["lines", "seal", "tags", "author"]}'
    [note] = api("GET", f"/notes?filter={included}", token=bob).json
    assert [each["text"] for each in (*note["lines"], note["seal"], *note["tags"])] == [
        *("b", "red", "t")
    ]
    call("DELETE", "tags/rel/1", status=204)
    call("DELETE", "seal", status=204)
    call("DELETE", "lines", status=204)
    assert call("GET", "lines/count") == {"count": 0}


def test_neither_users_nor_roles_are_opened_nor_what_is_called_directly(notes):
    api, ada, bob = notes(RELATION_PERMISSIONS="parent")
    with api.client.application.app_context():
        grant(1, "clerk")

    # Those who may read the user see it; for the others it is left out.
    assert api("GET", "/notes/1/author", token=ada).json["email"] == "ada@example.com"
    assert refusal(api("GET", "/notes/1/author", token=bob))[0] == 404
    [note] = api("GET", "/notes?filter[include]=author", token=ada).json
    assert note["author"]["id"] == 1
    assert "password" not in note["author"]
    assert "author" not in api("GET", "/notes?filter[include]=author", token=bob).json[0]
    assert refusal(api("GET", "/users/1/roles", token=bob)) == DENIED
    assert api("GET", "/users/1/roles", token=ada).json == [{"id": 1, "name": "clerk"}]
    for verb, path in [
        *(("GET", "/lines"), ("GET", "/seals"), ("GET", "/tags"), ("GET", "/users")),
        ("GET", "/users/1/notes"),
    ]:
        assert refusal(api(verb, path, token=bob)) == DENIED, path
        assert refusal(api(verb, path))[0] == 401, path


def test_methods_of_relations_that_are_switched_off_stay_so(serve):
    shared = {"options": {"remoting": {"sharedMethods": {"__get__lines": False}}}}
    api = serve(
        MODELS,
        {name: {} for name in ("Line", "Seal", "Tag", "Account")} | {"Note": shared},
        RELATION_PERMISSIONS="parent",
    )
    ada = api.logged_in()
    api("POST", "/notes", {}, token=ada)

    assert api("POST", "/notes/1/lines", {}, token=ada).status_code == 200
    assert refusal(api("GET", "/notes/1/lines", token=ada)) == (404, "NOT_FOUND")


def test_the_document_says_who_may_call(notes):
    api, *_ = notes(RELATION_PERMISSIONS="parent")
    paths = api("GET", "/openapi.json").json["paths"]

    read = paths["/notes/{id}/lines"]["get"]["description"]
    assert "For everybody who is logged in." in read
    assert "nobody by default" in paths["/lines"]["get"]["description"]


BAG = {
    "name": "Bag",
    "relations": {
        "owner": {"type": "belongsTo", "model": "Account"},
        "things": {"type": "hasMany", "model": "Thing"},
        "jewel": {"type": "hasOne", "model": "Thing"},
        "labels": {"type": "hasMany", "model": "Label", "polymorphic": "labelable"},
    },
    "acls": [
        *(*CLOSED, rule("$owner"), rule("$authenticated", property="create")),
        rule("$authenticated", accessType="READ"),
    ],
}
HELD = {
    "bag": BAG,
    "thing": {
        "name": "Thing",
        "properties": {"text": "string"},
        "relations": {"bag": {"type": "belongsTo", "model": "Bag"}},
        "acls": CLOSED,
    },
    "label": {
        "name": "Label",
        "relations": {"labelable": {"type": "belongsTo", "polymorphic": True}},
        "acls": CLOSED,
    },
    # Its ids make the keys of labels text.
    "chest": {
        **BAG,
        "name": "Chest",
        "properties": {"id": {"type": "uuid", "id": True}},
        "relations": {name: BAG["relations"][name] for name in ("owner", "labels")},
    },
    "account": {"name": "Account", "base": "User", "plural": "users"},
}
MOVING = [
    ("PUT", "things/1", {"bagId": 2}),
    ("PUT", "things/1", {"bagId": None}),
    ("PUT", "jewel", {"bagId": 2}),
    ("PUT", "labels/1", {"labelableId": "2"}),
]


@pytest.mark.both_databases
def test_a_row_stays_with_a_parent_whose_rules_let_the_caller_write_it(serve):
    api = serve(HELD, RELATION_PERMISSIONS="parent")
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")
    for token in (ada, bob, ada):
        assert api("POST", "/bags", {}, token=token).status_code == 200
    for relation in ("things", "labels"):
        assert api("POST", f"/bags/1/{relation}", {}, token=ada).status_code == 200

    for verb, path, body in MOVING:
        assert refusal(api(verb, f"/bags/1/{path}", body, token=ada)) == DENIED, path
    assert api("GET", "/bags/2/things", token=ada).json == []
    assert api("GET", "/bags/2/labels", token=ada).json == []
    assert api("PUT", "/bags/1/things/1", {"text": "a"}, token=ada).json["bagId"] == 1
    # Bag 3 is hers, too.
    for verb, path, body in [MOVING[0], MOVING[3]]:
        within = {name: 3 if value == 2 else "3" for name, value in body.items()}
        assert api(verb, f"/bags/1/{path}", within, token=ada).status_code == 200, path
    assert len(api("GET", "/bags/3/labels", token=ada).json) == 1
    hers, his = (api("POST", "/chests", {}, token=token).json["id"] for token in (ada, bob))
    label = api("POST", f"/chests/{hers}/labels", {}, token=ada).json["id"]
    for chest, status in [(hers, 200), (his, 403)]:
        path, body = f"/chests/{hers}/labels/{label}", {"labelableId": chest}
        assert api("PUT", path, body, token=ada).status_code == status
