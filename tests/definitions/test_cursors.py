"""Cursors of models in JSON: what they hold, and where filters have none."""

import json
from base64 import urlsafe_b64decode
from urllib.parse import parse_qs, urlsplit

import pytest

from app.problems import ConfigurationError
from tests.support.answers import refusal

from .library import OPEN

SHIP = {
    "name": "Ship",
    "properties": {"name": "string", "speed": "number", "code": {"type": "string", "hidden": True}},
    "relations": {"port": {"type": "belongsTo", "model": "Port", "foreignKey": "portId"}},
    "acls": OPEN,
    "strict": False,
}
NAMED = {"order": "name", "fields": ["id", "name"]}
PORT = {
    "name": "Port",
    "properties": {"name": "string"},
    "relations": {
        "ships": {"type": "hasMany", "model": "Ship", "foreignKey": "portId"},
        "named": {"type": "hasMany", "model": "Ship", "foreignKey": "portId", "scope": NAMED},
        "crews": {"type": "hasAndBelongsToMany", "model": "Crew"},
    },
    "acls": OPEN,
}
CREW = {
    "name": "Crew",
    "properties": {"id": {"type": "string", "id": True, "hidden": True}, "name": "string"},
    "relations": {"ports": {"type": "hasAndBelongsToMany", "model": "Port"}},
    "acls": OPEN,
}
MODELS = {"ship": SHIP, "port": PORT, "crew": CREW}


@pytest.fixture
def call(serve):
    """Serve a port with five ships; return a function that calls it with a filter."""
    api = serve(MODELS)
    token = api.logged_in()

    def call(verb, path, body=None, **filter_):
        query = {"query_string": {"filter": json.dumps(filter_)}} if filter_ else {}
        return api(verb, path, body, token=token, **query)

    call("POST", "/Ports", {"name": "a"})
    ships = [{"name": f"{number % 2}", "speed": number, "x": 1} for number in range(5)]
    assert call("POST", "/Ports/1/ships", ships).status_code == 200
    return call


def linked(response):
    """Return the filter of the link to the next page; None without one."""
    assert response.status_code == 200, response.json
    link = response.headers.get("Link", "<>").partition(">")[0]
    query = parse_qs(urlsplit(link.removeprefix("<")).query)
    return json.loads(query["filter"][0]) if query else None


def pages(call, path, **filter_):
    """Return the ids of the rows of all pages, and the filters that link to them."""
    found, links = [], []
    while filter_ is not None:
        response = call("GET", path, **filter_)
        filter_ = linked(response)
        found.append([row["id"] for row in response.json])
        links.append(filter_)
    return found, links[:-1]


@pytest.mark.both_databases
def test_the_rows_of_a_relation_have_pages(call):
    for path in ("/Ports/1/ships", "/Ports/1/named", "/Ships"):
        found, links = pages(call, path, limit=2, order="name DESC")

        assert found == [[2, 4], [1, 3], [5]]
        assert all("after" in each for each in links)


@pytest.mark.both_databases
def test_a_page_has_what_is_included(call):
    response = call("GET", "/Ships", limit=2, include="port", fields=["id", "portId"])
    second = call("GET", "/Ships", **linked(response))

    assert [row["port"]["name"] for row in second.json] == ["a", "a"]


def test_a_cursor_has_no_value_that_the_scope_of_a_relation_leaves_out(call):
    path = "/Ports/1/named"
    cursor = linked(call("GET", path, limit=1))["after"]
    by_speed = linked(call("GET", "/Ships", limit=1, order="speed"))["after"]

    assert json.loads(urlsafe_b64decode(cursor + "=="))[1:] == [1, True, "0", 1]
    assert linked(call("GET", path, limit=1, order="speed"))["skip"] == 1
    refused = call("GET", path, limit=1, order="speed", after=by_speed)
    assert refusal(refused) == (400, "INVALID_FILTER")
    assert "have no cursors" in refused.json["message"]


def test_rows_whose_ids_are_hidden_have_no_cursors(call):
    for name in "abc":
        assert call("POST", "/Crews", {"name": name}).status_code == 200

    assert linked(call("GET", "/Crews", limit=1)) == {"limit": 1, "skip": 1}
    assert linked(call("GET", "/Crews", limit=1, order="name"))["skip"] == 1


def test_orders_by_undeclared_and_related_properties_have_no_cursors(call):
    for order in ("x", "port.name"):
        assert linked(call("GET", "/Ships", limit=2, order=order))["skip"] == 2
    assert refusal(call("GET", "/Ships", order="code")) == (400, "INVALID_FILTER")


def test_a_scope_has_no_cursor(call):
    cursor = linked(call("GET", "/Ships", limit=1))["after"]
    scope = {"relation": "ships", "scope": {"after": cursor}}

    refused = call("GET", "/Ports", include=[scope])

    assert refusal(refused) == (400, "INVALID_FILTER")
    assert refused.json["message"] == "after: only the filter of a list has it, and no scope."


@pytest.mark.parametrize(
    "models",
    [
        {"ship": {**SHIP, "scope": {"after": "abc"}}},
        {
            "port": {
                **PORT,
                "relations": {"ships": {**PORT["relations"]["ships"], "scope": {"after": "abc"}}},
            }
        },
    ],
    ids=["model", "relation"],
)
def test_a_declared_scope_has_no_cursor(make_models, models):
    with pytest.raises(ConfigurationError, match="only the filter of a list has it"):
        make_models({**MODELS, **models})
