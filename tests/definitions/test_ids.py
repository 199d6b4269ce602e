"""Ids that models in JSON declare: those that clients choose, and those that are generated."""

from concurrent.futures import ThreadPoolExecutor

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


@pytest.fixture
def rows(serve):
    """Serve a model that is declared like this; return what calls it."""

    def start(**declared):
        api = serve({"item": {"name": "Item", "acls": OPEN, **declared}})
        token = api.logged_in()
        return lambda verb, path="", body=None: api(verb, f"/items{path}", body, token=token)

    return start


NUMBER = {"id": {"type": "number", "id": True}, "a": "string"}


def ids_of(answer):
    return [row["id"] for row in answer.json]


@pytest.mark.both_databases
def test_a_number_that_a_client_chooses_is_the_id(rows):
    call = rows(properties=NUMBER)

    assert call("POST", "", {"id": 7, "a": "x"}).json == {"id": 7, "a": "x"}
    assert call("POST", "", {"a": "y"}).json["id"] == 8
    assert ids_of(call("POST", "", [{"id": 20}, {}, {"id": 12}, {}])) == [20, 21, 12, 22]
    assert call("PATCH", "", {"id": 30, "a": "z"}).json == {"id": 30, "a": "z"}
    assert call("PUT", "", {"id": 40, "a": "z"}).json["id"] == 40
    assert call("PUT", "", {"id": 7, "a": "new"}).json == {"id": 7, "a": "new"}
    assert call("PUT", "/50", {"a": "z"}).status_code == 404
    assert field_codes(call("POST", "", {"id": 7})) == {"id": ["uniqueness"]}
    assert call("POST", "", {}).json["id"] == 41


def test_a_number_that_was_chosen_is_given_to_no_other_row(rows):
    call = rows(properties=NUMBER)
    call("POST", "", {"id": 3})
    call("DELETE", "/3")

    assert ids_of(call("POST", "", [{}, {}])) == [4, 5]


def test_a_number_that_a_client_chooses_leaves_room_for_those_after_it(rows):
    call = rows(properties=NUMBER)

    for number in (0, -1, 1.5, 2**52 + 1, 10**30):
        assert field_codes(call("POST", "", {"id": number})) == {"id": ["invalid"]}, number
    assert call("POST", "", {"id": 2**52}).status_code == 200
    after = call("POST", "", {}).json["id"]
    assert after == 2**52 + 1
    assert call("PATCH", f"/{after}", {"a": "x"}).json == {"id": after, "a": "x"}


@pytest.mark.both_databases
def test_numbers_that_are_chosen_and_generated_at_once_are_different(rows):
    call = rows(properties=NUMBER)
    bodies = [{"id": number} if number % 2 else {} for number in range(1, 9)]

    with ThreadPoolExecutor(len(bodies)) as threads:
        answers = list(threads.map(lambda body: call("POST", "", body), bodies))

    made = [answer.json["id"] for answer in answers if answer.status_code == 200]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len({*made}) == len(made) >= 4
    assert all(field_codes(answer) == {"id": ["uniqueness"]} for answer in refused)
    assert call("POST", "", {}).json["id"] > max(made)


@pytest.mark.parametrize(
    ("declared", "is_chosen"),
    [
        ({"properties": {"id": {"type": "number", "id": True, "generated": True}}}, False),
        ({"properties": {"id": {"type": "number", "required": True}}}, False),
        ({"properties": NUMBER, "forceId": True}, False),
        ({"properties": NUMBER, "forceId": "auto"}, True),
        ({}, False),
        ({"forceId": False}, True),
        ({"options": {"forceId": False}}, True),
        (
            {
                "properties": {"id": {"type": "number", "id": True, "generated": True}},
                "forceId": False,
            },
            True,
        ),
    ],
)
def test_an_id_may_be_chosen_as_loopback_has_it(rows, declared, is_chosen):
    call = rows(**declared)

    created = call("POST", "", {"id": 7})
    if is_chosen:
        assert created.json["id"] == 7
        assert call("POST", "", {}).json["id"] == 8
    else:
        assert field_codes(created) == {"id": ["absence"]}
        assert call("POST", "", {"id": None}).json["id"] == 1


@pytest.mark.both_databases
def test_a_row_between_two_others_may_have_an_id_that_clients_choose(serve):
    link = {"name": "Link", "properties": {"id": {"type": "string", "id": True, "required": True}}}
    both = {"type": "hasMany", "model": "Item", "through": "Link", "keyThrough": "otherId"}
    node = {"name": "Item", "relations": {"others": both}, "acls": OPEN}
    api = serve({"link": {**link, "acls": OPEN}, "item": node})
    token = api.logged_in()
    first = api("POST", "/items", {}, token=token).json

    assert api("PUT", "/items/1/others/rel/1", token=token).status_code == 204
    assert api("GET", "/items/1/others", token=token).json == [first]
