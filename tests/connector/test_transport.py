"""The wire: options and their precedence, TLS, time-outs, redirects, pooling, proxies."""

from __future__ import annotations

import threading
import time

import pytest

from app.connector import (
    BlockedHostError,
    CallTimeoutError,
    ConnectError,
    DataSource,
    HTTPStatusError,
    TLSError,
    TooManyRedirectsError,
    TransportError,
)
from app.connector.connection import Limits


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


def test_self_signed_certificate_is_refused(https_server):
    source = DataSource.from_config(
        {
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ]
        }
    )

    with source, pytest.raises(TLSError, match="certificate verify failed"):
        source.invoke()


@pytest.mark.parametrize(
    ("levels", "accepted"),
    [
        (({"strictSSL": False}, {}), True),
        (({"strictSSL": True}, {"strictSSL": False}), True),
        (({"strictSSL": False}, {"strictSSL": True}), False),
    ],
)
def test_strict_ssl_of_the_operation_wins(https_server, levels, accepted):
    outer, inner = levels
    source = DataSource.from_config(
        {
            "options": outer,
            "operations": [
                {
                    "template": {
                        "url": f"https://127.0.0.1:{https_server.server_port}/text",
                        "options": inner,
                    }
                }
            ],
        }
    )

    with source:
        if accepted:
            assert source.invoke() == "plain words"
        else:
            with pytest.raises(TLSError):
                source.invoke()


def test_certificate_of_a_named_authority_is_accepted(https_server, authority, tmp_path):
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    source = DataSource.from_config(
        {
            "ca": str(bundle),
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ],
        }
    )

    with source:
        assert source.invoke() == "plain words"


def test_client_certificate_that_is_missing_is_a_transport_error(https_server):
    source = DataSource.from_config(
        {
            "options": {"cert": "/no/cert", "key": "/no/key"},
            "operations": [
                {
                    "template": {
                        "url": f"https://127.0.0.1:{https_server.server_port}/text",
                        "options": {"strictSSL": False},
                    }
                }
            ],
        }
    )

    with source, pytest.raises(TransportError):
        source.invoke()


@pytest.mark.parametrize("path", ["/drip", "/headerdrip", "/slow"])
def test_total_time_out_ends_a_call_that_never_stops_answering(call, path):
    started = time.monotonic()

    with pytest.raises(CallTimeoutError, match=r"timed out|time-out|in time"):
        call({"url": path}, timeout={"connect": 1000, "read": 1000, "total": 150})

    assert time.monotonic() - started < 1.8


def test_nothing_is_read_after_the_deadline(connect):
    policy = connect([])._calls.transport.policy

    with pytest.raises(TimeoutError, match="total time-out passed"):
        Limits(policy, deadline=time.monotonic(), read=1).next_read()


def test_secure_connections_are_reused(https_server):
    source = DataSource.from_config(
        {
            "options": {"strictSSL": False},
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ],
        }
    )
    https_server.forget()

    with source:
        assert [source.invoke(), source.invoke()] == ["plain words"] * 2
    assert https_server.connections == 1


def test_read_time_out_ends_a_call_without_answer(call):
    with pytest.raises(CallTimeoutError):
        call({"url": "/slow"}, timeout=50)


def test_time_out_is_also_a_python_time_out(call):
    with pytest.raises(TimeoutError):
        call({"url": "/slow"}, timeout={"read": 50})


def test_connection_refused_says_so():
    source = DataSource.from_config({"operations": [{"template": {"url": "http://127.0.0.1:1/"}}]})

    with pytest.raises(ConnectError, match=r"GET http://127.0.0.1:1/: Connection refused"):
        source.invoke()


def test_unknown_host_says_so():
    source = DataSource.from_config({"operations": [{"template": {"url": "http://no.invalid/"}}]})

    with pytest.raises(ConnectError):
        source.invoke()


def test_reset_connection_is_an_error(call):
    with pytest.raises(ConnectError):
        call({"url": "/reset"})


def test_address_that_is_none_is_an_error(connect):
    source = connect([{"template": {"url": "{u}"}, "functions": {"f": ["u"]}}], allowedHosts=["*"])

    with pytest.raises(BlockedHostError):
        source.f("http://[::1/")


def test_connections_are_reused(call, connect, server):
    source = connect([{"template": {"url": "/text"}}])
    for _ in range(5):
        source.invoke()

    assert server.connections == 1


