"""TOKEN_MIDDLEWARE: cookies, cross-site requests and the current-user literal."""

import pytest

from app.access.rules import AUTHENTICATED, EXECUTE, READ, WRITE, allow
from app.rest.resource import Resource
from app.rest.views.registration import register_resource
from app.todos.models import Todo
from app.todos.schemas import TodoSchema
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import refusal
from tests.support.rows import expire

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def app(shared_app):
    return shared_app(TOKEN_MIDDLEWARE={"currentUserLiteral": "me"})


@pytest.fixture
def client(app):
    """A client that is no browser and keeps no cookies."""
    return app.test_client(use_cookies=False)


@pytest.fixture
def browser(app, api, token):
    """A client whose only token is its cookie."""
    browser = app.test_client()
    browser.set_cookie("access_token", token)
    return Api(browser, api.secrets)


def a_browser(app):
    """Return a client that sends what browsers send with requests of this site's pages."""
    client = app.test_client()
    client.environ_base["HTTP_SEC_FETCH_SITE"] = "same-origin"
    return client


def test_login_sets_a_cookie(api):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD, "ttl": 600}

    response = api("POST", "/users/login", credentials, headers=SAME_SITE)

    api.secrets.append(response.json["id"])
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith(f"access_token={response.json['id']}; ")
    assert {"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(cookie.split("; "))
    assert "Secure" not in cookie


@pytest.mark.parametrize(
    ("remember_me", "persistent"),
    [(False, False), ("false", False), (True, True), (None, True), (0, True), ([], True)],
)
def test_without_remember_me_the_cookie_ends_with_the_browser(api, remember_me, persistent):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD, "rememberMe": remember_me}

    response = api("POST", "/users/login", credentials, headers=SAME_SITE)

    api.secrets.append(response.json["id"])
    assert ("Max-Age=1209600" in response.headers["Set-Cookie"]) == persistent
    assert ("Expires" in response.headers["Set-Cookie"]) == persistent
    assert response.json["ttl"] == 1209600


@pytest.mark.parametrize(
    ("url", "path"),
    [("https://example.com", "/"), ("https://example.com/app", "/app"), ("http://a/b/c", "/b/c")],
)
def test_the_path_of_the_cookie_is_that_of_the_public_url(shared_app, secrets, url, path):
    app = shared_app(
        PUBLIC_URL=url, TOKEN_MIDDLEWARE={}, TOKEN_SLIDING=True, TOKEN_TOUCH_INTERVAL=0
    )
    browser = Api(a_browser(app), secrets)
    proxied = Api(app.test_client(use_cookies=False), secrets)
    browser.register()

    token = browser.login()["id"]
    cookie = browser.client.get_cookie("access_token", "localhost", path)
    # The service sees paths below that of the proxy.
    in_the_cookie = {"headers": {**SAME_SITE, "Cookie": f"access_token={token}"}}
    renewed = proxied("GET", "/users/1", **in_the_cookie)
    ended = proxied("POST", "/users/logout", **in_the_cookie)

    assert cookie.value == token
    for response in (renewed, ended):
        [header] = response.headers.getlist("Set-Cookie")
        assert f"Path={path}" in header.split("; ")
    assert "Max-Age=0" in ended.headers["Set-Cookie"]
    # Other applications of the host do not get it.
    assert browser.client.get_cookie("access_token", "localhost", "/other") is None


def test_the_cookie_is_secure_if_the_public_url_is_https(make_app, secrets):
    app = make_app(TOKEN_MIDDLEWARE={}, PUBLIC_URL="HTTPS://todo.example.com")
    api = Api(app.test_client(), secrets)
    api.register()

    credentials = {"email": "ada@example.com", "password": PASSWORD}

    cookie = api("POST", "/users/login", credentials, headers=SAME_SITE)

    secrets.append(cookie.json["id"])
    assert "Secure" in cookie.headers["Set-Cookie"].split("; ")


def test_a_failed_login_sets_no_cookie(api):
    response = api("POST", "/users/login", {"email": "eve@example.com", "password": "x"})

    assert "Set-Cookie" not in response.headers


def test_the_cookie_is_accepted_as_a_token(browser):
    assert browser("GET", "/users/1").status_code == 200


def test_a_browser_is_logged_in_after_login(app, api, secrets):
    api.register()
    browser = Api(a_browser(app), secrets)

    browser.login()

    assert browser("GET", "/users/1").status_code == 200


def test_logout_clears_the_cookie(browser, token):
    response = browser("POST", "/users/logout", headers=SAME_SITE)

    assert response.status_code == 204
    assert browser.client.get_cookie("access_token") is None
    assert browser("GET", "/users/1", token=token).status_code == 401


