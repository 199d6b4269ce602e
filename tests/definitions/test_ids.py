"""Ids that models in JSON declare: those that clients choose, and those that are generated."""

import pytest

from tests.support.answers import field_codes, refusal

from .library import OPEN


def item(**id):
    return {"name": "Item", "properties": {"id": {"id": True, **id}, "a": "string"}, "acls": OPEN}


@pytest.fixture
def items(serve):
    """Serve a model with this id; return what calls it."""

    def start(**id):
        api = serve({"item": item(**id)})
        token = api.logged_in()
        return lambda verb, path="", body=None: api(verb, f"/items{path}", body, token=token)

    return start


@pytest.mark.parametrize(
    "id",
    [
        {"type": "string", "required": True},
        {"type": "string", "required": True, "length": 20},
        # A generated one would not fit.
        {"type": "string", "length": 20},
        {"type": "number", "required": True, "generated": False},
        {"type": "uuid", "required": True, "generated": False},
    ],
)
def test_an_id_that_the_client_must_choose_and_that_is_missing_is_422(items, id):
    call = items(**id)
    blank = {"id": ["presence"]}

    for verb, path in [
        ("POST", ""),
        ("PUT", ""),
        ("PATCH", ""),
        ("POST", "/upsertWithWhere?where={}"),
    ]:
        assert field_codes(call(verb, path, {"a": "x"})) == blank, (verb, path)
        assert field_codes(call(verb, path, {"id": None, "a": "x"})) == blank, (verb, path)
    assert field_codes(call("POST", "", [{"a": "x"}])) == {"0.id": ["presence"]}
    if id["type"] == "string":
        assert field_codes(call("POST", "", {"id": ""})) == blank
        assert call("POST", "", {"id": "x" * 20}).json["id"] == "x" * 20
    assert len(call("GET").json) == (id["type"] == "string")


@pytest.mark.parametrize(
    "id",
    [
        {"type": "string"},
        {"type": "string", "length": 36},
        {"type": "string", "generated": True, "length": 20},
        {"type": "string", "defaultFn": "guid", "length": 20, "required": True},
    ],
)
def test_an_id_that_is_generated_fits(items, id):
    call = items(**id)

    created = call("POST", "", {"a": "x"}).json
    assert len(created["id"]) == 36
    assert call("GET", f"/{created['id']}").json == created


@pytest.mark.parametrize("function", ["guid", "uuid", "uuidv4", "shortid", "nanoid"])
def test_an_id_that_a_client_sends_takes_the_place_of_a_default(items, function):
    call = items(type="string", defaultFn=function, length=10, required=True)

    assert call("POST", "", {"id": "chosen", "a": "x"}).json == {"id": "chosen", "a": "x"}
    assert call("GET", "/chosen").json["a"] == "x"
    again = call("POST", "", {"id": "chosen", "a": "y"})
    assert field_codes(again) == {"id": ["uniqueness"]}
    assert call("PATCH", "", {"id": "upserted", "a": "z"}).json["id"] == "upserted"
    assert call("PATCH", "", {"id": "chosen", "a": "new"}).json == {"id": "chosen", "a": "new"}
    assert len(call("POST", "", {"id": None}).json["id"]) == 36
    assert refusal(call("POST", "", {"id": "x" * 37}))[0] == 422


def test_a_row_between_two_others_may_have_an_id_that_clients_choose(serve):
    link = {"name": "Link", "properties": {"id": {"type": "string", "id": True, "required": True}}}
    both = {"type": "hasMany", "model": "Item", "through": "Link", "keyThrough": "otherId"}
    node = {"name": "Item", "relations": {"others": both}, "acls": OPEN}
    api = serve({"link": {**link, "acls": OPEN}, "item": node})
    token = api.logged_in()
    first = api("POST", "/items", {}, token=token).json

    assert api("PUT", "/items/1/others/rel/1", token=token).status_code == 204
    assert api("GET", "/items/1/others", token=token).json == [first]
