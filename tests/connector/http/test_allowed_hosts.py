"""The hosts that a call may reach, whatever its variables say."""

from __future__ import annotations

import pytest

from app.connector import BlockedHostError, DataSource
from app.connector.http.connection import HostPolicy


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


HOSTS = [
    ("http://{h}/x", "*"),
    ("http://{h}.api.example/x", "*.api.example"),
    ("http://{h}.api.example:{p}/x", "*.api.example"),
    ("http://{h}.api.example:8080/x", "*.api.example:8080"),
    ("http://api.example:{p}/x", "api.example"),
    ("{u}/x", "*"),
    ("{u=http://api.example}/x", "*"),
]


@pytest.mark.parametrize(("url", "entry"), HOSTS)
def test_variable_host_is_warned_of_with_the_entry_that_permits_it(url, entry):
    operation = {"template": {"url": url}, "functions": {"f": []}}
    source = DataSource.from_config({"operations": [operation]})
    allowed = DataSource.from_config({"operations": [operation], "allowedHosts": [entry]})
    values = {"h": "eu", "p": "81", "u": "http://eu.example"}
    known = {name: values[name] for name in source.f.variables}
    url = allowed.f._builder.build(known).url

    [text] = [str(each) for each in source.warnings if "host" in each.meaning]
    assert f'the entry "{entry}" of `allowedHosts`' in text
    assert text.startswith("operations[0].template.url: ")
    assert [each for each in allowed.warnings if "host" in each.meaning] == []
    assert allowed._client.transport.policy.check(url) is None
    with pytest.raises(BlockedHostError, match="of allowedHosts would permit it"):
        source._client.transport.policy.check("http://evil.example/")


def test_variable_behind_a_base_url_is_not_warned_of():
    operation = {"template": {"url": "{path}"}}
    source = DataSource.from_config({"baseURL": "http://api.example", "operations": [operation]})

    assert [each for each in source.warnings if "host" in each.meaning] == []


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


@pytest.mark.parametrize(
    "host",
    [
        *("224.0.0.1", "239.255.255.250", "[ff0e::1]", "[::ffff:224.0.0.1]"),
        # Addresses that gateways translate to private ones.
        *("[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[2002:a00:1::]"),
    ],
)
def test_a_group_of_hosts_or_a_translated_address_is_not_public_to_a_proxy_either(host):
    policy = HostPolicy()
    policy.trust([], ["?*"])

    with pytest.raises(BlockedHostError, match="is not public"):
        policy.check_proxied(f"https://{host}/x")