ORIGINS = [
    ({"Sec-Fetch-Site": "same-origin"}, True),
    ({"Sec-Fetch-Site": "none"}, True),
    ({"Sec-Fetch-Site": "same-site"}, False),
    ({"Sec-Fetch-Site": "cross-site"}, False),
    ({"Sec-Fetch-Site": ""}, False),
    ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:3000"}, False),
    ({"Origin": "http://127.0.0.1:3000"}, True),
    ({"Origin": "http://evil.example"}, False),
    ({"Origin": "https://127.0.0.1:3000"}, False),
    ({"Origin": "http://127.0.0.1"}, False),
    ({"Origin": "null"}, False),
    ({}, False),
]


@pytest.mark.parametrize(("headers", "allowed"), ORIGINS, ids=str)
def test_unsafe_requests_with_a_cookie_must_be_same_origin(browser, headers, allowed):
    response = browser("POST", "/todos", {"title": "x"}, headers=headers)

    assert response.status_code == (200 if allowed else 403)


@pytest.mark.parametrize("headers", [{}, {"Origin": "null"}], ids=str)
def test_the_pages_of_mails_act_by_their_token_whatever_the_cookie(browser, reset_token, headers):
    form = {"access_token": reset_token, "newPassword": NEW}
    browser.secrets.append(NEW)

    response = browser.client.post("/reset-password", data=form, headers=headers)

    assert (response.status_code, response.mimetype) == (200, "text/html")


def test_a_cross_site_login_sets_no_cookie(api):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    answers = [api("POST", "/users/login", credentials, headers=headers) for headers, _ in ORIGINS]

    api.secrets += [answer.json["id"] for answer in answers]
    # Nor does one by a client that is no browser, which could change nothing with the cookie.
    expected = [allowed for _, allowed in ORIGINS]
    assert ["Set-Cookie" in answer.headers for answer in answers] == expected


def test_a_client_that_keeps_cookies_and_is_no_browser_logs_in_again(browser):
    new = {"email": "new@example.com", "password": PASSWORD}

    registered = browser("POST", "/users", new)
    login = browser("POST", "/users/login", new)
    reset = browser("POST", "/users/reset", {"email": "new@example.com"})
    other_call = browser("POST", "/todos", {"title": "x"})

    browser.secrets.append(login.json["id"])
    assert [answer.status_code for answer in (registered, login, reset)] == [200] * 3
    assert refusal(other_call) == (403, "ACCESS_DENIED")
    # The calls were anonymous, and left the cookie as it was.
    assert browser("GET", "/users/1").status_code == 200
    assert browser("GET", f"/users/{registered.json['id']}").status_code == 403


@pytest.mark.parametrize("headers", [headers for headers, allowed in ORIGINS if not allowed][:-1])
def test_a_login_of_another_site_with_a_cookie_is_refused(browser, headers):
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    response = browser("POST", "/users/login", credentials, headers=headers)

    assert refusal(response) == (403, "ACCESS_DENIED")


def test_where_only_admins_register_users_no_cookie_counts_without_its_site(shared_app, browser):
    app = shared_app(TOKEN_MIDDLEWARE={}, REGISTRATION_OPEN=False)
    cookie = browser.client.get_cookie("access_token")
    client = app.test_client(use_cookies=False)

    response = client.post(
        "/api/users",
        json={"email": "new@example.com", "password": PASSWORD},
        headers={"Cookie": f"access_token={cookie.value}"},
    )

    assert response.status_code == 401


def test_the_origin_is_compared_as_browsers_send_it(make_app, token):
    urls = {
        "HTTPS://Todo.Example.com:443": "https://todo.example.com",
        "http://TODO.example.com:80/base": "http://todo.example.com",
        "http://[::1]:8080": "http://[::1]:8080",
    }
    for url, origin in urls.items():
        client = make_app(TOKEN_MIDDLEWARE={}, PUBLIC_URL=url).test_client()
        client.set_cookie("access_token", token)

        response = client.post("/api/todos", json={"title": "x"}, headers={"Origin": origin})

        assert response.status_code == 200, url


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/users/1", {"username": "eve"}),
        ("PUT", "/users/1", {"email": "eve@example.com"}),
        ("DELETE", "/users/1", None),
        ("POST", "/users/change-password", {"oldPassword": PASSWORD, "newPassword": "x" * 9}),
        ("GET", "/users/logout", None),
        ("HEAD", "/users/logout", None),
        ("POST", "/users/logout", None),
    ],
)
def test_cross_site_requests_with_a_cookie_change_nothing(browser, token, method, path, body):
    before = browser("GET", "/users/1").json

    response = browser(method, path, body, headers={"Sec-Fetch-Site": "cross-site"})

    assert response.status_code == 403
    assert browser("GET", "/users/1", token=token).json == before


