"""Ids in paths: with slashes, which clients encode, and with other characters."""

import re
from urllib.parse import quote

import pytest
from openapi_spec_validator import validate

from app.rest.routing import routed_path
from tests.support.answers import refusal

from .library import OPEN, rule

PAGE = {
    "name": "Page",
    "properties": {"id": {"type": "string", "id": True}, "text": "string"},
    "relations": {
        "parts": {"type": "hasMany", "model": "Part"},
        "others": {"type": "hasAndBelongsToMany", "model": "Page"},
    },
    "acls": OPEN,
}
PART = {
    "name": "Part",
    "properties": {"id": {"type": "string", "id": True}},
    "relations": {"page": {"type": "belongsTo", "model": "Page"}},
    "acls": OPEN,
}
IDS = ["a/b", "/", "//", "/a/", "a/..", "../b", "a%2Fb", "a?b/#c", "ä/ö \"'<>", "parts/x", "\ufffd"]


# Of these, only one with a slash at the end is the path of the row "a/b".
OTHER_PATHS = [
    *("a/b", "a%00b", "a%252Fb", "a%FFb", "a%2Fb/", "a%2Fb/text", "%2Fa%2Fb", "a%2F%2Fb"),
    "a%C0%AFb",
]


@pytest.fixture
def call(serve):
    api = serve({"page": PAGE, "part": PART})
    token = api.logged_in()

    def call(verb, path, body=None, **more):
        return api(verb, path, body, token=token, **more)

    return call


@pytest.mark.both_databases
def test_a_row_is_found_by_its_encoded_id(call):
    for id in IDS:
        check_row(call, id)


def check_row(call, id):
    path, part = f"/pages/{quote(id, safe='')}", f"{quote(id, safe='')}"
    page = call("POST", "/pages", {"id": id, "text": "a"}).json

    assert page["id"] == id
    assert call("GET", path).json == page
    assert call("GET", path.replace("%2F", "%2f")).json == page
    assert call("HEAD", path).status_code == 200
    assert call("GET", f"{path}/exists").json == {"exists": True}
    assert call("PATCH", path, {"text": "b"}).json["text"] == "b"
    assert call("PUT", path, {"text": "c"}).json == {**page, "text": "c"}
    created = call("POST", f"{path}/parts", {"id": id}).json
    assert created == {"id": id, "pageId": id}
    assert call("GET", f"{path}/parts").json == [created]
    assert call("GET", f"{path}/parts/{part}").json == created
    assert call("GET", f"/parts/{part}/page").json["id"] == id
    assert call("PUT", f"{path}/others/rel/{part}").status_code == 204
    assert call("HEAD", f"{path}/others/rel/{part}").status_code == 200
    assert call("DELETE", f"{path}/parts/{part}").status_code == 204
    assert call("DELETE", path).json == {"count": 1}


def test_another_path_is_not_that_of_the_row(call):
    call("POST", "/pages", {"id": "a/b"})

    found = {path: call("GET", f"/pages/{path}").status_code for path in OTHER_PATHS}

    assert found == {path: 200 if path == "a%2Fb/" else 404 for path in OTHER_PATHS}


def test_the_next_page_below_such_an_id_is_linked(call):
    call("POST", "/pages", {"id": "ä/b c"})
    for number in range(2):
        call("POST", f"/pages/{quote('ä/b c', safe='')}/parts", {"id": f"p{number}"})

    first = call("GET", "/pages/%C3%A4%2Fb%20c/parts?filter[limit]=1")
    link = first.headers["Link"].split(">")[0].removeprefix("</api")
    second = call("GET", link)

    assert link.startswith("/pages/%C3%A4%2Fb%20c/parts?filter=")
    assert [each["id"] for answer in (first, second) for each in answer.json] == ["p0", "p1"]


def test_an_encoded_slash_separates_nothing(call):
    unknown = call("GET", "/todos/1%2Fexists")
    assert refusal(unknown) == (404, "MODEL_NOT_FOUND")
    assert unknown.json["message"] == 'Unknown "todo" id "1/exists".'
    nothing = call("POST", "/users%2Flogin", {})
    assert refusal(nothing) == (404, "NOT_FOUND")
    assert nothing.json["message"] == ("There is no method to handle POST /api/users%2Flogin")
    document = call("GET", "/openapi.json").json
    validate(document)
    schema = document["components"]["schemas"]["Page"]["properties"]["id"]
    assert re.search(schema["pattern"], "a/b")


@pytest.mark.parametrize(
    ("path", "raw", "routed"),
    [
        ("/api/a/b", "/api/a%2Fb", "/api/a\0b"),
        ("/api/A/b/C", "/api/A/b%2fC?x=%2F#%2F", "/api/a/b\0C"),
        ("/api/a/b", "http://x/api/a%2Fb", "/api/a\0b"),
        # A server that says nothing of the target, and one that made another path of it.
        ("/api/a/b", "", "/api/a/b"),
        ("/api/a/b", "/prefix/api/a%2Fb", "/api/a/b"),
        ("/api/a\0b/c", "/api/a%00b%2Fc", "/api/a\xffb\0c"),
        ("/api/a\0b", "/api/a%00b", "/api/a\xffb"),
        ("/a/b", "/a%2Fb", "/a/b"),
    ],
)
def test_a_path_is_routed_by_what_the_client_wrote(path, raw, routed):
    assert routed_path(path, raw, "/api") == routed


def test_a_path_of_several_segments_is_served_as_it_is_written(serve):
    item = {"name": "Item", "http": {"path": "shop/newItems"}, "acls": [rule("$everyone")]}
    api = serve({"item": item})

    for path in ("/shop/newItems", "/Shop/newItems", "/SHOP/newItems/count"):
        assert api("GET", path).status_code == 200
    assert "/shop/newItems" in api("GET", "/openapi.json").json["paths"]
