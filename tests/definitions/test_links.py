"""What the body of `PUT /M/{id}/R/rel/{fk}` says of a link that is a row of a model."""

import pytest
from openapi_spec_validator import validate

from tests.support.answers import field_codes, refusal

from .library import OPEN, rule

THROUGH = {"type": "hasMany", "through": "Membership"}
GUILD = {
    "name": "Guild",
    "properties": {"name": "string"},
    "relations": {
        "smiths": {**THROUGH, "model": "Smith"},
        "marks": {"type": "hasAndBelongsToMany", "model": "Mark"},
    },
    "acls": OPEN,
}
SMITH = {
    "name": "Smith",
    "properties": {"name": "string"},
    "relations": {"guilds": {**THROUGH, "model": "Guild"}},
    "acls": OPEN,
}
MARK = {"name": "Mark", "properties": {"name": "string"}, "acls": OPEN}
MEMBERSHIP = {
    "name": "Membership",
    "properties": {"since": {"type": "integer", "required": True}, "rank": "string"},
    "relations": {
        "guild": {"type": "belongsTo", "model": "Guild"},
        "smith": {"type": "belongsTo", "model": "Smith"},
    },
    "acls": OPEN,
}
MODELS = {"guild": GUILD, "smith": SMITH, "mark": MARK, "membership": MEMBERSHIP}
LINK = "/Guilds/1/smiths/rel/1"


@pytest.fixture
def guild(serve):
    """Serve the models with one row of each; return a function that calls them."""

    def start(membership=MEMBERSHIP, **settings):
        api = serve({**MODELS, "membership": membership}, **settings)
        token = api.logged_in()
        for path in ("/Guilds", "/Smiths", "/Marks"):
            assert api("POST", path, {"name": "a"}, token=token).status_code == 200
        return lambda verb, path, body=None: api(verb, path, body, token=token)

    return start


def test_a_link_has_what_the_body_says_of_it(guild):
    call = guild()

    assert call("PUT", LINK, {"since": 1999, "rank": "master"}).status_code == 204

    link = {"id": 1, "since": 1999, "rank": "master", "guildId": 1, "smithId": 1}
    assert call("GET", "/Memberships").json == [link]
    # As in LoopBack 3, a link that there is stays as it is.
    for body in ({"since": 2001}, {}, {"guildId": 1, "smithId": 1}):
        assert call("PUT", LINK, body).status_code == 204, body
    assert call("GET", "/Memberships").json == [link]
    assert call("DELETE", LINK).status_code == 204
    assert call("PUT", "/Smiths/1/guilds/rel/1", {"since": 2001}).status_code == 204
    assert call("GET", "/Memberships").json == [{**link, "id": 2, "since": 2001, "rank": None}]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (None, {"since": ["presence"]}),
        ({}, {"since": ["presence"]}),
        ({"since": "x"}, {"since": ["invalid"]}),
        ({"since": 1, "color": "red"}, {"color": ["unknown"]}),
        ({"since": 1, "id": 7}, {"id": ["absence"]}),
        ({"since": 1, "guildId": 2}, {"guildId": ["invalid"]}),
        ({"since": 1, "smithId": 2}, {"smithId": ["invalid"]}),
    ],
)
def test_a_link_that_would_be_no_valid_row_is_not_made(guild, body, codes):
    forced = {**MEMBERSHIP, "properties": {**MEMBERSHIP["properties"]}, "forceId": True}
    call = guild(forced)
    for path in ("/Guilds", "/Smiths"):
        call("POST", path, {"name": "b"})

    assert field_codes(call("PUT", LINK, body)) == codes

    assert call("GET", "/Memberships").json == []


@pytest.mark.parametrize("body", ["text", [{"since": 1}]])
def test_the_body_of_a_link_is_an_object(guild, body):
    assert refusal(guild()("PUT", LINK, body))[0] == 400


def test_a_link_that_is_no_row_of_a_model_has_no_properties(guild):
    link = "/Guilds/1/marks/rel/1"
    call = guild()

    assert field_codes(call("PUT", link, {"since": 1})) == {"since": ["unknown"]}
    assert call("HEAD", link).status_code == 404
    assert call("PUT", link, {}).status_code == 204
    assert call("HEAD", link).status_code == 200


def test_with_compatibility_what_a_link_cannot_have_is_left_out(guild):
    call = guild(COMPATIBILITY="loopback3")

    assert call("PUT", "/Guilds/1/marks/rel/1", {"since": 1}).status_code == 204
    assert call("PUT", LINK, {"since": "1", "color": "red"}).status_code == 204
    assert [link["since"] for link in call("GET", "/Memberships").json] == [1]


def test_to_say_something_of_a_link_takes_the_permission_to_create_it(guild):
    loose = {"since": "integer", "rank": "string"}
    acls = [rule("$authenticated", accessType="READ")]
    call = guild({**MEMBERSHIP, "properties": loose, "acls": acls})

    refused = call("PUT", LINK, {"rank": "master"})

    assert refusal(refused) == (403, "ACCESS_DENIED")
    assert refused.json["error"]["details"] == {"relation": "smiths"}
    assert call("GET", "/Memberships").json == []
    assert call("PUT", LINK).status_code == 204
    assert [link["rank"] for link in call("GET", "/Memberships").json] == [None]


def test_the_rules_of_the_parent_may_decide_on_links_alone(guild):
    closed = {**MEMBERSHIP, "acls": [rule("$everyone", "DENY")]}
    call = guild(closed, RELATION_PERMISSIONS="parent")

    assert call("PUT", LINK, {"since": 1999}).status_code == 204


def test_the_document_has_what_a_link_may_have(guild):
    document = guild()("GET", "/openapi.json").json

    validate(document)
    bodies = {
        name: document["paths"][f"/guilds/{{id}}/{name}/rel/{{fk}}"]["put"]["requestBody"]
        for name in ("smiths", "marks")
    }
    schemas = {name: body["content"]["application/json"]["schema"] for name, body in bodies.items()}
    assert {name: body["required"] for name, body in bodies.items()} == {
        "smiths": False,
        "marks": False,
    }
    assert [*schemas["smiths"]["properties"]] == ["since", "rank"]
    assert schemas["smiths"]["required"] == ["since"]
    assert schemas["marks"]["properties"] == {}
