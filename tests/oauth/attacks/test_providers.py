"""Providers that lie about themselves, answer anything or nothing, or change their keys."""

import gzip
import json
from threading import Event, Thread
from time import monotonic
from types import SimpleNamespace

import pytest
from joserfc.jwk import RSAKey

from app.oauth import clients, http, openid
from app.users.models import User
from tests.conftest import Api
from tests.oauth.provider import Answer
from tests.support.answers import refusal
from tests.support.rows import count

from .test_id_tokens import OTHER_KEY

REFUSED = (401, "LOGIN_FAILED")
CONFIGURATION = "/.well-known/openid-configuration"
PATHS = [CONFIGURATION, "/keys", "/token", "/userinfo"]


@pytest.fixture
def no_retry_interval(monkeypatch):
    """Let a provider that has failed be asked again at once."""
    monkeypatch.setattr(openid, "RETRY_INTERVAL", 0)


@pytest.fixture
def forget(app):
    """Return a function by which the app forgets what it knows of the provider."""
    client = clients.of(app)["test"]

    def forget():
        client.discovery = openid.Discovery(client.provider, client.http)

    forget()
    yield forget
    forget()


def without_email(provider):
    """Let the token be silent about the email, so that the profile is asked for."""
    provider.claims = {"email": None, "email_verified": None}


def attempt(browser, path="/auth/test"):
    """Begin a login, and end it if the provider was of any use so far."""
    response = browser.begin(path)
    if response.status_code != 302:
        return response
    callback = browser.provider.authorize(response.location)
    return browser.open(callback.replace("http://127.0.0.1:3000", ""))


METADATA = [
    {"issuer": "https://accounts.example.com"},
    {"issuer": None},
    {"issuer": ["x"]},
    {"authorization_endpoint": None},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"authorization_endpoint": "http://example.com/"},
    {"authorization_endpoint": {"x": 1}},
    {"token_endpoint": None},
    {"token_endpoint": "http://example.com/"},
    {"token_endpoint": "https://10.0.0.1/token"},
    {"token_endpoint": "https://user:password@127.0.0.1/"},
    {"token_endpoint": 1},
    {"jwks_uri": None},
    {"jwks_uri": "file:///etc/passwd"},
    {"jwks_uri": "http://example.com/"},
    {"jwks_uri": "https://10.0.0.1/keys"},
    {"jwks_uri": "https://127.0.0.1:1/keys"},
    {"jwks_uri": "https://[::ffff:127.0.0.1]:1/keys"},
    {"jwks_uri": "http://169.254.169.254/latest/meta-data/"},
    {"userinfo_endpoint": "http://example.com/"},
]


def test_no_metadata_lead_elsewhere(app, make_browser, provider, forget, no_retry_interval):
    for metadata in [{"issuer": f"{provider.url}/"}, *METADATA]:
        forget()
        provider.metadata = metadata

        assert refusal(attempt(make_browser())) == REFUSED, metadata
    assert count(app, User) == 0


def test_lists_in_metadata_may_be_anything(make_browser, provider, forget):
    for value in (1, True, "S256", {"S256": 1}, [1, None, ["S256"]]):
        forget()
        provider.metadata = {
            "code_challenge_methods_supported": value,
            "token_endpoint_auth_methods_supported": value,
            "id_token_signing_alg_values_supported": value,
        }

        assert attempt(make_browser()).status_code == 302, value


def packed(document):
    body = gzip.compress(json.dumps(document).encode())
    return Answer(body=body, headers={"Content-Encoding": "gzip"})


ANSWERS = {
    "no JSON": Answer(body=b"<html>"),
    "nothing": Answer(body=b""),
    "an array": Answer(body=[]),
    "null": Answer(body=None),
    "a text": Answer(body="x"),
    "deep arrays": Answer(body=b"[" * 50_000 + b"]" * 50_000),
    "an error": Answer(500, {"error": "server_error"}),
    "an error with status 200": Answer(body={"error": ["x"], "error_description": 1}),
    "1 MB": Answer(body={"x": "x" * 1_000_000}),
    "1 MB, compressed": packed({"x": "x" * 1_000_000}),
    "no UTF-8": Answer(body=b'{"issuer": "\xff\xfe"}'),
    "a long number": Answer(body=b'{"x": ' + b"9" * 100_000 + b"}"),
    "a redirect": Answer(307, b"", headers={"Location": "/elsewhere"}),
    "not modified": Answer(304, b""),
}


@pytest.mark.parametrize("path", PATHS)
def test_whatever_a_provider_answers_is_no_server_error(
    app, make_browser, provider, forget, no_retry_interval, path
):
    if path == "/userinfo":
        without_email(provider)
    for name, answer in ANSWERS.items():
        forget()
        provider.answers = {path: answer}

        assert refusal(attempt(make_browser())) == REFUSED, name
    assert "/elsewhere" not in provider.requests
    assert count(app, User) == 0


def test_a_profile_of_a_megabyte_is_refused(app, browser, provider):
    without_email(provider)
    provider.user["name"] = "x" * 1_000_000

    assert refusal(browser.log_in()) == REFUSED
    assert count(app, User) == 0


def test_a_long_profile_is_stored_in_part(api, browser, provider):
    provider.user |= {"name": "x" * 5_000, "nickname": "\0\ud800\u202e", "groups": ["x"] * 500}

    assert browser.log_in().status_code == 302
    (identity,) = api("GET", "/users/1/identities", token=browser.token).json
    assert identity["profile"]["name"] == "x" * 255
    assert len(json.dumps(identity)) < 2_000


