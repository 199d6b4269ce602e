"""Authorisation: basic, bearer, API key, OAuth2 client credentials."""

from __future__ import annotations

import threading

import pytest

from app.connector import CallTimeoutError, UnauthorizedError, VariableError

HEADERS = [
    (
        {"user": "Aladdin", "pass": "open sesame"},
        "authorization",
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ),
    ({"user": "u"}, "authorization", "Basic dTo="),
    ({"bearer": "t0ken"}, "authorization", "Bearer t0ken"),
    ({"apiKey": "k"}, "x-api-key", "k"),
    ({"apiKey": "k", "name": "X-Mine", "in": "header"}, "x-mine", "k"),
]


@pytest.mark.parametrize(("auth", "name", "text"), HEADERS)
def test_credentials_go_into_a_header(call, auth, name, text):
    assert call({"url": "/echo"}, options={"auth": auth})["headers"][name] == text


ADDRESSES = [
    ("Aladdin:open%20sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ("u", "Basic dTo="),
    ("u:p@:x", "Basic dTpwQDp4"),
]


@pytest.mark.parametrize(("credentials", "text"), ADDRESSES)
@pytest.mark.parametrize("place", ["url", "baseURL", "options"])
def test_credentials_in_an_address_are_sent_as_basic_with_a_warning(
    connect, server, place, credentials, text
):
    base = server.url.replace("//", f"//{credentials}@")
    template = {"url": f"{base}/echo" if place == "url" else "/echo"}
    layer = {"options": {"baseURL": base}} if place == "options" else {"baseURL": base}
    settings = {} if place == "url" else {"baseURL": None, **layer}
    source = connect([{"template": template, "functions": {"f": []}}], **settings)

    assert source.f()["headers"]["authorization"] == text
    paths = {"url": "operations[0].template.url", "options": "options.baseURL"}
    warned = {warning.path: str(warning) for warning in source.warnings}
    assert "Basic" in warned[paths.get(place, place)]
    assert f"{credentials}@" not in repr(source.f) + "".join(warned.values())


def test_credentials_of_their_own_win_over_those_in_an_address(call, server):
    url = f"{server.url.replace('//', '//u:p@')}/echo"
    own = {"url": url, "options": {"auth": {"bearer": "mine"}}}
    header = {"url": url, "headers": {"authorization": "Bearer mine"}}

    assert call(own)["headers"]["authorization"] == "Bearer mine"
    assert call(header)["headers"]["authorization"] == "Bearer mine"


def test_api_key_goes_into_the_query(call):
    auth = {"apiKey": "k&", "name": "key", "in": "query"}

    assert call({"url": "/echo?a=1"}, options={"auth": auth})["query"] == "a=1&key=k%26"


def test_empty_auth_is_none(call):
    assert "authorization" not in call({"url": "/echo"}, options={"auth": {}})["headers"]


def test_auth_of_the_operation_wins_and_may_hold_variables(call):
    template = {"url": "/echo", "options": {"auth": {"bearer": "{t}"}}}

    headers = call(template, {"t": "mine"}, options={"auth": {"bearer": "theirs"}})["headers"]

    assert headers["authorization"] == "Bearer mine"


def test_variable_in_the_auth_is_an_argument(connect):
    source = connect(
        [
            {
                "template": {"url": "/echo", "options": {"auth": {"bearer": "{!t}"}}},
                "functions": {"f": ["t"]},
            }
        ]
    )

    assert source.f.accepts[0]["http"]["source"] == "options"


def test_explicit_header_wins_over_auth(call):
    template = {"url": "/echo", "headers": {"Authorization": "own"}}

    assert call(template, options={"auth": {"bearer": "x"}})["headers"]["authorization"] == "own"


def test_credentials_that_cannot_be_sent_are_refused(call):
    template = {"url": "/echo", "options": {"auth": {"bearer": "{t}"}}}

    with pytest.raises(VariableError, match="Header Authorization must not"):
        call(template, {"t": "a\nb"})


class Tokens:
    """A token endpoint that numbers its tokens, and an API that knows which are good."""

    def __init__(self, server, **answer):
        self.answer = {"expires_in": 3600, **answer}
        self.issued = 0
        self.good: set[str] = set()
        self.requests: list[dict] = []
        self.lock = threading.Lock()
        server.routes["token"] = self.issue
        server.routes["api"] = self.serve

    def issue(self, handler):
        with self.lock:
            self.issued += 1
            self.requests.append(handler.seen())
            self.good = {f"Bearer token-{self.issued}"}
        handler.reply({"access_token": f"token-{self.issued}", **self.answer})

    def serve(self, handler):
        is_good = handler.headers["authorization"] in self.good
        handler.reply({"ok": is_good}, 200 if is_good else 401)


@pytest.fixture
def oauth(server):
    return {
        "auth": {
            "oauth2": {
                "tokenUrl": f"{server.url}/token",
                "clientId": "id",
                "clientSecret": "secret",
                "scope": "read",
            }
        }
    }


def test_one_token_serves_many_calls(connect, server, oauth):
    tokens = Tokens(server)
    source = connect(
        [
            {"template": {"url": "/api"}, "functions": {"f": []}},
            {"template": {"url": "/api?x"}, "functions": {"g": []}},
        ],
        options=oauth,
    )

    assert [source.f(), source.f(), source.g()] == [{"ok": True}] * 3
    assert tokens.issued == 1
    seen = tokens.requests[0]
    assert seen["text"] == "grant_type=client_credentials&scope=read"
    assert seen["headers"]["authorization"] == "Basic aWQ6c2VjcmV0"


def test_token_without_scope_asks_for_none(connect, server, oauth):
    tokens = Tokens(server, expires_in="soon")
    del oauth["auth"]["oauth2"]["scope"]
    connect([{"template": {"url": "/api"}}], options=oauth).invoke()

    assert tokens.requests[0]["text"] == "grant_type=client_credentials"


def test_token_is_renewed_before_it_expires(connect, server, oauth):
    tokens = Tokens(server, expires_in=0)
    source = connect([{"template": {"url": "/api"}}], options=oauth)
    source.invoke()
    source.invoke()

    assert tokens.issued == 2


def test_many_threads_fetch_one_token(connect, server, oauth):
    tokens = Tokens(server)
    source = connect([{"template": {"url": "/api"}}], options=oauth)
    barrier = threading.Barrier(8)
    found = []

    def work():
        barrier.wait()
        found.append(source.invoke())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [{"ok": True}] * 8
    assert tokens.issued == 1


def test_refused_token_is_renewed_once(connect, server, oauth):
    tokens = Tokens(server)
    source = connect([{"template": {"method": "POST", "url": "/api"}}], options=oauth)
    source.invoke()
    tokens.good = set()

    assert source.invoke() == {"ok": True}
    assert tokens.issued == 2


def test_call_that_stays_refused_is_an_error(connect, server, oauth):
    tokens = Tokens(server)
    server.routes["api"] = lambda handler: handler.reply({}, 401)

    with pytest.raises(UnauthorizedError):
        connect([{"template": {"url": "/api"}}], options=oauth).invoke()

    assert tokens.issued == 2


def test_own_header_of_a_call_is_not_renewed(connect, server, oauth):
    tokens = Tokens(server)
    source = connect(
        [{"template": {"url": "/api", "headers": {"authorization": "own"}}}], options=oauth
    )

    with pytest.raises(UnauthorizedError):
        source.invoke()

    assert tokens.issued == 0
    assert server.hits["/api"] == 1


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"error": "invalid_client"}, 401, "401 invalid_client"),
        ({}, 200, "200 OK"),
        ([], 200, "200 OK"),
        (b"{oops", 500, "500 Internal Server Error"),
    ],
)
def test_token_endpoint_that_gives_no_token_is_named(connect, server, oauth, body, status, words):
    server.routes["token"] = lambda handler: handler.reply(body, status)

    with pytest.raises(
        UnauthorizedError, match=f"token endpoint returned no access token: {words}"
    ):
        connect([{"template": {"url": "/api"}}], options=oauth).invoke()


