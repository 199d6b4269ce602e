"""PUT of models with `replaceOnPUT: false`, as of applications that come from LoopBack 2."""

import pytest

from tests.support.answers import refusal

from .library import rule

NOTE = {
    "name": "Note",
    "properties": {"text": "string", "stars": {"type": "number", "default": 1}},
    "replaceOnPUT": False,
    "acls": [rule("$everyone")],
}


@pytest.mark.parametrize(
    ("models", "config"),
    [
        ({"note": NOTE}, None),
        ({"note": {**NOTE, "replaceOnPUT": True, "options": {"replaceOnPUT": False}}}, None),
        ({"base": {**NOTE, "name": "Base"}, "note": {"name": "Note", "base": "Base"}}, None),
        ({"note": {**NOTE, "replaceOnPUT": True}}, {"Note": {"options": {"replaceOnPUT": False}}}),
    ],
)
def test_put_changes_what_is_sent(serve, models, config):
    api = serve(models, config)
    api("POST", "/notes", {"text": "a", "stars": 5})

    assert api("PUT", "/notes/1", {"text": "b"}).json == {"id": 1, "text": "b", "stars": 5}
    assert api("PUT", "/notes", {"id": 1, "text": "c"}).json == {"id": 1, "text": "c", "stars": 5}
    assert api("PUT", "/notes", {"text": "d"}).json == {"id": 2, "text": "d", "stars": 1}
    assert api("POST", "/notes/1/replace", {"text": "e"}).json == {"id": 1, "text": "e", "stars": 1}
    paths = api("GET", "/openapi.json").json["paths"]
    assert paths["/notes/{id}"]["put"]["operationId"].startswith("Notes.patchAttributes")


def test_the_rules_and_switches_of_put_are_those_of_a_patch(serve):
    acls = [rule("$everyone"), rule("$everyone", "DENY", property="patchAttributes")]
    api = serve({"note": {**NOTE, "acls": acls, "disableRemoteMethodByName": ["upsert"]}})
    api("POST", "/notes", {"text": "a"})

    assert api("PUT", "/notes/1", {"text": "b"}).status_code == 401
    assert refusal(api("PUT", "/notes", {"id": 1, "text": "b"})) == (404, "NOT_FOUND")
    assert api("POST", "/notes/1/replace", {"text": "e"}).status_code == 200


def test_put_of_users_changes_what_is_sent(serve):
    api = serve({"user": {"name": "User", "base": "User", "replaceOnPUT": False}})
    token = api.newcomer(username="ada")

    assert api("PUT", "/users/1", {"realm": None}, token=token).json["username"] == "ada"


def test_put_replaces_without_it(serve):
    api = serve({"note": {**NOTE, "replaceOnPUT": True}})
    api("POST", "/notes", {"text": "a", "stars": 5})

    assert api("PUT", "/notes/1", {"text": "b"}).json["stars"] == 1
