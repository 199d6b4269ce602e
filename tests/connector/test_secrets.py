"""Planted secrets never appear in a log record, a repr or an exception, whatever happens."""

from __future__ import annotations

import logging
import traceback

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.connector import ConnectorError, DataSource
from app.connector.redaction import Redactor, is_secret_name

SECRET = "hunter2-S3cr3t/+ ü\"'"
PLAIN = "plain-secret-4711"


@pytest.fixture
def leaks(caplog):
    """Collect whatever a test prints; on leaving, no secret may be in it."""
    caplog.set_level(logging.DEBUG)
    printed: list[str] = []
    yield printed
    text = "\n".join([*printed, caplog.text, *(repr(record.args) for record in caplog.records)])
    assert text.strip()
    for secret in (SECRET, PLAIN, "hunter2", "4711"):
        assert secret not in text


def written(error: BaseException) -> str:
    """Write an error as logging would, with everything below it."""
    below = [error.__cause__, error.__context__]
    assert below == [None, None]
    return "\n".join([str(error), repr(error), *traceback.format_exception(error)])


PLACES = [
    {"url": "/status/500", "query": {"api_key": "{s}"}},
    {"url": "/status/500", "query": {"a": "{s}"}},
    {"url": "/status/404", "headers": {"authorization": "Bearer {s}"}},
    {"url": "/status/404", "headers": {"x-plain": "{s}"}},
    {"url": "/reset/{s}"},
    {"url": "/reset?access_token={s}"},
    {"url": "/broken", "query": {"nested": {"client_secret": ["{s}"]}}},
    {"url": "/slow", "timeout": 30, "query": {"token": "{s}"}},
    {"url": "/redirect", "query": {"to": "http://evil.example/{s}"}},
    {"url": "/echo", "responsePath": "$.x", "onNoMatch": "error", "query": {"a": "{s}"}},
    {"method": "POST", "url": "/say", "body": {"password": "{s}"}},
    {"method": "POST", "url": "/say", "form": {"a": "{s}"}},
]


@pytest.mark.parametrize("template", PLACES)
@pytest.mark.parametrize("secret", [PLAIN, "hunter2-é"])
def test_secret_variable_does_not_leak(connect, server, leaks, template, secret):
    server.routes["say"] = lambda h: h.reply({"message": f"not with {h.content.decode()}"}, 400)
    source = connect(
        [
            {
                "template": {**template, "variables": {"s": {"secret": True}}},
                "functions": {"f": ["s"]},
            }
        ],
        debug=True,
    )
    if "authorization" in template.get("headers", {}):
        secret = secret.replace("é", "e")

    with pytest.raises(ConnectorError) as caught:
        source.f(secret)

    request = source.f.prepare(secret)
    leaks += [
        written(caught.value),
        repr(request),
        str(request),
        request.as_curl(),
        repr(source),
        repr(source.f),
        repr(source.f.variables),
    ]


def test_secret_of_the_environment_does_not_leak(connect, server, leaks, monkeypatch):
    monkeypatch.setenv("PLANTED", SECRET)
    server.routes["say"] = lambda h: h.reply({"message": f"you said {h.path}"}, 400)
    source = connect(
        [
            {
                "template": {"url": "/say", "query": {"harmless": {"$env": "PLANTED"}}},
                "functions": {"f": []},
            }
        ],
        debug=True,
        options={"auth": {"user": "u", "pass": {"$env": "PLANTED"}}},
    )

    with pytest.raises(ConnectorError) as caught:
        source.f()

    leaks += [written(caught.value), source.f.prepare().as_curl(), repr(caught.value.request)]


@pytest.mark.parametrize(
    "auth",
    [
        {"bearer": PLAIN},
        {"user": "u", "pass": PLAIN},
        {"apiKey": PLAIN},
        {"apiKey": PLAIN, "name": "plainname", "in": "query"},
        {"bearer": "{s}"},
    ],
)
def test_credentials_that_the_remote_repeats_do_not_leak(connect, server, leaks, auth):
    def say(handler):
        words = [handler.path, *handler.headers.values()]
        handler.reply({"message": " ".join(words)}, 401)

    server.routes["say"] = say
    source = connect(
        [
            {
                "template": {
                    "url": "/say",
                    "query": {"q": "{s}"},
                    "options": {"auth": auth},
                    "variables": {"s": {"secret": True}},
                },
                "functions": {"f": ["s"]},
            }
        ],
        debug=True,
    )

    with pytest.raises(ConnectorError) as caught:
        source.f(PLAIN)

    leaks += [written(caught.value), source.f.prepare(PLAIN).as_curl()]


@pytest.mark.parametrize("place", ["url", "baseURL"])
def test_credentials_in_an_address_do_not_leak(connect, server, leaks, place):
    server.routes["say"] = lambda h: h.reply({"message": str(h.headers)}, 401)
    base = server.url.replace("//", f"//user:{PLAIN}@")
    url = f"{base}/say" if place == "url" else "/say"
    operations = [{"template": {"url": url}, "functions": {"f": []}}]
    source = connect(operations, baseURL=base, debug=True)

    with pytest.raises(ConnectorError) as caught:
        source.f()

    leaks += [written(caught.value), repr(caught.value.request), source.f.prepare().as_curl()]
    leaks += [str(source.effective_settings), repr(source), repr(source.f), str(source.warnings)]


def test_headers_of_a_context_do_not_leak(connect, server, leaks):
    server.routes["say"] = lambda h: h.reply({"message": h.headers["authorization"]}, 400)
    source = connect([{"template": {"url": "/say"}}], debug=True)

    with source.context(headers={"authorization": PLAIN}), pytest.raises(ConnectorError) as caught:
        source.invoke()

    leaks.append(written(caught.value))