def test_slow_token_endpoint_ends_with_the_call(connect, oauth, server):
    server.routes["token"] = lambda handler: handler.on_slow()

    # The server ends it after 20 s, which is another error.
    with pytest.raises(CallTimeoutError):
        connect(
            [{"template": {"url": "/api"}}],
            options={**oauth, "timeout": {"read": 100_000, "total": 100}},
        ).invoke()


def test_prepared_request_shows_fixed_credentials_masked(connect):
    source = connect(
        [{"template": {"url": "/echo"}, "functions": {"f": []}}],
        options={"auth": {"bearer": "t0ken-value"}},
    )

    command = source.f.prepare().as_curl()

    assert "t0ken-value" not in command
    assert "-H 'Authorization: ***'" in command


def test_prepared_request_fetches_no_token(connect, server, oauth):
    source = connect([{"template": {"url": "/echo"}, "functions": {"f": []}}], options=oauth)

    assert "authorization" not in source.f.prepare().headers
    assert server.seen == []


def test_token_at_hand_is_in_a_prepared_request(connect, server):
    server.routes["token"] = lambda handler: handler.reply({"access_token": "t0ken"})
    oauth2 = {"tokenUrl": f"{server.url}/token", "clientId": "i", "clientSecret": "s"}
    source = connect(
        [{"template": {"url": "/echo"}, "functions": {"echo": []}}],
        options={"auth": {"oauth2": oauth2}},
    )

    assert "Authorization" not in source.echo.prepare().headers
    assert server.hits["/token"] == 0

    source.echo()
    assert source.echo.prepare().headers["Authorization"] == "Bearer t0ken"
    assert server.hits["/token"] == 1
