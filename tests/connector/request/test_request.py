"""Requests of the connector: path, query, headers, body, form, files."""

from __future__ import annotations

import datetime
import decimal
import io
import uuid
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.connector import (
    ConnectorError,
    DataSource,
    MissingVariableError,
    VariableError,
    VariableTypeError,
)


@pytest.mark.parametrize(
    ("url", "values", "path"),
    [
        ("/echo/{x}", {"x": "a b/c?d=1#e"}, "/echo/a%20b%2Fc%3Fd%3D1%23e"),
        ("/echo/{x}", {"x": "%2e%2e"}, "/echo/%252e%252e"),
        ("/echo/{x}", {"x": "é"}, "/echo/%C3%A9"),
        ("/echo/{x}", {"x": 5}, "/echo/5"),
        ("/echo/{x}/end", {}, "/echo//end"),
        ("/echo/{x:path}", {"x": "a/b c"}, "/echo/a/b%20c"),
        ("/echo/{x}/{x:path}", {"x": "a/b"}, "/echo/a/b/a/b"),
        ("/echo/{x:PATH}", {"x": "a/b"}, "/echo/a/b"),
        ("/echo/{x:paht}", {"x": "a/b"}, "/echo/a%2Fb"),
        ("echo/x", {}, "/echo/x"),
        ("/echo#part{x}", {"x": 1}, "/echo"),
        ("/echo/{f=json}/{x}", {"x": 1}, "/echo/json/1"),
        ("{x}/y", {"x": "echo"}, "/echo/y"),
    ],
)
def test_path_is_encoded(call, url, values, path):
    assert call({"url": url}, values)["path"] == path


@pytest.mark.parametrize("word", ["path", "Path"])
def test_path_type_can_come_from_the_variables_section(call, word):
    template = {"url": "/echo/{x}", "variables": {"x": {"type": word}}}

    assert call(template, {"x": "a/b"})["path"] == "/echo/a/b"


def test_path_value_that_has_no_text_is_refused(call):
    with pytest.raises(VariableTypeError, match="Variable x cannot be written as text"):
        call({"url": '/echo/{x={"a":1}:object}'})


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("/echo/{x}", {"x": "."}),
        ("/echo/{x}/y", {"x": ".."}),
        ("/echo/.{x}", {"x": "."}),
        ("/echo/{x}{y}", {"x": ".", "y": "."}),
        ("/echo/{x:path}", {"x": "a/../b"}),
        ("{x}/y", {"x": ".."}),
    ],
)
def test_dot_segment_is_refused(call, server, url, values):
    with pytest.raises(VariableError, match="cannot be used as a path segment"):
        call({"url": url}, values)

    assert server.seen == []


def test_lone_surrogate_in_a_path_is_refused(call):
    with pytest.raises(VariableError, match="surrogates"):
        call({"url": "/echo/{x}"}, {"x": "\ud800"})


def test_delete_refuses_an_empty_path_value(call, server):
    for value in (None, ""):
        with pytest.raises(MissingVariableError, match="DELETE needs a value"):
            call({"method": "DELETE", "url": "/users/{id}"}, {"id": value})

    assert server.seen == []


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(deadline=None)
def test_path_value_changes_neither_host_nor_number_of_segments(value):
    source = DataSource.from_config(
        {
            "operations": [
                {"template": {"url": "http://h.example/a/{x}/b?c={x}"}, "functions": {"f": ["x"]}}
            ]
        }
    )
    try:
        parts = urlsplit(source.f.prepare(value).full_url)
    except VariableError:
        assert value in (".", "..")
        return

    assert parts.netloc == "h.example"
    assert len(parts.path.split("/")) == 4
    assert parts.fragment == ""


