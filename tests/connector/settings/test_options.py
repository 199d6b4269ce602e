"""Options on all levels: which one wins, and what they put on a request."""

from __future__ import annotations

import pytest

from app.connector import CallTimeoutError


def headers_of(call, template=None, **settings):
    return call({"url": "/echo", **(template or {})}, **settings)["headers"]


def test_options_of_the_template_override_those_of_the_data_source(call):
    headers = headers_of(
        call,
        {"headers": {"X-A": "template"}, "options": {"headers": {"x-a": "op", "x-b": "op"}}},
        headers={"x-b": "top", "x-c": "top"},
        defaults={"headers": {"x-c": "low", "x-d": "low", "x-e": "low"}},
        options={"headers": {"X-C": "ds", "x-d": "ds"}},
    )

    found = [headers[f"x-{name}"] for name in "abcde"]
    assert found == ["template", "op", "ds", "ds", "low"]


def test_headers_of_the_data_source_are_literal(call):
    assert headers_of(call, options={"headers": {"x-a": "{t}"}})["x-a"] == "{t}"


def test_query_of_all_levels_is_merged(call):
    template = {"url": "/echo", "query": {"a": 1, "b": 1}, "options": {"qs": {"b": 2, "c": 2}}}

    query = call(template, options={"query": {"c": 3, "d": 3}})["entries"]

    assert dict(query) == {"a": "1", "b": "1", "c": "2", "d": "3"}


def test_accept_of_the_settings_replaces_the_usual_one(call):
    assert headers_of(call)["accept"] == "application/json"
    assert headers_of(call, options={"headers": {"Accept": "text/xml"}})["accept"] == "text/xml"


def test_template_key_beats_template_options(connect):
    source = connect(
        [{"template": {"url": "/slow", "timeout": 50, "options": {"timeout": 60_000}}}],
        options={"timeout": 70_000},
    )

    with pytest.raises(CallTimeoutError):
        source.invoke()
