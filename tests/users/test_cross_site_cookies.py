"""COOKIE_SAMESITE: cookies for front ends on another site, and nobody else."""

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD, Api
from tests.support.answers import refusal

API, PAGE = "https://api.example.com", "https://app.example.net"
SETTINGS = {
    "PUBLIC_URL": API,
    "CORS_ORIGINS": [PAGE],
    "TOKEN_MIDDLEWARE": {},
    "COOKIE_SAMESITE": "None",
}
CROSS = {"Sec-Fetch-Site": "cross-site"}
FROM_PAGE = {**CROSS, "Origin": PAGE, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
OPENED = {**CROSS, "Sec-Fetch-Mode": "navigate"}
# Headers, and whether a write, a read and the cookie of a login are permitted.
REQUESTS = [
    (FROM_PAGE, (True, True, True)),
    ({"Origin": PAGE}, (True, True, True)),
    ({"Origin": API}, (True, True, True)),
    ({"Sec-Fetch-Site": "same-origin", "Origin": API}, (True, True, True)),
    ({"Sec-Fetch-Site": "none"}, (True, True, True)),
    ({**CROSS, "Origin": "https://evil.example"}, (False, False, False)),
    ({"Origin": "https://evil.example"}, (False, False, False)),
    ({**CROSS, "Origin": "null"}, (False, False, False)),
    ({"Origin": "null"}, (False, False, False)),
    ({**CROSS, "Origin": "http://app.example.net"}, (False, False, False)),
    ({**CROSS, "Origin": f"{PAGE}:8443"}, (False, False, False)),
    ({**CROSS, "Origin": f"{PAGE}.evil.example"}, (False, False, False)),
    ({**CROSS, "Origin": f"{PAGE}/"}, (False, False, False)),
    ({**CROSS, "Origin": f"{PAGE}, https://evil.example"}, (False, False, False)),
    ({**CROSS, "Origin": "*"}, (False, False, False)),
    # A picture or a script in a page, and a frame.
    ({**CROSS, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, (False, False, False)),
    ({**OPENED, "Sec-Fetch-Dest": "iframe"}, (False, False, False)),
    ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, (False, False, False)),
    # A link to a page, and a form in one.
    ({**OPENED, "Sec-Fetch-Dest": "document"}, (False, True, False)),
    ({**OPENED, "Sec-Fetch-Dest": "document", "Origin": "null"}, (False, True, False)),
    # No browser: its reads are permitted as with "Lax".
    ({}, (False, True, False)),
]


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def browser(app, api, token):
    """A client whose only token is its cookie."""
    browser = app.test_client()
    browser.set_cookie("access_token", token, domain="localhost")
    return Api(browser, api.secrets)


def test_cookies_are_sent_with_requests_of_other_sites(app, api):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    login = api("POST", "/users/login", credentials, headers=FROM_PAGE)

    api.secrets.append(login.json["id"])
    assert {"HttpOnly", "SameSite=None", "Secure"} <= {*login.headers["Set-Cookie"].split("; ")}
    assert login.headers["Access-Control-Allow-Origin"] == PAGE
    assert login.headers["Access-Control-Allow-Credentials"] == "true"


@pytest.mark.parametrize(("headers", "allowed"), REQUESTS, ids=str)
def test_the_cookie_counts_for_exactly_the_origins_that_are_listed(browser, headers, allowed):
    write = browser("POST", "/todos", {"title": "x"}, headers=headers)
    read = browser("GET", "/users/1", headers=headers)
    logout = browser("GET", "/users/logout", headers=headers)

    assert [answer.status_code for answer in (write, read)] == [
        200 if each else 403 for each in allowed[:2]
    ]
    assert logout.status_code == (204 if allowed[0] else 403)
    for answer in (write, read, logout):
        if answer.status_code == 403:
            assert refusal(answer) == (403, "ACCESS_DENIED")
            assert API in answer.json["message"]


@pytest.mark.parametrize(("headers", "allowed"), REQUESTS, ids=str)
def test_a_login_of_another_site_sets_no_cookie(api, headers, allowed):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    login = api("POST", "/users/login", credentials, headers=headers)

    api.secrets.append(login.json["id"])
    assert ("Set-Cookie" in login.headers) == allowed[2]


@pytest.mark.parametrize("origin", [PAGE, "https://evil.example", "null", f"{PAGE}:8443"])
def test_a_preflight_needs_no_cookie(app, origin):
    preflight = app.test_client(use_cookies=False).options(
        "/api/todos",
        headers={
            **CROSS,
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        },
    )

    assert preflight.status_code == 200
    assert preflight.headers.get("Access-Control-Allow-Origin") == (
        PAGE if origin == PAGE else None
    )


def test_a_header_needs_no_origin(api, token):
    headers = {**CROSS, "Origin": "https://evil.example"}

    assert api("GET", "/users/1", token=token, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"PUBLIC_URL": "http://127.0.0.1:3000"}, "must not be None unless PUBLIC_URL is https"),
        ({"CORS_ORIGINS": []}, "must not be None unless CORS_ORIGINS has the origins"),
        (
            {"CORS_ORIGINS": ["*"], "TOKEN_MIDDLEWARE": None},
            "must not be None unless CORS_ORIGINS has the origins",
        ),
        ({"COOKIE_SAMESITE": "none"}, "Must be one of: Lax, None."),
        ({"COOKIE_SAMESITE": "Strict"}, "Must be one of: Lax, None."),
    ],
)
def test_what_would_not_work_stops_the_start(make_app, settings, message):
    with pytest.raises(ConfigurationError, match=f"COOKIE_SAMESITE cannot be used: {message}"):
        make_app(**SETTINGS | settings)