PICTURES = [
    *(
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        " javascript:alert(1)",
    ),
    *("data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd", "blob:x"),
    *("//evil.example/x.png", "/x.png", "x.png", "", "https:", "https:///x.png", "http://[::1"),
    *('https://x.example/"onerror="alert(1)', "https://x.example/<x>", "https://x.example/a b"),
    *("https://x.example:port/", "https://x.example/\u202e", f"https://x.example/{'x' * 300}"),
]


def test_a_picture_is_an_address_or_dropped(api, browser, provider):
    def shown(picture):
        provider.user["picture"] = picture
        assert browser.log_in().status_code == 302
        (identity,) = api("GET", "/users/1/identities", token=browser.token).json
        return identity["profile"].get("picture")

    for picture in PICTURES:
        assert shown(picture) is None, picture
    for picture in ("https://x.example/a.png?size=96&v=%20", "http://127.0.0.1:8000/ada"):
        assert shown(picture) == picture


def test_new_keys_are_fetched_and_unknown_ones_not_at_every_request(
    app, browser, provider, forget, monkeypatch
):
    assert browser.log_in().status_code == 302
    provider.keys = [OTHER_KEY.as_dict(private=False)]
    provider.sign = provider.sign_with(OTHER_KEY)
    with monkeypatch.context() as patched:
        patched.setattr(openid, "REFRESH_INTERVAL", 0)
        assert browser.log_in().status_code == 302
    assert provider.requests.count("/keys") == 2

    # Anybody can send tokens that name keys.
    monkeypatch.setattr(openid, "REFRESH_INTERVAL", 600)
    client = app.test_client(use_cookies=False)
    for number in range(20):
        provider.sign = provider.sign_with(OTHER_KEY, kid=f"unknown-{number}")
        response = client.post("/auth/test/token", json={"id_token": provider.id_token()})
        assert refusal(response) == REFUSED

    assert provider.requests.count("/keys") == 2
    assert provider.requests.count(CONFIGURATION) == 1


BROKEN_KEYS = [
    None,
    "x",
    {},
    {"kty": "unknown", "kid": "first"},
    {"kty": "oct", "k": "c2VjcmV0", "kid": "first"},
    {"kty": ["RSA"], "kid": "first"},
    {"kty": "RSA", "kid": "first"},
    {"kty": "RSA", "n": 1, "e": []},
    {"kty": "RSA", "n": "AA", "e": "AQAB"},
    {"kty": "RSA", "n": "_" * 60_000, "e": "_" * 20_000},
    {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
    {"kty": "EC", "crv": "none", "x": "AA", "y": "AA"},
    {"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": ["x"]},
]


def test_broken_keys_are_left_out(make_browser, provider, forget, no_retry_interval):
    for broken in BROKEN_KEYS:
        forget()
        provider.keys = [broken, provider.key.as_dict(private=False)]
        assert attempt(make_browser()).status_code == 302, broken
        forget()
        provider.keys = [broken]
        assert refusal(attempt(make_browser())) == REFUSED, broken


@pytest.mark.filterwarnings("ignore:Key size should be")
def test_a_key_that_can_be_broken_signs_nothing(browser, provider, forget):
    """RSA of less than 2048 bits (RFC 7518, 3.3)."""
    key = RSAKey.generate_key(1024, {"kid": "weak"})
    provider.keys = [key.as_dict(private=False)]
    provider.sign = provider.sign_with(key, alg="RS256")

    assert refusal(attempt(browser)) == REFUSED


@pytest.mark.parametrize("path", [CONFIGURATION, "/keys"])
def test_a_provider_that_has_failed_is_left_alone_and_asked_later(
    app, browser, provider, forget, monkeypatch, path
):
    monkeypatch.setattr(openid, "RETRY_INTERVAL", 600)
    provider.answers = {path: Answer(500)}
    id_token = provider.id_token()

    for _ in range(10):
        response = browser.client.post("/auth/test/token", json={"id_token": id_token})
        assert refusal(response) == REFUSED
    asked = provider.requests.count(path)
    provider.answers = {}
    monkeypatch.setattr(openid, "RETRY_INTERVAL", 0)

    assert asked == 1
    assert attempt(browser).status_code == 302


def test_a_provider_that_does_not_answer_delays_nobody_else(
    app, make_browser, provider, other_provider, forget, secrets, monkeypatch
):
    # Longer than the others take, on any machine.
    monkeypatch.setattr(http, "READ_TIMEOUT", 60.0)
    monkeypatch.setattr(http, "LOGIN_TIMEOUT", 60.0)
    begun, released = Event(), Event()
    provider.before[CONFIGURATION] = lambda: (begun.set(), released.wait(60))
    waiting = [Thread(target=make_browser().begin) for _ in range(4)]
    for thread in waiting:
        thread.start()
    begun.wait(60)

    try:
        browser = make_browser()
        assert attempt(browser, "/auth/other").status_code == 302
        api = Api(app.test_client(use_cookies=False), secrets)
        api.register("bob@example.com")
        assert api.login("bob@example.com")["userId"] == 2
        assert any(thread.is_alive() for thread in waiting)
    finally:
        released.set()
        for thread in waiting:
            thread.join()


def test_all_requests_of_a_login_share_one_deadline(app, browser, provider, monkeypatch, caplog):
    """Several slow answers must not hold a thread for several times as long as one."""
    passed = 0.0

    def take_long():
        nonlocal passed
        passed += 0.6 * 8.0

    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: monotonic() + passed))
    without_email(provider)
    callback = browser.authorize()
    provider.before = dict.fromkeys(["/token", "/keys", "/userinfo"], take_long)

    response = browser.open(callback)

    assert refusal(response) == REFUSED
    # The third was not sent: the first two have taken all the time.
    assert provider.requests[-2:] == ["/token", "/keys"]
    assert "a login by test failed: no time is left" in caplog.text
    assert count(app, User) == 0
