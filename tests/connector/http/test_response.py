"""Results of calls: bodies, response paths, full responses, error statuses."""

from __future__ import annotations

import pytest

from app.connector import (
    HTTPStatusError,
    NotFoundError,
    RateLimitedError,
    Response,
    ResponseDecodeError,
    ResponsePathError,
    ResponseTooLargeError,
    UnauthorizedError,
)

BODY = {
    "results": [
        {"geometry": {"location": {"lat": 1, "lng": 2}}, "p": 5},
        {"geometry": {"location": {"lat": 3, "lng": 4}}, "p": 20},
    ],
    "none": None,
    "empty": [],
}


@pytest.fixture
def answer(server, call):
    """Let the server answer a body and return what the call gives."""

    def run(body, template=None, *, values=None, settings=None, **reply):
        server.routes["body"] = lambda handler: handler.reply(body, **reply)
        return call({"url": "/body", **(template or {})}, values, **(settings or {}))

    return run


KINDS = [
    (b'{"a": 1}', "application/json", {"a": 1}),
    (b'{"a": 1}', "application/vnd.api+json; charset=utf-8", {"a": 1}),
    (b"42", "text/plain", 42),
    (b"plain", "text/plain", "plain"),
    (b"\xef\xbb\xbf{}", "application/json", {}),
    ("é".encode("latin-1"), "text/plain; charset=latin-1", "é"),
    ("é".encode(), "text/plain", "é"),
    (b"\xff\xfe\xfd", "text/plain", b"\xff\xfe\xfd"),
    ('{"a": "é"}'.encode("latin-1"), "application/json; charset=ISO-8859-1", {"a": "é"}),
    ('{"a": "é"}'.encode(), "application/json;charset=iso-8859-1", {"a": "é"}),
    ('["é"]'.encode("latin-1"), 'application/hal+json; charset="latin1"', ["é"]),
    ('["あ"]'.encode("shift_jis"), "application/json; charset=Shift_JIS", ["あ"]),
    ('["é"]'.encode("latin-1"), "text/plain; charset=latin-1", ["é"]),
    (b"x", "text/plain; charset=nope", b"x"),
    (b"\x89PNG", "image/png", b"\x89PNG"),
    (b"{}", "application/octet-stream", b"{}"),
    (b"12345678901234567890123", "application/json", 12345678901234567890123),
    (b"", "application/json", None),
    (b"null", "application/json", None),
    (b"words", "", "words"),
]


@pytest.mark.parametrize(("content", "kind", "expected"), KINDS)
def test_body_is_decoded_by_what_it_is(answer, content, kind, expected):
    assert answer(content, kind=kind) == expected


def test_json_false_gives_the_text(answer):
    assert answer(b'{"a": 1}', {"json": False}) == '{"a": 1}'


def test_json_false_still_sends_a_json_body_and_no_accept(call):
    text = call({"method": "POST", "url": "/echo", "body": {"a": 1}, "json": False})

    assert '\\"a\\":1' in text
    assert 'accept": "application/json' not in text


def test_compressed_body_is_decoded(call):
    assert call({"url": "/gzip"}) == {"zipped": True}