QUERIES = [
    ({"a": "{x}"}, {"x": "b c"}, "a=b%20c"),
    ({"a": "{x}"}, {"x": "'()*!&=+"}, "a=%27%28%29%2A%21%26%3D%2B"),
    ({"a": "{x}"}, {"x": True}, "a=true"),
    ({"a": "{x}"}, {"x": [1, 2]}, "a%5B0%5D=1&a%5B1%5D=2"),
    ({"a": "{x}"}, {"x": {"b": {"c": 1}}}, "a%5Bb%5D%5Bc%5D=1"),
    ({"a": "{x}"}, {"x": []}, ""),
    ({"a": "{x}"}, {"x": [None, 1]}, "a%5B0%5D=&a%5B1%5D=1"),
    ({"a": "{x}"}, {"x": datetime.date(2026, 1, 2)}, "a=2026-01-02"),
    ({"a": "{x}", "b": 1}, {}, "b=1"),
    ({"a": "k{x}"}, {}, "a=k"),
    ({"a": "{x}"}, {"x": 0}, "a=0"),
    ({"a": "{x}"}, {"x": ""}, "a="),
    ("{x}", {"x": {"p": 1, "q": [2]}}, "p=1&q%5B0%5D=2"),
    ("{x}", {}, ""),
    ({"{k}": 1}, {"k": "z"}, "z=1"),
]


@pytest.mark.parametrize(("query", "values", "expected"), QUERIES)
def test_query_is_written(call, query, values, expected):
    assert call({"url": "/echo", "query": query}, values)["query"] == expected


def test_lists_are_repeated_with_use_querystring(call):
    template = {
        "url": "/echo",
        "query": {"a": "{x}", "b": {"c": 1}},
        "options": {"useQuerystring": True},
    }

    assert call(template, {"x": [1, 2]})["query"] == "a=1&a=2&b%5Bc%5D=1"


def test_query_replaces_the_same_entry_of_the_url(call):
    template = {"url": "/echo?a=1&b={x}&c", "query": {"a": 9}}

    assert call(template, {"x": "1&2"})["query"] == "b=1%262&c&a=9"


def test_query_that_is_no_object_is_refused(call):
    with pytest.raises(VariableError, match="query must be an object, got a list"):
        call({"url": "/echo", "query": "{q}"}, {"q": [1]})


def test_query_value_containing_itself_is_refused(call):
    loop: list = []
    loop.append(loop)

    with pytest.raises(VariableError, match="contains itself"):
        call({"url": "/echo", "query": {"a": "{x}"}}, {"x": loop})


def test_number_that_is_none_is_refused_in_a_query(call):
    with pytest.raises(VariableTypeError):
        call({"url": "/echo", "query": {"a": "{x}"}}, {"x": float("nan")})


def test_missing_header_is_dropped_and_others_are_text(call):
    template = {"url": "/echo", "headers": {"X-A": "{a}", "X-B": "{b}", "X-C": "v{c}", "X-{d}": 1}}

    headers = call(template, {"b": 5, "d": "dyn"})["headers"]

    assert "x-a" not in headers
    assert (headers["x-b"], headers["x-c"], headers["x-dyn"]) == ("5", "v", "1")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "snowman ☃"])
def test_header_value_that_cannot_be_sent_is_refused(call, server, value):
    with pytest.raises(VariableError, match="Header X-A must"):
        call({"url": "/echo", "headers": {"X-A": "{a}"}}, {"a": value})

    assert server.seen == []


def test_latin_1_header_is_sent(call):
    template = {"url": "/echo", "headers": {"X-A": "{a}"}}

    assert call(template, {"a": " é "})["headers"]["x-a"] == "é"


def test_header_name_that_cannot_be_sent_is_refused(call):
    with pytest.raises(VariableError, match="header name"):
        call({"url": "/echo", "headers": {"{n}": "x"}}, {"n": "a b"})


BODIES = [
    ({"a": "{x}"}, {"x": 5}, '{"a":5}'),
    ({"c": "{x}", "d": {"e": ["{x}"]}}, {}, '{"c":null,"d":{"e":[null]}}'),
    ("{x}", {}, "null"),
    ("{x}", {"x": [1, "a", None]}, '[1,"a",null]'),
    ("{x}", {"x": "raw text"}, '"raw text"'),
    ({"a": "k{x}"}, {}, '{"a":"k"}'),
    ({"a": "{x:boolean}"}, {"x": "true"}, '{"a":true}'),
    ({"a": "{x}"}, {"x": uuid.UUID(int=0)}, '{"a":"00000000-0000-0000-0000-000000000000"}'),
    ({"a": "{x}"}, {"x": datetime.date(2026, 1, 2)}, '{"a":"2026-01-02"}'),
    (None, {}, "null"),
    ("{x}", {"x": [decimal.Decimal("1.5"), decimal.Decimal("2.0")]}, "[1.5,2]"),
]


