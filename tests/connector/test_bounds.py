"""Limits on the answers of remote services, which are checked before the work they save."""

import json
import sys

import pytest

from app.connector import DataSource, ResponsePathError, ResponseTooLargeError

from .conftest import http_server, server  # noqa: F401 fixtures


@pytest.fixture
def ask(server):  # noqa: F811
    """Return a function that asks a data source with some settings for a body."""

    def ask(body, template=None, **settings):
        server.routes["x"] = lambda handler: handler.reply(body)
        operation = {
            "template": {"method": "GET", "url": "/x", **(template or {})},
            "functions": {"get": []},
        }
        source = DataSource.from_config(
            {"baseURL": server.url, "operations": [operation], **settings}
        )
        return source.get()

    return ask


def test_the_values_and_names_of_json_are_limited(ask):
    body = {"a": [1, 2], "b": [{}]}

    # Two commas, two colons and four brackets.
    assert ask(body, maxResponseValues=8) == body
    with pytest.raises(ResponseTooLargeError, match="more than 7 values"):
        ask(body, maxResponseValues=7)


def test_a_public_data_source_reads_fewer_values(ask):
    body = [[] for _ in range(150_000)]

    assert ask(body) == body
    with pytest.raises(ResponseTooLargeError, match="more than 200000 values"):
        ask(body, public=True)
    assert ask(body, public=True, maxResponseValues=300_000) == body


def test_json_with_too_many_values_is_not_parsed(ask, monkeypatch):
    parsed = []
    monkeypatch.setattr("app.connector.http.responses.parse_json", parsed.append)

    with pytest.raises(ResponseTooLargeError):
        ask([0] * 100, maxResponseValues=50)

    assert parsed == []


def test_a_path_searches_a_bounded_number_of_levels(ask):
    deep = 1
    for level in range(90):
        deep = {"a": deep, **{f"b{number}": level for number in range(30)}}

    assert ask(json.loads(json.dumps(deep)), {"responsePath": "$.a.a.b3"}) == [87]
    with pytest.raises(ResponsePathError, match="100000 levels of all values"):
        ask(deep, {"responsePath": "$..b3"})


def test_long_lists_become_text_with_one_call_an_item():
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    source = DataSource.from_config(
        {
            "baseURL": "http://127.0.0.1",
            "operations": [
                {
                    "template": {"method": "POST", "url": "/x", "body": "-{a}"},
                    "functions": {"post": ["a"]},
                }
            ],
        }
    )
    sys.setprofile(count)
    try:
        source.post.prepare([0] * 10_000)
    finally:
        sys.setprofile(None)

    assert calls < 25_000