def test_one_data_source_serves_many_threads(connect, server):
    source = connect(
        [{"template": {"url": "/echo/{x}"}, "functions": {"f": ["x"]}}], pool={"maxSockets": 8}
    )
    barrier = threading.Barrier(8)
    found = []

    def work(number):
        barrier.wait()
        found.extend(source.f(f"{number}-{turn}")["path"] for turn in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted(f"/echo/{n}-{turn}" for n in range(8) for turn in range(10))


def test_cookies_are_not_kept(call, connect, server):
    server.routes["cookie"] = lambda h: h.reply({}, headers={"Set-Cookie": "sid=1"})
    source = connect(
        [
            {"template": {"url": "/cookie"}, "functions": {"set": []}},
            {"template": {"url": "/echo"}, "functions": {"look": []}},
        ]
    )
    source.set()

    assert "cookie" not in source.look()["headers"]


def test_environment_of_the_process_is_not_used(call, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login l password p")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert "authorization" not in headers_of(call)


def test_proxy_of_the_settings_is_used(server):
    source = DataSource.from_config(
        {"proxy": server.url, "operations": [{"template": {"url": "http://inner.example/echo"}}]}
    )

    with source:
        assert source.invoke()["path"] == "http://inner.example/echo"


def test_secure_call_goes_through_a_tunnel_of_the_proxy(server, https_server, authority, tmp_path):
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    url = f"https://inner.example:{https_server.server_port}/text"
    source = DataSource.from_config(
        {"proxy": server.url, "ca": str(bundle), "operations": [{"template": {"url": url}}]}
    )

    with source:
        assert [source.invoke(), source.invoke()] == ["plain words"] * 2


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
    with pytest.raises(BlockedHostError, match="is not one that the settings allow"):
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


GUARDED = [
    ("http://127.0.0.1:{p}/x", {"p": "1"}),
    ("http://{h}/x", {"h": "evil.example"}),
    ("http://{h}.ok.example/x", {"h": "evil.example:80"}),
    ("{u}", {"u": "http://evil.example/"}),
    ("{u}/x", {"u": "https://evil.example"}),
]


@pytest.mark.parametrize(("url", "values"), GUARDED)
def test_variable_cannot_move_a_call_to_another_host(call, url, values):
    with pytest.raises(BlockedHostError):
        call({"url": url}, values)


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("http://{h}/x", {"h": "a/b"}),
        ("http://{h}/x", {"h": "a@b"}),
        ("http://{h}/x", {"h": "a?"}),
        ("{u}", {"u": "http://a b/"}),
        ("{u}", {"u": "http://a\\@b/"}),
    ],
)
def test_variable_that_breaks_out_of_the_host_is_refused(call, url, values):
    with pytest.raises(ValueError, match="cannot be used in the address"):
        call({"url": url}, values)


def test_variable_may_name_a_host_of_the_settings(call, server):
    assert call({"url": "{u}"}, {"u": f"{server.url}/text"}) == "plain words"


def test_default_of_a_host_variable_is_named_by_the_settings(call, server):
    host = server.url.removeprefix("http://")

    assert call({"url": f"http://{{h={host}}}/text"}) == "plain words"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_private_address_behind_an_allowed_pattern_is_blocked(call, other_server, name):
    with pytest.raises(BlockedHostError, match="leads to an address that is not public"):
        call(
            {"url": "{u}"},
            {"u": f"http://{name}:{other_server.server_port}/echo"},
            allowedHosts=["localhos?", "127.*"],
        )

    assert other_server.seen == []


def test_private_address_written_out_in_the_settings_is_trusted(call, other_server):
    url = f"http://localhost:{other_server.server_port}/text"

    assert call({"url": "{u}"}, {"u": url}, allowedHosts=["localhost"]) == "plain words"


def test_international_name_of_the_settings_is_trusted(connect):
    source = connect([{"template": {"url": "http://bücher.example/x"}}])
    policy = source._calls.transport.policy

    assert policy.check("http://xn--bcher-kva.example/x") is None


def test_entry_named_like_the_option_allows_nothing(call, other_server):
    template = {"url": "{u}", "query": {"allowedHosts": "*"}, "body": {"allowedHosts": ["*"]}}

    with pytest.raises(BlockedHostError):
        call(template, {"u": other_server.url + "/text"})


def test_operation_allows_hosts_too(call, other_server):
    template = {"url": "{u}", "options": {"allowedHosts": ["127.0.0.1"]}}

    assert call(template, {"u": other_server.url + "/text"}) == "plain words"


def test_star_allows_every_host(call, other_server):
    assert (
        call({"url": "{u}"}, {"u": other_server.url + "/text"}, allowedHosts=["*"]) == "plain words"
    )


def test_secure_form_of_a_named_host_is_trusted(connect):
    source = connect([{"template": {"url": "http://[::1]/{x}"}, "functions": {"f": ["x"]}}])
    policy = source._calls.transport.policy

    assert policy.check("https://[::1]/x") is None
    assert policy.check("HTTPS://[::1]/x") is None
    with pytest.raises(BlockedHostError):
        policy.check("https://[::1]:444/x")