@pytest.mark.parametrize(("body", "values", "expected"), BODIES)
def test_body_is_sent_as_json(call, body, values, expected):
    seen = call({"method": "POST", "url": "/echo", "body": body}, values)

    assert seen["text"] == expected
    assert seen["headers"]["content-type"] == "application/json"


def test_omit_missing_leaves_entries_out(call):
    template = {
        "method": "POST",
        "url": "/echo",
        "omitMissing": True,
        "body": {"a": "{x}", "b": ["{x}", 1], "c": None, "d": {"e": "{x}"}},
    }

    assert call(template)["json"] == {"b": [1], "c": None, "d": {}}


def test_omit_missing_leaves_a_whole_body_out(call):
    template = {"method": "POST", "url": "/echo", "omitMissing": True, "body": "{x}"}

    assert call(template)["headers"].get("content-type") is None


@pytest.mark.parametrize(
    ("value", "place"),
    [({"b": [{1, 2}]}, r"body\.a\.b\[0\]"), (object(), r"body\.a"), (float("nan"), r"body\.a")],
)
def test_body_value_that_is_no_json_is_refused_by_place(call, value, place):
    with pytest.raises(VariableError, match=place):
        call({"method": "POST", "url": "/echo", "body": {"a": "{x}"}}, {"x": value})


def test_body_that_contains_itself_is_refused(call):
    loop: dict = {}
    loop["a"] = loop

    with pytest.raises(VariableError, match="cannot be written as JSON"):
        call({"method": "POST", "url": "/echo", "body": "{x}"}, {"x": loop})


def test_body_with_a_key_that_is_no_json_is_refused(call):
    with pytest.raises(VariableError, match="body cannot be written as JSON"):
        call({"method": "POST", "url": "/echo", "body": "{x}"}, {"x": {(1, 2): 3}})


def test_text_body_with_its_own_content_type_is_sent_as_it_is(call):
    template = {
        "method": "POST",
        "url": "/echo",
        "body": "<a>{x}</a>",
        "headers": {"content-type": "application/xml"},
        "json": True,
    }

    assert call(template, {"x": 1})["text"] == "<a>1</a>"


def test_bytes_body_is_sent_as_it_is(call):
    assert call({"method": "POST", "url": "/echo", "body": "{x}"}, {"x": b"raw"})["text"] == "raw"


def test_json_content_type_with_charset_still_sends_json(call):
    template = {
        "method": "POST",
        "url": "/echo",
        "body": {"a": 1},
        "headers": {"Content-Type": "application/json; charset=utf-8"},
    }

    assert call(template)["text"] == '{"a":1}'


def test_body_with_a_form_content_type_is_sent_as_a_form(call):
    template = {
        "method": "POST",
        "url": "/echo",
        "body": {"a": "b c"},
        "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "json": True,
    }

    assert call(template)["text"] == "a=b%20c"


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (None, FORM),
        ("application/json", FORM),
        ("text/plain", FORM),
        (f"{FORM}; charset=utf-8", f"{FORM}; charset=utf-8"),
    ],
)
def test_form_sets_its_own_content_type(call, kind, sent):
    headers = {"content-type": kind} if kind else {}
    template = {"method": "POST", "url": "/echo", "form": {"a": "{x}"}, "json": True}

    for where in ({"headers": headers}, {"options": {"headers": headers}}):
        seen = call({**template, **where}, {"x": "1 2"})
        assert (seen["headers"]["content-type"], seen["text"]) == (sent, "a=1%202")


def test_json_object_of_a_template_is_the_body(call, connect):
    template = {"method": "POST", "url": "/echo", "json": {"a": "{x}", "b": "{y}"}}
    source = connect([{"template": template, "functions": {"f": ["x"]}}])

    assert source.f(1)["json"] == {"a": 1, "b": None}
    assert source.f.accepts[0]["http"] == {"source": "body"}
    assert call({**template, "json": "{x:object}"}, {"x": {"q": 1}})["json"] == {"q": 1}