def test_a_rejected_cookie_is_403_in_the_error_format(browser):
    response = browser("DELETE", "/users/1", headers={"Origin": "http://evil.example"})

    assert refusal(response) == (403, "ACCESS_DENIED")


def test_safe_requests_with_a_cookie_need_no_origin(browser):
    answers = [browser("GET", "/users/1", headers=headers) for headers, _ in ORIGINS]

    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.parametrize(("access", "allowed"), [(READ, True), (WRITE, False), (EXECUTE, False)])
def test_what_an_own_endpoint_does_decides_and_not_its_verb(make_app, api, token, access, allowed):
    reports = Resource(
        name="reports",
        singular="report",
        model=Todo,
        schema=TodoSchema,
        rules=lambda _settings: [allow(AUTHENTICATED, "send")],
    )
    called = []
    reports.endpoint("send", access, "GET /send")(lambda: called.append("send"))
    app = make_app(TOKEN_MIDDLEWARE={})
    register_resource(app, reports)
    browser = app.test_client()
    browser.set_cookie("access_token", token)

    cross = {"Sec-Fetch-Site": "cross-site"}
    answers = [
        browser.open("/api/reports/send", method=verb, headers=cross) for verb in ("GET", "HEAD")
    ]

    assert {answer.status_code for answer in answers} == {204 if allowed else 403}
    assert called == ["send"] * (2 * allowed)
    assert browser.get("/api/reports/send", headers=SAME_SITE).status_code == 204


def test_a_header_needs_no_origin_even_beside_a_cookie(browser, token):
    response = browser(
        "POST", "/todos", {"title": "x"}, token=token, headers={"Sec-Fetch-Site": "cross-site"}
    )

    assert response.status_code == 200


def test_a_header_precedes_the_cookie(browser):
    assert browser("GET", "/users/1", token="x" * 64).status_code == 401


def test_login_with_an_invalid_cookie_succeeds(browser, token):
    browser.client.set_cookie("access_token", "x" * 64)

    assert browser.login()["userId"] == 1


def test_a_repeated_cookie_counts_as_absent(client, token):
    response = client.get(
        "/api/users/1", headers={"Cookie": f"access_token={token}; access_token={token}"}
    )

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


def test_additional_names_are_accepted_and_the_first_cookie_name_is_set(make_app, api, token):
    names = {"cookies": ["sid", "old"], "headers": ["X-Token"], "params": ["key"]}
    client = make_app(TOKEN_MIDDLEWARE=names).test_client(use_cookies=False)

    answers = [
        client.get("/api/users/1", headers={"X-Token": token}),
        client.get(f"/api/users/1?key={token}"),
        client.get("/api/users/1", headers={"Cookie": f"sid={token}"}),
        client.get("/api/users/1", headers={"Cookie": f"old={token}"}),
    ]

    assert [answer.status_code for answer in answers] == [200] * 4
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    login = client.post("/api/users/login", json=credentials, headers=SAME_SITE)
    api.secrets.append(login.json["id"])
    assert login.headers["Set-Cookie"].startswith("sid=")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/users/me", 200),
        ("GET", "/users/me/accessTokens", 200),
        ("PATCH", "/users/me", 200),
        ("DELETE", "/users/me/accessTokens/x", 404),
        ("GET", "/users/mee", 403),
        ("GET", "/users/ME", 403),
        ("GET", "/todos/me", 404),
    ],
)
def test_the_literal_is_the_callers_id(api, token, method, path, status):
    body = {} if method == "PATCH" else None

    assert api(method, path, body, token=token).status_code == status


def test_the_literal_never_selects_another_user(api, token):
    other = api.newcomer("bob@example.com")

    assert api("GET", "/users/me", token=token).json["email"] == "ada@example.com"
    assert api("GET", "/users/me", token=other).json["email"] == "bob@example.com"


@pytest.mark.parametrize("kind", ["none", "unknown", "expired", "reset"])
def test_the_literal_without_a_token_is_401(app, api, token, reset_token, kind):
    if kind == "expired":
        expire(app, token)
    sent = {"none": None, "unknown": "x" * 64, "expired": token, "reset": reset_token}[kind]

    response = api("GET", "/users/me", token=sent)

    code = "INVALID_TOKEN" if kind == "expired" else "AUTHORIZATION_REQUIRED"
    assert refusal(response) == (401, code)


def test_the_literal_is_not_replaced_by_default(make_app, api, token):
    client = make_app(TOKEN_MIDDLEWARE={}).test_client()

    response = client.get("/api/users/me", headers={"Authorization": token})

    assert refusal(response) == (403, "ACCESS_DENIED")
