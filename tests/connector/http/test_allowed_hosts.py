"""The hosts that a call may reach, whatever its variables say."""

from __future__ import annotations

import pytest

from app.connector import BlockedHostError


def test_address_that_is_none_is_an_error(connect):
    source = connect([{"template": {"url": "{u}"}, "functions": {"f": ["u"]}}], allowedHosts=["*"])

    with pytest.raises(BlockedHostError):
        source.f("http://[::1/")


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
    with pytest.raises(ValueError, match="cannot be used in the host"):
        call({"url": url}, values)


def test_variable_may_name_a_host_of_the_settings(call, server):
    assert call({"url": "{u}"}, {"u": f"{server.url}/text"}) == "plain words"


def test_default_of_a_host_variable_is_named_by_the_settings(call, server):
    host = server.url.removeprefix("http://")

    assert call({"url": f"http://{{h={host}}}/text"}) == "plain words"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_private_address_behind_an_allowed_pattern_is_blocked(call, other_server, name):
    with pytest.raises(BlockedHostError, match="has an address that is not public"):
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
    policy = source._client.transport.policy

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
    policy = source._client.transport.policy

    assert policy.check("https://[::1]/x") is None
    assert policy.check("HTTPS://[::1]/x") is None
    with pytest.raises(BlockedHostError):
        policy.check("https://[::1]:444/x")