def test_form_wins_over_body_and_keeps_missing_entries_empty(call):
    template = {"method": "POST", "url": "/echo", "form": {"a": "{x}", "b": "{y}"}, "body": {}}

    seen = call(template, {"x": "1 2"})

    assert seen["text"] == "a=1%202&b="
    assert seen["headers"]["content-type"] == "application/x-www-form-urlencoded"


def test_form_text_is_sent_as_it_is(call):
    assert call({"method": "POST", "url": "/echo", "form": "a={x}"}, {"x": 1})["text"] == "a=1"


def test_files_are_sent_as_multipart(call):
    template = {
        "method": "POST",
        "url": "/echo",
        "form": {"title": "{t}"},
        "files": {"doc": "{doc}", "raw": "{raw}", "named": "{named}", "none": "{none}"},
    }
    handle = io.BytesIO(b"from a file")
    handle.name = "/tmp/dir/report.txt"

    seen = call(
        template,
        {"t": "T", "doc": handle, "raw": b"bytes", "named": ("n.bin", b"\x01", "application/x-n")},
    )

    assert seen["headers"]["content-type"].startswith("multipart/form-data; boundary=")
    for part in (
        'name="title"',
        'filename="report.txt"',
        "from a file",
        'filename="raw"',
        'filename="n.bin"',
        "application/x-n",
    ):
        assert part in seen["text"]
    assert "/tmp" not in seen["text"]


def test_file_is_never_read_from_a_path(call):
    with pytest.raises(VariableError, match="must be bytes or a file"):
        call({"method": "POST", "url": "/echo", "files": {"f": "{f}"}}, {"f": "/etc/passwd"})


@pytest.mark.parametrize("method", ["GET", "post", "Put", "PATCH", "DELETE", "OPTIONS"])
def test_method_is_sent_in_upper_case(call, method):
    assert call({"method": method, "url": "/echo"})["method"] == method.upper()


def test_method_may_be_a_variable(call):
    assert call({"method": "{verb=PUT}", "url": "/echo"})["method"] == "PUT"


def test_method_that_is_no_word_is_refused(call):
    with pytest.raises(VariableError, match="cannot be used as a method"):
        call({"method": "{verb}", "url": "/echo"}, {"verb": "FOO BAR"})


def test_settings_are_not_changed_by_calls(call, connect):
    template = {"method": "POST", "url": "/echo/{x}", "body": {"a": ["{x}"]}, "query": {"q": "{x}"}}
    before = repr(template)
    source = connect([{"template": template}])
    values = {"x": 1}

    assert source.invoke(values) == source.invoke(values)
    assert repr(template) == before
    assert values == {"x": 1}


LOOP: list = []
LOOP.append(LOOP)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.uuids()
    | st.just(object())
    | st.just(LOOP)
    | st.integers(5000, 5001).map(lambda digits: 10**digits),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=6,
)
EVERYWHERE = DataSource.from_config(
    {
        "operations": [
            {
                "template": {
                    "method": "POST",
                    "url": "http://h.example/{a}/{b:path}?q={c}",
                    "headers": {"x-{a}": "{b}", "x-n": "{n:number}"},
                    "query": {"{a}": "{b}", "t": "a{c}", "w": "{c}"},
                    "body": {"{b}": ["{c}", {"o": "{o:object}", "f": "{f:boolean}"}]},
                },
                "functions": {"f": ["a", "b", "c", "n", "o", "f"]},
            }
        ]
    },
)


@given(VALUES, VALUES, VALUES, st.none() | VALUES, st.none() | VALUES, st.none() | VALUES)
@settings(max_examples=80, deadline=None)
def test_values_raise_nothing_but_connector_errors(a, b, c, n, o, f):
    with suppress(ConnectorError):
        request = EVERYWHERE.f.prepare(a=a, b=b, c=c, n=n, o=o, f=f)
        text = str(request)
        request.as_curl()
        assert text.startswith("POST http://h.example/")


def test_list_that_contains_itself_is_refused_in_a_text(call):
    with pytest.raises(VariableTypeError, match="contains itself"):
        call({"url": "/echo/{x}"}, {"x": LOOP})
