"""Hostile values and answers of remote services: bounded, never a crash."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
import threading
import time

import pytest

from app.connector import (
    BlockedHostError,
    CallTimeoutError,
    ConfigError,
    ConnectError,
    ConnectorError,
    DataSource,
    HTTPStatusError,
    PaginationError,
    Record,
    Request,
    ResponseDecodeError,
    ResponsePathError,
    ResponseTooLargeError,
    UnauthorizedError,
    VariableError,
    VariableTypeError,
    redaction,
)
from app.connector.http.auth import ClientCredentials
from app.connector.http.responses import read_retry_after
from app.connector.redaction import MAX_SECRETS, Redactor
from app.connector.request import encoding, url
from app.connector.request import request as request_module

SECRET = "s3cret-Value"


def failure(call, template, **settings) -> str:
    with pytest.raises(ConnectorError) as caught:
        call(template, **settings)
    return str(caught.value)


def test_value_of_the_environment_is_published_nowhere(connect, monkeypatch):
    monkeypatch.setenv("PLANTED", SECRET)
    env = {"$env": "PLANTED"}
    variables = {
        "a": {"default": env},
        "b": {"default": {"deep": [env]}, "type": "object"},
        "c": {"enum": ["x", env]},
        "d": {"doc": env},
    }
    source = connect(
        [
            {
                "template": {"url": "/{a}/{c}/{d}", "body": "{b}", "variables": variables},
                "functions": {"f": ["a", "b", "c", "d"]},
            },
            {"template": {"url": env}, "functions": {"g": []}},
        ]
    )

    with pytest.raises(VariableTypeError) as caught:
        source.f(c="y")

    f, g = source.f, source.g
    shown = [f, f.variables, f.__signature__, f.accepts, g, g.url, g.__doc__, caught.value]
    assert SECRET not in repr(shown)
    assert [variable.secret for variable in f.variables.values()] == [True, True, False, True]


def test_value_of_the_environment_is_in_no_problem(monkeypatch, caplog):
    monkeypatch.setenv("PLANTED", SECRET)
    template = {"url": "http://h/", "method": {"$env": "PLANTED"}}

    with pytest.raises(ConfigError, match="cannot be used as a method") as caught:
        DataSource.from_config({"operations": [{"template": template}]})

    assert SECRET not in f"{caught.value} {caught.value.errors} {caplog.text}"


def test_allowed_values_of_a_secret_are_not_listed(call):
    template = {"url": "/{k}", "variables": {"k": {"secret": True, "enum": [SECRET]}}}

    with pytest.raises(VariableTypeError, match="Variable k has a value that is not allowed") as e:
        call(template, {"k": "guess"})

    assert SECRET not in str(e.value)


@pytest.mark.parametrize(
    "auth",
    [
        {"bearer": SECRET},
        {"bearer": "{t}"},
        {"user": "u", "pass": "{t}"},
        {"user": "u", "pass": SECRET},
        {"apiKey": "{t}", "name": "plain"},
        {"apiKey": "{t}", "name": "plain", "in": "query"},
    ],
)
def test_credentials_are_masked_in_every_spelling(call, server, auth):
    def say(handler):
        sent = f"{handler.headers.get('authorization')} {handler.headers.get('plain')}"
        pair = base64.b64encode(f"u:{SECRET}".encode()).decode()
        handler.reply({"message": f"{sent} {handler.path} u:{SECRET} {SECRET.lower()} {pair}"}, 401)

    server.routes["say"] = say

    values = {"t": SECRET} if "{t}" in auth.values() else {}
    text = failure(call, {"url": "/say", "options": {"auth": auth}}, values=values)

    assert "/say: 401 " in text
    assert SECRET.lower() not in text.lower()
    if "user" in auth:
        assert base64.b64encode(f"u:{SECRET}".encode()).decode() not in text


def test_oauth_token_and_client_are_masked(call, server):
    server.routes["token"] = lambda h: h.reply({"access_token": SECRET, "expires_in": 1e300})
    server.routes["say"] = lambda h: h.reply({"message": h.headers["authorization"]}, 403)
    client = {"tokenUrl": f"{server.url}/token", "clientId": "id", "clientSecret": "cl13nt"}
    options = {"auth": {"oauth2": client}}

    assert SECRET not in failure(call, {"url": "/say"}, options=options)

    server.routes["token"] = lambda h: h.reply({"message": h.headers["authorization"]}, 400)
    text = failure(call, {"url": "/say"}, options=options)
    assert base64.b64encode(b"id:cl13nt").decode() not in text


@pytest.mark.parametrize("token", ["a\nb", 5, "é"])
def test_token_that_cannot_be_sent_is_the_remotes_fault(call, server, token):
    server.routes["token"] = lambda h: h.reply({"access_token": token, "expires_in": 10**400})
    client = {"tokenUrl": f"{server.url}/token", "clientId": "id", "clientSecret": "s"}

    with pytest.raises(UnauthorizedError):
        call({"url": "/echo"}, options={"auth": {"oauth2": client}})


def test_waiting_for_a_token_ends_with_the_deadline():
    is_fetching, may_end = threading.Event(), threading.Event()

    def fetch(_request, _deadline):
        is_fetching.set()
        may_end.wait(60)
        raise CallTimeoutError("late")

    auth = ClientCredentials({"tokenUrl": "x", "clientId": "i", "clientSecret": "s"})
    request = Request("GET", "http://h/x")

    def hold():
        with pytest.raises(CallTimeoutError, match="late"):
            auth.refresh(request, fetch, time.monotonic() + 60)

    holder = threading.Thread(target=hold)
    holder.start()
    is_fetching.wait(60)

    with pytest.raises(CallTimeoutError, match="another call"):
        auth.refresh(request, fetch, time.monotonic() + 0.01)

    may_end.set()
    holder.join()


def test_secrets_that_overlap_in_a_text_are_found_at_once():
    redactor = Redactor(["a" * 1000])

    assert redactor.text("b" + "a" * 99_999 + "b") == "b***b"
    assert len(list(redactor._spans("a" * 100_000, 100_000))) == 100
    assert Redactor(["abab"]).text("xababab") == "x***"


def test_names_are_matched_once_and_long_ones_count_as_secret(monkeypatch):
    matched = []
    monkeypatch.setattr(redaction, "is_secret_name", lambda name: matched.append(name) or True)
    body = {"a" * 50_000: ["value"] * 20_000, "b": [["value"]]}

    assert set(redaction.secrets_by_name(body)) == {"value"}
    assert len(matched) == 2
    monkeypatch.undo()
    assert redaction.is_secret_name("a" * (redaction.MAX_NAME_LENGTH + 1))
    assert not redaction.is_secret_name("a" * redaction.MAX_NAME_LENGTH)


def test_body_is_searched_for_secrets_once_however_often_it_is_sent(call, monkeypatch):
    matched = []
    known = redaction.is_secret_name
    monkeypatch.setattr(
        redaction, "is_secret_name", lambda name: matched.append(name) or known(name)
    )
    template = {"method": "PUT", "url": "/status/503", "body": {"a": "{token}"}}

    with pytest.raises(HTTPStatusError):
        call(template, {"token": {"note": 1}}, retry={"maxAttempts": 3, "maxDelay": 1})

    assert matched.count("note") == 1


def test_chunk_of_negative_size_is_the_remotes_fault(call, server):
    def reply(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"-5\r\nxxxxx\r\n0\r\n\r\n")
        handler.close_connection = True

    server.routes["negative"] = reply

    with pytest.raises(ConnectError):
        call({"url": "/negative"})


def test_redaction_is_bounded_and_cuts_no_secret():
    assert Redactor(["abcdef"]).prefix("xx abcdef", 5) == "xx ***"
    assert Redactor(["abcdef", "ab"]).text("abcdef abcdef") == "*** ***"
    assert Redactor([f"token-{n}" for n in range(MAX_SECRETS + 1)]).text("any") == "***"
    assert Redactor(["x" * 100_000]).prefix("x" * 50, 300) == "***"


def test_string_is_no_object(call):
    for value in ({"$ne": None}, [{"$ne": None}]):
        with pytest.raises(VariableTypeError, match="Variable u must be a string"):
            call({"method": "POST", "url": "/echo", "body": {"u": "{u:string}"}}, {"u": value})


@pytest.mark.parametrize("settings", [{}, {"allowedHosts": ["h*"]}, {"allowedHosts": ["*"]}])
def test_secure_host_is_never_called_without_tls(connect, settings):
    source = connect([], baseURL="https://host.example:8443", **settings)
    policy = source._client.transport.policy

    policy.check("https://host.example:8443/x")
    for port in (8443, 80, 443):
        with pytest.raises(BlockedHostError):
            policy.check(f"http://host.example:{port}/x")


def test_errors_are_pickled(call):
    with pytest.raises(HTTPStatusError) as caught:
        call({"url": "/status/500"})
    errors = [caught.value, ConfigError({"a": ["b"]}), ResponseDecodeError("m", 200, "t")]

    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert again.__dict__.keys() == error.__dict__.keys()


def test_records_are_copied(connect):
    record = Record(connect([]).define("notes"), {"id": 1, "tags": ["a"]})

    shallow, deep = copy.copy(record), copy.deepcopy(record)
    shallow["id"] = 2
    deep["tags"].append("b")

    assert record.to_dict() == {"id": 1, "tags": ["a"]}


@pytest.mark.parametrize("text", [b"NaN", b"[-Infinity]", b"[1e999]", b"[" * 100_000])
def test_json_by_the_letter(call, server, text):
    server.routes["say"] = lambda h: h.reply(text)

    with pytest.raises(ResponseDecodeError):
        call({"url": "/say"})


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "unicode_escape", "x" * 999])
def test_charset_that_is_none_of_the_web_gives_bytes(call, server, charset):
    server.routes["say"] = lambda h: h.reply(b"a\\b", kind=f"text/plain; charset={charset}")

    assert call({"url": "/say"}) == b"a\\b"


def test_query_that_multiplies_its_names_is_refused(call):
    for value in ({"k" * 10_000: [[] for _ in range(10_000)]}, [[]] * 16_000):
        with pytest.raises(VariableError, match="too large"):
            call({"url": "/echo", "query": {"q": "{q}"}}, {"q": value})


@pytest.mark.parametrize("repeat", [True, False])
def test_query_longer_than_a_url_is_refused_before_it_is_encoded(call, monkeypatch, repeat):
    written = []
    known = encoding.to_text
    monkeypatch.setattr(encoding, "to_text", lambda *value: written.append(value) or known(*value))
    monkeypatch.setattr(encoding, "percent_encode", None)
    template = {"url": "/echo", "query": {"q": "{q}"}, "options": {"useQuerystring": repeat}}

    with pytest.raises(VariableError, match="url is longer than 32768"):
        call(template, {"q": ["x"] * 20_000})

    # Once to be sent, and once to be described in the error.
    assert len(written) <= 2 * (32_768 / len("q=x&") + 1)


def test_url_is_built_once_to_be_sent(call, server, monkeypatch):
    built = []
    known = request_module.add_query
    monkeypatch.setattr(
        request_module,
        "add_query",
        lambda *args, **named: built.append(args[1]) or known(*args, **named),
    )
    server.routes["hop"] = lambda h: h.reply(None, 302, headers={"Location": "/echo"})

    call({"url": "/hop", "query": {"q": "{q}"}}, {"q": list(range(1000))})

    assert [len(query) for query in built] == [1, 0]


def test_value_longer_than_a_url_is_refused_before_it_is_encoded(call, monkeypatch):
    monkeypatch.setattr(url, "percent_encode", None)

    with pytest.raises(VariableError, match="url is longer than 32768"):
        call({"url": "/echo?q={q}"}, {"q": list(range(20_000))})


def test_long_host_is_refused_before_it_is_normalized(call):
    with pytest.raises(VariableError, match="cannot be used in the host"):
        call({"url": "{u}"}, {"u": "http://" + "\u0315\u0300" * 10_000})


@pytest.mark.parametrize("path", ["$..a..a", "$.a * $.b", "$..[?(@..a)]"])
def test_path_that_multiplies_is_refused(call, path):
    with pytest.raises(ConfigError, match="responsePath"):
        call({"url": "/echo", "responsePath": path})


@pytest.mark.parametrize(
    "body", [[1] * 5_000, json.loads("[" * 200 + "]" * 200), [[[[["x" * 3_000_000]]]]]]
)
def test_path_searches_and_matches_a_bounded_body(call, server, body):
    server.routes["say"] = lambda h: h.reply(body)

    with pytest.raises(ResponsePathError):
        call({"url": "/say", "responsePath": "$..*"})


def test_path_that_filters_searches_fewer_values_than_a_wildcard(call, server):
    server.routes["say"] = lambda h: h.reply([1] * 5_000)

    assert len(call({"url": "/say", "responsePath": "$[*]"})) == 5_000
    with pytest.raises(ResponsePathError, match="more than 5000 values"):
        call({"url": "/say", "responsePath": "$[?(@.a == 1)]"})


@pytest.mark.parametrize("following", ["http://[::1", "//h:99999999", {"a": 1}, "\ud800://["])
def test_next_page_that_is_no_address(connect, server, following):
    server.routes["list"] = lambda h: h.reply({"next": following})
    paginate = {"type": "next", "path": "$.next"}
    source = connect([{"template": {"url": "/list", "paginate": paginate}, "functions": {"f": []}}])

    with pytest.raises((PaginationError, BlockedHostError)):
        list(source.f.pages())


@pytest.mark.parametrize(
    "value", ["Thu, 01 Jan 99999999999999999999 00:00:00 GMT", "1 Jan 1 00:00:00 +2300", "9" * 400]
)
def test_retry_after_of_any_kind_is_read(value):
    assert read_retry_after(value) in (None, 0.0, float("inf"))


def test_framing_without_end_is_refused(call, server):
    def flood(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        handler.wfile.write(b"0\r\n" + b"A-Trailer: x\r\n" * 200_000)

    server.routes["flood"] = flood

    with pytest.raises(ResponseTooLargeError, match="too large"):
        call({"url": "/flood"}, options={"maxResponseBytes": 1000})


def test_headers_that_a_remote_breaks_are_not_logged(call, server, caplog):
    caplog.set_level(logging.WARNING)

    def broken(handler):
        sent = handler.headers["authorization"].encode()
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + sent + b"\r\n\r\n")

    server.routes["broken"] = broken
    call({"url": "/broken"}, options={"auth": {"bearer": SECRET}})

    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"headers": {"content-type": "text/plain"}, "body": "{v}"}, "\ud800"),
        ({"form": "{v}"}, "\ud800"),
        ({"options": {"auth": {"user": "u", "pass": "{v}"}}}, "\ud800"),
        ({"options": {"auth": {"bearer": "{v}"}}}, {"a": 1}),
        pytest.param(
            {"body": {"v": "{v}"}, "variables": {"v": {"secret": True}}}, 10**5000, id="digits"
        ),
    ],
)
def test_what_cannot_be_written_is_refused(call, template, value):
    with pytest.raises(VariableError):
        call({"method": "POST", "url": "/echo", **template}, {"v": value})


def test_path_of_what_cannot_be_written_is_joined_for_it_alone(call, monkeypatch):
    joined = []
    known = encoding.join_path
    monkeypatch.setattr(encoding, "join_path", lambda *step: joined.append(step) or known(*step))
    template = {"method": "POST", "url": "/echo", "body": "{x:json}"}

    with pytest.raises(VariableError, match=r"body\.k{100}\[1000\] \(a number\)"):
        call(template, {"x": {"k" * 50_000: [1] * 1000 + [float("inf")]}})

    assert len(joined) == 2


def test_credentials_may_be_numbers(call):
    template = {"url": "/echo", "options": {"auth": {"apiKey": "{v:number}"}}}

    assert call(template, {"v": 5})["headers"]["x-api-key"] == "5"


def test_url_that_no_server_takes_is_refused(call, server):
    with pytest.raises(VariableError, match="longer than 32768"):
        call({"url": "/{v}"}, {"v": "x" * 40_000})

    assert server.seen == []


def test_redirect_that_is_too_long_is_the_remotes_fault(call, server):
    server.routes["far"] = lambda h: h.reply(None, 302, headers={"Location": "/" + "x" * 40_000})

    with pytest.raises(BlockedHostError):
        call({"url": "/far"})
