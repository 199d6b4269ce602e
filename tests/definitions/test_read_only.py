"""Properties of models in JSON that clients read and cannot write."""

import pytest

from tests.support.answers import field_codes

from .library import OPEN

NOTE = {
    "name": "Note",
    "properties": {
        "text": "string",
        "number": {"type": "string", "defaultFn": "uuid", "readOnly": True, "unique": True},
        "state": {"type": "string", "enum": ["new", "old"], "default": "new", "readOnly": True},
        "history": {"type": ["object"], "default": [], "readOnly": True},
        "rank": {"type": "integer", "readOnly": True, "required": True},
        "internal": {"type": "string", "default": "x", "readOnly": True, "hidden": True},
    },
    "acls": OPEN,
}
# It sets what clients cannot.
CODE = """
def extend(resource):
    @resource.before_save.connect
    def rank(sender, event):
        event.values["rank"] = 1 if event.is_new else 2
"""


@pytest.fixture
def call(serve):
    api = serve({"note": NOTE}, code={"note": CODE})
    token = api.logged_in()

    def call(verb, path="", body=None):
        return api(verb, f"/notes{path}", body, token=token)

    call.api = api
    return call


def test_what_is_read_only_has_its_default_or_what_a_hook_sets(call):
    one = call("POST", "", {"text": "a"}).json
    two, three = call("POST", "", [{"text": "b"}, {"text": "c"}]).json

    rest = {"state": "new", "history": [], "rank": 1}
    assert len({one.pop("number"), two.pop("number"), three.pop("number")}) == 3
    assert one == {"id": 1, "text": "a", **rest}
    assert [two, three] == [{"id": 2, "text": "b", **rest}, {"id": 3, "text": "c", **rest}]


@pytest.mark.both_databases
def test_clients_may_send_it_back_and_not_change_it(call):
    created = call("POST", "", {"text": "a"}).json

    changed = call("PATCH", "/1", {**created, "text": "b"}).json
    replaced = call("PUT", "/1", {**changed, "text": "c"}).json

    assert changed == {**created, "text": "b", "rank": 2}
    assert replaced == {**created, "text": "c", "rank": 2}
    for verb, path in [("POST", ""), ("PATCH", "/1"), ("PUT", "/1"), ("POST", "/update?where={}")]:
        for name in ("state", "rank", "internal"):
            assert field_codes(call(verb, path, {name: "old"})) == {name: ["absence"]}
    assert call("GET", '/count?where={"state":"new"}').json == {"count": 1}


def test_a_foreign_key_may_be_read_only(serve):
    note = {
        "name": "Note",
        "properties": {"bookId": {"type": "number", "readOnly": True}},
        "relations": {"book": {"type": "belongsTo", "model": "Book"}},
        "acls": OPEN,
    }
    book = {
        "name": "Book",
        "relations": {"notes": {"type": "hasMany", "model": "Note"}},
        "acls": OPEN,
    }
    api = serve({"note": note, "book": book})
    token = api.logged_in()
    api("POST", "/books", {}, token=token)

    assert api("POST", "/books/1/notes", {}, token=token).json == {"id": 1, "bookId": 1}
    assert field_codes(api("POST", "/notes", {"bookId": 1}, token=token)) == {"bookId": ["absence"]}


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["count", "index", "t", "tuple"])
def test_keys_and_what_is_embedded_may_have_the_names_of_methods_of_a_row(serve, name):
    book = {
        "name": "Book",
        "relations": {
            "other": {"type": "belongsTo", "model": "Book", "foreignKey": name},
            "parts": {"type": "embedsMany", "model": "Part", "property": f"{name}s"},
        },
        "acls": OPEN,
    }
    api = serve({"book": book})
    token = api.logged_in()
    first = api("POST", "/books", {}, token=token).json
    api("POST", "/books", {name: 1}, token=token)

    assert api("GET", "/books/2/other", token=token).json == first
    assert api("GET", "/books/2?filter[include]=other", token=token).json["other"] == first
    assert api("PATCH", "/books/2", {name: 1}, token=token).status_code == 200
    assert field_codes(api("PATCH", "/books/2", {name: 9}, token=token)) == {name: ["invalid"]}


def test_an_empty_text_is_no_default_of_what_is_required(serve):
    title = {"type": "string", "required": True, "default": ""}
    note = {"name": "Note", "properties": {"title": title, "text": {**title, "required": False}}}
    api = serve({"note": {**note, "acls": OPEN}})
    token = api.logged_in()

    missing = api("POST", "/notes", {}, token=token)
    created = api("POST", "/notes", {"title": "a"}, token=token)
    replaced = api("PUT", "/notes/1", {}, token=token)

    assert (missing.status_code, created.status_code, replaced.status_code) == (422, 200, 422)
    assert field_codes(missing).keys() == {"title"}
    assert created.json == {"id": 1, "title": "a", "text": ""}
