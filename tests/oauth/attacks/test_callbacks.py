"""A callback that does not belong to a login of this browser by this provider is refused."""

from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from sqlalchemy import update

from app.database.session import db
from app.oauth.models import LoginFlow
from app.times import now
from app.users.models import AccessToken, User
from tests.oauth.conftest import Browser
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import count

REFUSED = (401, "LOGIN_FAILED")
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


def read_query(url):
    return dict(parse_qsl(urlsplit(url).query))


def change_query(path, changes):
    """Change the query of a callback; None leaves a parameter out."""
    query = {**read_query(path), **changes}
    kept = {name: text for name, text in query.items() if text is not None}
    return f"{urlsplit(path).path}?{urlencode(kept)}"


def test_a_login_is_one_of_the_browser_that_began_it(browser, make_browser, provider):
    callback = browser.authorize()
    without_cookie, with_own_cookie = make_browser(), make_browser()
    with_own_cookie.authorize()

    for other in (without_cookie, with_own_cookie):
        assert refusal(other.open(callback)) == REFUSED
        assert other.token is None
    # The provider was not sent the code, and the person is not disturbed.
    assert "/token" not in provider.requests
    assert browser.open(callback).status_code == 302


def test_a_callback_works_once(browser, provider):
    callback = browser.authorize()

    first, again = browser.open(callback), browser.open(callback)

    assert first.status_code == 302
    assert refusal(again) == REFUSED
    assert provider.requests.count("/token") == 1


@pytest.mark.both_databases
def test_one_of_many_concurrent_callbacks_logs_in(app, browser, make_browser, provider):
    callback = browser.authorize()
    windows = [make_browser() for _ in range(6)]
    for window in windows:
        for cookie in browser.client._cookies.values():
            window.client.set_cookie(cookie.key, cookie.value)

    answers = at_once(app, *[lambda _, window=window: window.open(callback) for window in windows])

    assert sorted(answer.status_code for answer in answers) == [302, *[401] * 5]
    assert (provider.requests.count("/token"), count(app, AccessToken)) == (1, 1)


# What an attacker changes in the query of a callback, and whether the code is sent on.
QUERIES = {
    "no state": ({"state": None}, False),
    "an empty state": ({"state": ""}, False),
    "another state": ({"state": "x" * 43}, False),
    "a state with a NUL": ({"state": "\0"}, False),
    "a long state": ({"state": "x" * 10_000}, False),
    "no code": ({"code": None}, False),
    "a long code": ({"code": "x" * 10_000}, False),
    "another code": ({"code": "x"}, True),
    "a code with a NUL": ({"code": "\0"}, False),
    "a code beyond ASCII": ({"code": "é"}, False),
    "no issuer": ({"iss": None}, False),
    "the issuer of another provider": ({"iss": "https://accounts.example.com"}, False),
    "tokens of the front channel": ({"code": None, "id_token": "e30.e30.e30"}, False),
    "an error": ({"code": None, "error": "access_denied"}, False),
    "an error beside the code": ({"error": "access_denied"}, False),
    "markup": ({"error": "<script>", "error_description": "<script>\r\n\0\x1b"}, False),
}


@pytest.mark.parametrize("attack", QUERIES)
def test_a_changed_query_is_refused(app, browser, provider, attack):
    changes, is_sent_on = QUERIES[attack]

    response = browser.open(change_query(browser.authorize(), changes))

    assert refusal(response) == REFUSED
    assert "<script>" not in response.text
    assert (browser.token, count(app, User)) == (None, 0)
    assert ("/token" in provider.requests) == is_sent_on


@pytest.mark.parametrize("name", ["state", "code", "iss"])
def test_a_repeated_parameter_is_refused(browser, provider, name):
    callback = browser.authorize()

    repeated = f"{callback}&{urlencode({name: read_query(callback)[name]})}"

    assert refusal(browser.open(repeated)) == REFUSED
    assert "/token" not in provider.requests


@pytest.fixture
def post_answer(make_app, settings, provider, secrets):
    """Return a function that logs in at a provider that answers by a form of its own page."""
    entry = provider.settings(callbackHTTPMethod="post")
    app = make_app(**{**settings, "PROVIDERS": {"test": entry}})
    browser = Browser(app.test_client(), provider, secrets)

    def post_answer(**changes):
        callback = browser.authorize()
        form = {**read_query(callback), **changes}
        # A browser does not send its cookie with a form of another site.
        other = app.test_client(use_cookies=False)
        return browser, other.post(urlsplit(callback).path, data=form)

    return post_answer


def test_an_answer_by_a_form_is_repeated_by_the_browser(post_answer, secrets):
    browser, response = post_answer(user='{"name": "Ada"}')

    assert response.status_code == 303
    assert read_query(response.location).keys() == {"code", "state", "iss"}
    assert browser.open(response.location).headers["Location"] == "/welcome"


