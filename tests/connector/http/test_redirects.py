"""Redirects: which are followed, where to, and what they carry."""

from __future__ import annotations

import pytest

from app.connector import (
    BlockedHostError,
    HTTPStatusError,
    ResponseTooLargeError,
    TooManyRedirectsError,
)

REDIRECTS = [
    ("GET", {}, 302, "GET"),
    ("HEAD", {}, 301, "HEAD"),
    ("POST", {"followAllRedirects": True}, 302, "GET"),
    ("POST", {"followAllRedirects": True}, 307, "POST"),
    ("PUT", {"followAllRedirects": True}, 308, "PUT"),
]


@pytest.mark.parametrize(("method", "options", "status", "then"), REDIRECTS)
def test_redirect_is_followed(call, server, method, options, status, then):
    template = {"method": method, "url": f"/redirect?to=/echo/é&status={status}"}
    if method != "GET":
        template["body"] = {"a": 1}

    call(template, options=options)

    last = server.seen[-1]
    assert (last["method"], last["path"]) == (then, "/echo/%C3%A9")
    assert last["text"] == ('{"a":1}' if then == method and method != "GET" else "")


def test_redirect_of_a_post_is_an_error(call):
    with pytest.raises(HTTPStatusError) as caught:
        call({"method": "POST", "url": "/redirect?to=/echo"})

    assert caught.value.status_code == 302
    assert caught.value.headers["location"] == "/echo"


def test_redirect_that_is_not_to_be_followed_is_the_answer(call):
    template = {"url": "/redirect?to=/echo", "fullResponse": True}

    assert call(template, options={"followRedirect": False}).status_code == 302


def test_endless_redirects_are_an_error(call, server):
    with pytest.raises(TooManyRedirectsError, match="more than 3 redirects"):
        call({"url": "/loop"}, options={"maxRedirects": 3})

    assert server.hits["/loop"] == 4


def test_redirect_to_another_host_is_blocked(call, other_server):
    with pytest.raises(BlockedHostError, match="is not allowed by the settings"):
        call({"url": "/redirect", "query": {"to": other_server.url + "/echo"}})

    assert other_server.seen == []


@pytest.mark.parametrize("target", ["ftp://h/x", "http://[::1", "http://user@127.0.0.1/x", "//:0/"])
def test_redirect_to_an_address_that_is_none_is_blocked(call, target):
    with pytest.raises(BlockedHostError):
        call({"url": "/redirect", "query": {"to": target}})


def test_redirect_to_another_origin_carries_no_secret(call, other_server):
    template = {
        "url": "/redirect",
        "query": {"to": other_server.url + "/echo"},
        "headers": {"x-api-key": "k", "authorization": "a", "x-other": "o"},
    }

    allowed = f"127.0.0.1:{other_server.server_port}"
    headers = call(template, options={"allowedHosts": [allowed]})["headers"]

    assert not {"x-api-key", "authorization", "x-other"} & set(headers)
    assert headers["accept"] == "application/json"


def test_redirects_with_large_headers_are_not_followed_to_their_limit(call, server):
    large = {"Location": "/large", **{f"X-{n}": "x" * 30_000 for n in range(2)}}
    server.routes["large"] = lambda h: h.reply(None, 302, headers=large)

    with pytest.raises(ResponseTooLargeError, match="headers of the redirects"):
        call({"url": "/large"})

    assert server.hits["/large"] == 2