def test_body_that_is_not_compressed_as_it_says_is_an_error(answer):
    with pytest.raises(ResponseDecodeError, match="cannot be decompressed"):
        answer(b"xx", headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("status", [204, 304])
def test_answer_without_body_gives_none(call, status):
    assert call({"url": f"/status/{status}", "responsePath": "$.a[*]"}) is None


def test_broken_json_is_an_error_with_status_and_text(call):
    with pytest.raises(ResponseDecodeError, match="200: the body is not the JSON") as caught:
        call({"url": "/broken"})

    assert (caught.value.status_code, caught.value.text) == (200, '{"a":')


def test_endlessly_nested_json_is_an_error(answer):
    with pytest.raises(ResponseDecodeError):
        answer(b"[" * 100_000)


PATHS = [
    ("$.results[0].geometry.location", "auto", {"lat": 1, "lng": 2}),
    ("$['results'][0]['p']", "auto", 5),
    ("$.nope.x", "auto", None),
    ("$.none", "auto", None),
    ("$.empty", "auto", []),
    ("$.results[*].p", "auto", [5, 20]),
    ("$..lat", "auto", [1, 3]),
    ("$.results[0:1].p", "auto", [5]),
    ("$.results[0,1].p", "auto", [5, 20]),
    ("$.results[?(@.p > 10)].p", "auto", [20]),
    ("$.*.nope", "auto", []),
    ("$", "auto", BODY),
    ("$.results[0].p", "all", [5]),
    ("$.none", "all", [None]),
    ("$.empty", "all", [[]]),
    ("$.nope", "all", []),
    ("$.results[*].p", "first", 5),
    ("$.nope[*]", "first", None),
]


@pytest.mark.parametrize(("path", "select", "expected"), PATHS)
def test_response_path_picks(answer, path, select, expected):
    assert answer(BODY, {"responsePath": path, "responseSelect": select}) == expected


def test_response_path_gives_the_list_of_matches_unless_told(answer):
    template = {"responsePath": "$.results[0].p"}

    assert answer(BODY, template) == [5]
    first = {"responseSelect": "first"}
    assert answer(BODY, template, settings=first) == 5
    assert answer(BODY, {**template, "responseSelect": "all"}, settings=first) == [5]


TYPES = [
    ({"accept": "application/json"}, {"a": 1}),
    ({"Accept": "application/vnd.api+json; v=1"}, {"a": 1}),
    ({"accept": "application/{format=json}"}, {"a": 1}),
    ({"accept": "text/xml"}, '{"a": 1}'),
    ({"accept": "*/*"}, '{"a": 1}'),
    (
        {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"},
        '{"a": 1}',
    ),
    ({"content-type": "text/csv", "accept": "application/json"}, {"a": 1}),
]


@pytest.mark.parametrize(("headers", "expected"), TYPES)
def test_headers_of_a_template_say_whether_json_is_read(answer, headers, expected):
    assert answer(b'{"a": 1}', {"headers": headers}) == expected
    assert answer(b'{"a": 1}', {"headers": headers, "json": True}) == {"a": 1}


@pytest.mark.parametrize(
    ("policy", "path", "expected"),
    [("empty", "$.a[*]", []), ("null", "$.a[*]", None), ("empty", "$.a", [])],
)
def test_no_match_gives_what_on_no_match_says(answer, policy, path, expected):
    assert answer(BODY, {"responsePath": path, "onNoMatch": policy}) == expected


def test_no_match_may_be_an_error(answer):
    with pytest.raises(ResponsePathError, match=r"the response path \$\.a matched nothing"):
        answer(BODY, {"responsePath": "$.a", "onNoMatch": "error"})


@pytest.mark.parametrize("body", [b"words", 5])
def test_response_path_on_a_body_without_structure_gives_no_match(answer, body):
    assert answer(body, {"responsePath": "$.a[*]"}, kind="text/plain") == []


def test_response_path_that_fails_on_the_body_is_an_error(answer):
    with pytest.raises(ResponsePathError, match="failed on this body"):
        answer({"a": [{"p": 1}, {"p": None}]}, {"responsePath": "$.a.`sorted`"})


def test_full_response_has_status_headers_and_body(answer):
    response = answer(
        {"a": 1},
        {"fullResponse": True, "responsePath": "$.a"},
        status=201,
        headers={"X-Total": "7"},
    )

    assert isinstance(response, Response)
    assert (response.status_code, response.headers["x-total"], response.body) == (
        201,
        "7",
        {"a": 1},
    )
    assert repr(response) == "<Response 201 application/json>"


@pytest.mark.parametrize("status", [200, 201, 202, 206])
def test_every_2xx_is_success(call, status):
    assert call({"url": f"/status/{status}"}) == {"message": f"status {status}"}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, HTTPStatusError),
        (401, UnauthorizedError),
        (403, UnauthorizedError),
        (404, NotFoundError),
        (418, HTTPStatusError),
        (429, RateLimitedError),
        (500, HTTPStatusError),
        (599, HTTPStatusError),
    ],
)
def test_error_status_is_an_error_with_status_body_and_headers(call, status, error):
    with pytest.raises(error) as caught:
        call({"url": f"/status/{status}"})

    assert type(caught.value) is error
    assert caught.value.status_code == status
    assert caught.value.body == {"message": f"status {status}"}
    assert caught.value.headers["content-type"] == "application/json"
    assert caught.value.kind == "remote"


MESSAGES = [
    ({"error": {"message": "deep"}, "message": "flat"}, "deep"),
    ({"message": "no 1"}, "no 1"),
    ({"title": "Gone", "detail": "no such user"}, "no such user"),
    ({"error": "invalid_client", "error_description": "who?"}, "who?"),
    ({"error": "invalid_client"}, "invalid_client"),
    ({"message": 5}, ""),
    ([1], ""),
    (b"plain\nwords", "plain words"),
    (b"<html>", ""),
]


@pytest.mark.parametrize(("body", "words"), MESSAGES)
def test_error_names_operation_url_status_and_the_words_of_the_remote(answer, server, body, words):
    with pytest.raises(NotFoundError) as caught:
        answer(body, status=404, kind="application/json" if not isinstance(body, bytes) else "")

    expected = f"invoke: GET {server.url}/body: 404 Not Found"
    assert str(caught.value) == (f"{expected}: {words}" if words else expected)
    assert (caught.value.operation, caught.value.request) == ("invoke", f"GET {server.url}/body")


def test_error_for_a_broken_body_keeps_the_text(answer):
    with pytest.raises(HTTPStatusError) as caught:
        answer(b"{oops", status=500)

    assert caught.value.body == "{oops"


def test_error_gives_its_facts_for_forwarding(answer):
    with pytest.raises(NotFoundError) as caught:
        answer({"message": "no"}, status=404)

    facts = caught.value.to_dict()
    assert (facts["statusCode"], facts["body"]) == (404, {"message": "no"})


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 -0000", 0),
    ],
)
def test_error_knows_when_to_come_back(answer, header, seconds):
    with pytest.raises(RateLimitedError) as caught:
        answer({}, status=429, headers={"Retry-After": header})

    assert caught.value.retry_after == seconds


def test_body_beyond_the_cap_is_refused_after_decompression(call, server):
    with pytest.raises(ResponseTooLargeError, match="larger than 100000 bytes"):
        call({"url": "/huge"}, maxResponseBytes=100_000)


def test_body_within_the_cap_is_read(call):
    assert len(call({"url": "/huge"})) == 3_000_000


def test_head_gives_none(call):
    assert call({"method": "HEAD", "url": "/echo"}) is None
