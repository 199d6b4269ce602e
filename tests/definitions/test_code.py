"""Python code beside a model in JSON: hooks, endpoints and dynamic roles of its resource."""

import pytest

from tests.support.answers import field_codes, refusal

from .library import OPEN, rule

NOTE = {
    "name": "Note",
    "properties": {"text": "string", "reader": "number", "secret": "string"},
    "hidden": ["secret"],
    "relations": {"owner": {"type": "belongsTo", "model": "user", "foreignKey": "ownerId"}},
    "acls": [
        rule("$everyone", "DENY"),
        rule("$authenticated", property="create"),
        rule("$owner"),
        rule("reader"),
    ],
}
CODE = """
from app.access.rules import READ
from app.errors import AccessDenied


def extend(note):
    columns = note.model.__table__.columns

    @note.before_save.connect
    def tidy(resource, event):
        event.values["text"] = event.values["text"].strip()

    @note.before_delete.connect
    def keep(resource, event):
        if event.row.text == "kept":
            raise AccessDenied()

    @note.loaded.connect
    def sign(resource, event):
        event.values["text"] += "."

    @note.endpoint("again", READ, "GET /<id>/again", answer=note.schema)
    def again(row):
        return row

    note.roles["reader"] = lambda user_id: columns.reader == user_id
"""


def test_the_code_of_a_model_has_hooks_an_endpoint_and_a_dynamic_role(serve, secrets):
    api = serve({"note": NOTE}, code={"note": CODE})
    ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
    for text, reader in ((" kept ", 2), ("other", 1)):
        api("POST", "/notes", {"text": text, "reader": reader, "secret": "x"}, token=ada)

    assert [each["text"] for each in api("GET", "/notes", token=ada).json] == ["kept.", "other."]
    assert [each["text"] for each in api("GET", "/notes", token=bob).json] == ["kept."]
    assert "secret" not in api("GET", "/notes/1/again", token=bob).json
    assert api("GET", "/notes/1/again", token=bob).json["text"] == "kept."
    assert api("GET", "/notes/2/again", token=bob).status_code == 404
    assert api("PATCH", "/notes/1", {"text": " kept"}, token=bob).json["text"] == "kept."
    assert api("POST", "/notes", {"text": "x", "ownerId": 1}, token=bob).status_code == 422
    assert refusal(api("DELETE", "/notes/1", token=bob)) == (403, "ACCESS_DENIED")
    assert refusal(api("DELETE", "/notes/1", token=ada)) == (403, "ACCESS_DENIED")
    assert api("DELETE", "/notes/2", token=ada).status_code == 200


# The role alone, without hooks.
ROLE = """
def extend(note):
    note.roles["reader"] = lambda user_id: note.model.reader == user_id
"""


def test_the_holder_of_a_dynamic_role_does_not_become_the_owner(serve):
    api = serve({"note": NOTE}, code={"note": ROLE})
    ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
    note = api("POST", "/notes", {"text": "a", "reader": 2}, token=ada).json

    for verb, path, body in [
        ("PATCH", "/notes/1", {"ownerId": 2}),
        ("PUT", "/notes/1", {"text": "a", "reader": 2, "ownerId": 2}),
        ("PATCH", "/notes", {"id": 1, "ownerId": 2}),
        ("POST", "/notes/upsertWithWhere?where={}", {"ownerId": 2}),
        ("POST", "/notes/update?where={}", {"ownerId": 2}),
    ]:
        refused = api(verb, path, body, token=bob)
        assert field_codes(refused) == {"ownerId": ["invalid"]}, (verb, path)
    assert api("PATCH", "/notes/1", {**note, "text": "b"}, token=bob).json["ownerId"] == 1
    assert api("PATCH", "/notes/1", {"ownerId": 1}, token=ada).json["ownerId"] == 1


ENDPOINT = """
from app.access.rules import READ


def extend(note):
    @note.endpoint("again", READ, "GET /<id>/again", answer=note.schema)
    def again(row):
        return row
"""


def test_an_endpoint_answers_with_what_other_answers_have(serve):
    model = {**NOTE, "strict": False, "hidden": ["secret", "ownerId"]}
    api = serve({"note": model}, code={"note": ENDPOINT})
    token = api.logged_in()

    note = api("POST", "/notes", {"text": "a", "color": "red"}, token=token).json

    assert note == {"id": 1, "text": "a", "reader": None, "color": "red"}
    assert api("GET", "/notes/1/again", token=token).json == note


@pytest.mark.both_databases
def test_a_row_without_a_required_value_is_a_failure_of_the_code_that_stores_it(serve, caplog):
    """Its clients could not mend it."""
    code = """
from ostiary.rules import WRITE


def extend(notes):
    @notes.endpoint("add", WRITE, "POST /add")
    def add():
        notes.insert([{}])
"""
    note = {"name": "note", "properties": {"text": {"type": "string", "required": True}}}
    api = serve({"note": {**note, "acls": OPEN}}, None, {"note": code})
    api.client.application.config["PROPAGATE_EXCEPTIONS"] = False

    failed = api("POST", "/notes/add", token=api.logged_in())

    assert failed.status_code == 500
    assert "IntegrityError" in caplog.text