@pytest.mark.parametrize("name", ["code", "state", "iss", "error"])
def test_an_answer_by_a_form_makes_no_long_head(post_answer, name):
    _, response = post_answer(**{name: "x" * 90_000})

    assert response.status_code == 303
    assert len(response.location) < 1_000
    assert name not in read_query(response.location)


def test_the_longest_answer_by_a_form_fits_the_line_of_a_request(post_answer):
    longest = {"code": "%" * 4096, "state": "%" * 64, "iss": "%" * 255, "error": "%" * 64}

    browser, response = post_answer(**longest)

    assert read_query(response.location) == longest
    assert len(response.location) < 16_000
    assert refusal(browser.open(response.location)) == REFUSED


def test_an_answer_is_one_of_the_provider_that_was_asked(browser, provider, other_provider):
    """Mix-up (RFC 9700, 4.4): one of the providers is an attacker's."""
    as_other = browser.authorize().replace("/auth/test/", "/auth/other/")
    assert refusal(browser.open(as_other)) == REFUSED
    for begun, other in (("/auth/test", other_provider), ("/auth/other", provider)):
        mixed_up = change_query(browser.authorize(begun), {"iss": other.url})
        assert refusal(browser.open(mixed_up)) == REFUSED

    assert "/token" not in provider.requests + other_provider.requests


def test_a_login_is_none_after_ten_minutes(app, browser, provider):
    callback = browser.authorize()
    with app.app_context():
        db.session.execute(update(LoginFlow).values(expires_at=now() - timedelta(seconds=1)))
        db.session.commit()

    assert refusal(browser.open(callback)) == REFUSED
    assert "/token" not in provider.requests


def test_only_get_begins_and_ends_a_login(browser):
    for path in ("/auth/test", browser.authorize()):
        assert browser.client.post(path).status_code == 405


def test_what_is_sent_to_the_provider_cannot_be_guessed(make_browser):
    """OWASP ASVS 10.1.2: by each transaction, at least 128 bits."""
    first, second = (read_query(make_browser().begin().location) for _ in range(2))

    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name]
        assert len(first[name]) >= 43
    constant = {name: first[name] for name in first.keys() - {"state", "nonce", "code_challenge"}}
    assert constant == {
        "client_id": "ostiary",
        "code_challenge_method": "S256",
        "redirect_uri": "http://127.0.0.1:3000/auth/test/callback",
        "response_mode": "query",
        "response_type": "code",
        "scope": "openid email profile",
    }


def test_the_callback_address_is_that_of_the_settings(app, make_browser, provider):
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil"}

    location = make_browser().begin(headers=headers).location

    assert read_query(location)["redirect_uri"] == "http://127.0.0.1:3000/auth/test/callback"
    make_browser().log_in(headers=headers)
    assert provider.forms[0]["redirect_uri"] == "http://127.0.0.1:3000/auth/test/callback"


def test_no_parameter_leads_a_login_elsewhere(make_browser):
    for name in ("redirect", "redirect_uri", "returnTo", "next", "successRedirect", "callbackURL"):
        for target in ("//evil.example", "/\\evil.example", "https://evil.example", "javascript:0"):
            query = urlencode({name: target})
            browser = make_browser()
            callback = browser.authorize(f"/auth/test?{query}")

            response = browser.open(f"{callback}&{query}")

            assert response.headers["Location"] == "/welcome"


def test_the_cookie_of_a_login_tells_scripts_and_other_sites_nothing(make_app, settings):
    app = make_app(**settings, PUBLIC_URL="https://ostiary.example.com")

    response = app.test_client().get("/auth/test")

    (cookie,) = response.headers.getlist("Set-Cookie")
    text, *flags = cookie.split("; ")
    # With this prefix no other host of the domain can set it (login CSRF, session fixation).
    name, _, value = text.partition("=")
    assert name.startswith("__Host-")
    expected = {"HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/", "Secure"}
    assert {flag for flag in flags if not flag.startswith("Expires")} == expected
    assert len(value) >= 43
    assert value not in response.location
    assert response.headers["Cache-Control"] == "no-store"


def test_logins_are_throttled(make_app, settings):
    """Those that are begun, each of which is a row, and those that fail."""
    figures = {"limit": 2, "seconds": 60}
    throttles = {"provider_login": figures, "login_address": figures}
    app = make_app(**settings, THROTTLE_ENABLED=True, THROTTLES=throttles)

    def statuses(path):
        return [app.test_client().get(path).status_code for _ in range(4)]

    assert statuses("/auth/test") == [302, 302, 429, 429]
    assert count(app, LoginFlow) == 2
    assert statuses("/auth/test/callback?state=x&code=x") == [401, 401, 429, 429]
