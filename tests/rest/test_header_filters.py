"""Filters in request headers, in which clients that are generated for LoopBack 3 send them."""

import json

import pytest

from tests.definitions.test_compatibility import ON
from tests.support.answers import refusal

WHERE = {"isComplete": True, "id": {"lt": 9}}
FILTER = {"where": WHERE, "order": "id DESC", "fields": ["id", "title"]}
READS = [
    ("GET", "/todos", "filter", FILTER),
    ("GET", "/todos/findOne", "filter", FILTER),
    ("GET", "/todos/4", "filter", {"fields": ["id"], "include": "owner"}),
    ("HEAD", "/todos/4", "filter", {"fields": ["id"]}),
    ("GET", "/todos/count", "where", WHERE),
    ("GET", "/users/1/todos", "filter", FILTER),
    ("GET", "/users/1/todos/count", "where", WHERE),
    ("GET", "/todos/4/owner", "filter", {"fields": ["email"]}),
]


@pytest.fixture
def call(api, token, rows):
    """Call as the owner of the rows, with headers that have JSON."""

    def call(verb, path, body=None, query=None, **headers):
        given = {name: json.dumps(value) for name, value in headers.items()}
        return api(verb, path, body, token=token, headers=given, query_string=query)

    return call


@pytest.mark.parametrize(("verb", "path", "name", "value"), READS)
def test_a_header_stands_for_the_parameter_of_its_name(call, verb, path, name, value):
    by_query = call(verb, path, query={name: json.dumps(value)})
    plain = call(verb, path)

    for _ in range(2):
        by_header = call(verb, path, **{name: value})

        assert by_header.status_code == 200
        assert by_header.data == by_query.data
        assert by_header.headers.get("ETag") == by_query.headers.get("ETag")
        assert by_header.headers["Vary"] == name
    assert verb == "HEAD" or plain.data != by_query.data
    assert "Vary" not in plain.headers
    assert "Vary" not in by_query.headers


@pytest.mark.parametrize(
    "query", ['filter={"where":{"id":7}}', "filter[where][id]=7", "filter[where][id][inq][]=7"]
)
def test_the_query_wins(call, query):
    response = call("GET", "/todos", query=query, filter=FILTER)

    assert [each["id"] for each in response.json] == [7]
    assert "Vary" not in response.headers


def test_an_empty_parameter_of_the_query_wins_too(call):
    assert len(call("GET", "/todos", query="filter=", filter=FILTER).json) == 39
    assert call("GET", "/todos/count", query="where=", where=WHERE).json == {"count": 39}
    assert len(call("GET", "/todos", query="count=true", filter=FILTER).json) == 4


@pytest.mark.parametrize("path", ["/todos/update", "/todos/upsertWithWhere"])
def test_changes_take_where_from_the_query_alone(call, path):
    response = call("POST", path, {"title": "changed"}, where={"id": 1})

    assert refusal(response) == (400, "INVALID_FILTER")
    assert call("GET", "/todos/1").json["title"] == "a"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("notjson", "INVALID_FILTER"),
        ("{bad", "INVALID_FILTER"),
        ("[1]", "INVALID_FILTER"),
        ("{}, {}", "INVALID_FILTER"),
        ('{"where": {"nope": 1}}', "INVALID_FILTER"),
        ('{"where": {"id": {}}}', "INVALID_FILTER"),
        ('{"where": {"title": "\\u0000"}}', "INVALID_FILTER"),
        ('{"where": {"or": ' * 8 + "[]" + "}}" * 8, "QUERY_TOO_DEEP"),
        ("[" * 4000 + "]" * 4000, "QUERY_TOO_DEEP"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_filter_is_refused_as_in_the_query(api, token, rows, text, code):
    by_query = api("GET", "/todos", token=token, query_string={"filter": text})
    by_header = api("GET", "/todos", token=token, headers={"filter": text})

    assert refusal(by_header) == (400, code)
    assert by_header.json == by_query.json
    assert by_header.headers["Vary"] == "filter"


@pytest.mark.parametrize("text", ["", " ", "null"])
def test_an_empty_header_is_no_filter(api, token, rows, text):
    assert len(api("GET", "/todos", token=token, headers={"filter": text}).json) == 39


def test_a_header_of_the_other_name_is_ignored(call):
    assert call("GET", "/todos/count", filter=FILTER).json == {"count": 39}
    assert len(call("GET", "/todos", where=WHERE).json) == 39
    assert call("GET", "/todos/4/exists", filter={"bad": 1}).json == {"exists": True}


def test_text_in_a_header_is_that_of_browsers_or_utf_8(api, token, rows):
    for text in ("é", "é".encode().decode("latin-1"), "\\u00e9"):
        header = {"filter": f'{{"where": {{"title": "{text}"}}, "limit": 1}}'}

        assert api("GET", "/todos", token=token, headers=header).json[0]["title"] == "é"


def test_the_link_to_the_next_page_has_the_filter_and_wins(call, api, token):
    headers = {"filter": json.dumps({"where": {"id": {"lt": 8}}, "limit": 3, "fields": ["id"]})}
    seen, path = [], "/todos"

    while path:
        response = api("GET", path, token=token, headers=headers)
        seen.append([each["id"] for each in response.json])
        link = response.headers.get("Link", "")
        path = link.removeprefix("</api").removesuffix('>; rel="next"')

    assert seen == [[1, 2, 3], [4, 5, 6], [7]]


def test_a_row_that_the_client_has_is_not_sent_again_whatever_the_header_selects(call, api, token):
    tag = call("GET", "/todos/4").headers["ETag"]

    headers = {"filter": '{"fields": ["id"]}', "If-None-Match": tag}
    response = api("GET", "/todos/4", token=token, headers=headers)

    assert (response.status_code, response.headers["Vary"]) == (304, "filter")


def test_the_log_has_nothing_of_a_header(call, caplog):
    with caplog.at_level("DEBUG"):
        call("GET", "/todos", filter={"where": {"title": "unmistakable"}})
        call("GET", "/todos/count", where={"unmistakable": 1})

    lines = [record.getMessage() for record in caplog.records if record.name != "sqlalchemy.engine"]
    assert not [line for line in lines if "unmistakable" in line]


def test_a_where_that_a_call_refuses_is_refused_in_the_header_too(shared_app, api, token):
    client = shared_app(**ON).test_client()

    headers = {"Authorization": token, "where": '{"ttl": 1}'}
    response = client.get("/api/users/1/accessTokens/count", headers=headers)

    assert refusal(response) == (400, "INVALID_FILTER")