def test_secret_cut_in_half_by_shortening_does_not_leak(connect, server, leaks):
    server.routes["say"] = lambda h: h.reply((b"x" * 290) + PLAIN.encode(), 400, kind="text/plain")
    source = connect(
        [{"template": {"url": "/say", "query": {"token": "{s}"}}, "functions": {"f": ["s"]}}]
    )

    with pytest.raises(ConnectorError) as caught:
        source.f(PLAIN)

    leaks.append(written(caught.value))
    assert PLAIN[:8] not in str(caught.value)


def test_debug_gives_one_line_a_call(connect, server, caplog):
    caplog.set_level(logging.DEBUG, "app.connector")
    source = connect(
        [{"template": {"url": "/status/{s}", "query": {"token": "x"}}, "functions": {"f": ["s"]}}],
        debug=True,
    )
    source.f(200)
    with pytest.raises(ConnectorError):
        source.f(500)

    lines = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert len(lines) == 2
    assert lines[0].startswith(f"f: GET {server.url}/status/200?token=*** 200 ")
    assert lines[0].endswith(" ms attempt 1")
    assert "/status/500?token=*** 500 " in lines[1]


def test_debug_names_the_failure_when_nothing_came_back(connect, caplog):
    caplog.set_level(logging.DEBUG, "app.connector")
    with pytest.raises(ConnectorError):
        connect([{"template": {"url": "/reset"}}], debug=True).invoke()

    assert "/reset ConnectError " in caplog.text


def test_without_debug_there_is_no_line(connect, caplog):
    caplog.set_level(logging.DEBUG, "app.connector")
    connect([{"template": {"url": "/text"}}]).invoke()

    assert caplog.text == ""


def test_urllib3_lines_of_others_are_left_alone(caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("urllib3.connectionpool").debug("GET /x?token=%s", "mine")

    assert "token=mine" in caplog.text


SOURCE = DataSource.from_config(
    {
        "operations": [
            {
                "template": {
                    "method": "POST",
                    "url": "http://127.0.0.1:1/{s}",
                    "query": {"a": "x{s}"},
                    "headers": {"x-a": "{h}"},
                    "body": {"b": ["{s}", {"c": "{s}"}]},
                    "variables": {"s": {"secret": True}, "h": {"secret": True}},
                },
                "functions": {"f": ["s", "h"]},
            }
        ]
    },
)


@given(st.text(min_size=8, max_size=30).filter(lambda text: text.strip(". ")))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_no_planted_secret_ever_leaks(secret):
    marked = f"Zq9{secret}"
    try:
        request = SOURCE.f.prepare(marked, "Zq9header")
        text = f"{request!r} {request} {request.as_curl()}"
        SOURCE.f(marked, "Zq9header")
    except ConnectorError as error:
        text = f"{error} {error!r} {error.request}"

    assert "Zq9" not in text


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("a", "say a, b"),
        ("a b", "q=a%20b&r=a+b"),
        ('x"y', r'{"k": "x\"y"}'),
        ("ü&", "%C3%BC%26"),
        ("user:pw", "dXNlcjpwdw=="),
    ],
)
def test_redactor_knows_the_usual_spellings(secret, text):
    redacted = Redactor([secret]).text(text)

    assert "***" in redacted
    assert text != redacted


def test_default_of_a_secret_variable_is_not_shown(connect, leaks):
    source = connect(
        [
            {
                "template": {
                    "url": "/echo",
                    "headers": {"x": "{s}"},
                    "variables": {"s": {"secret": True, "default": PLAIN}},
                },
                "functions": {"f": ["s"]},
            }
        ]
    )

    leaks += [repr(source.f), repr(source.f.variables), repr(source.f.prepare())]
    assert source.f()["headers"]["x"] == PLAIN


def test_names_in_the_settings_are_no_secrets(connect):
    source = connect(
        [
            {
                "template": {"url": "/status/400", "query": {"a": "{id}"}},
                "functions": {"getToken": ["id"]},
            }
        ]
    )

    with pytest.raises(ConnectorError, match=r"\?a=id: 400"):
        source.getToken("id")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("X-Api-Key", True),
        ("key", True),
        ("accessKey", True),
        ("apikey", True),
        ("sig", True),
        ("Set-Cookie", True),
        ("pageToken", True),
        *((name, True) for name in ("pwd", "userPwd", "X-Auth", "basicAuth", "x_auth", "jwt")),
        *((name, True) for name in ("X-JWT-Assertion", "passcode", "otp", "pin", "connect.sid")),
        *((name, True) for name in ("sessionid", "session_id", "sessionId", "JSESSIONID")),
        *((name, True) for name in ("PHPSESSID", "connectionString")),
        *((name, False) for name in ("author", "oauth2x", "session", "spin", "inside", "mapPin")),
        ("monkey", False),
        ("keyboard", False),
        ("design", False),
        ("Accept", False),
    ],
)
def test_secret_names_are_known(name, secret):
    assert is_secret_name(name) is secret


def test_redactor_leaves_other_words_alone():
    assert Redactor(["a"]).text("a cat ate") == "*** cat ate"
    assert Redactor().text("text") == "text"


def test_redactor_masks_structures_by_name_and_value():
    masked = Redactor(["v4lue"]).structure(
        {"password": "x", "deep": [{"api_key": 5, "ok": "has v4lue"}], "token": {"a": 1}, "n": 1}
    )

    assert masked == {
        "password": "***",
        "deep": [{"api_key": "***", "ok": "has ***"}],
        "token": {"a": 1},
        "n": 1,
    }
