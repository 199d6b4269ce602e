"""Cross-origin resource sharing: pages of other origins, and what browsers do for them."""

import json

import pytest
from flask import Flask

from app.problems import ConfigurationError
from tests.conftest import PASSWORD
from tests.support.live import serve_app

LISTED, OTHER = "https://app.example.com", "https://evil.example"
CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}
PREFLIGHT = {
    "Access-Control-Request-Method": "PATCH",
    "Access-Control-Request-Headers": "authorization, content-type, filter, if-match, where",
}


def cors_headers(response):
    return {
        name: value
        for name, value in response.headers.items()
        if name.startswith("Access-Control-") or name == "Vary"
    }


def test_without_the_setting_no_answer_is_for_other_origins(client):
    preflight = client.options("/api/todos/1", headers={"Origin": LISTED, **PREFLIGHT})
    answer = client.get("/api/todos", headers={"Origin": LISTED})

    assert cors_headers(preflight) == {}
    assert cors_headers(answer) == {}


def test_a_listed_origin_may_call_and_read_headers(shared_app):
    client = shared_app(
        CORS_ORIGINS=["https://App.Example.com:443", "http://[::1]:8100"]
    ).test_client()

    preflight = client.options("/api/todos/1", headers={"Origin": LISTED, **PREFLIGHT})
    refused = client.get("/api/todos", headers={"Origin": LISTED})
    ipv6 = client.get("/api/todos", headers={"Origin": "http://[::1]:8100"})

    assert preflight.status_code == 200
    allowed = cors_headers(preflight)
    assert allowed["Access-Control-Allow-Origin"] == LISTED
    assert "PATCH" in allowed["Access-Control-Allow-Methods"]
    requested = PREFLIGHT["Access-Control-Request-Headers"]
    assert allowed["Access-Control-Allow-Headers"] == requested
    assert allowed["Access-Control-Max-Age"] == "600"
    assert refused.status_code == 401
    assert cors_headers(refused) == {
        "Access-Control-Allow-Origin": LISTED,
        "Access-Control-Expose-Headers": "ETag, Idempotency-Replayed, Link, Retry-After,"
        " X-Database-Position, X-Request-Id, X-Total-Count",
        "Vary": "Origin",
    }
    assert ipv6.headers["Access-Control-Allow-Origin"] == "http://[::1]:8100"


@pytest.mark.parametrize(
    "origin",
    [
        OTHER,
        "https://app.example.com.evil.example",
        "https://app-example.com",
        "null",
        f"{LISTED}\\n",
    ],
)
def test_other_origins_get_no_permission(shared_app, origin):
    client = shared_app(
        CORS_ORIGINS=["https://App.Example.com:443", "http://[::1]:8100"]
    ).test_client()

    preflight = client.options("/api/todos/1", headers={"Origin": origin, **PREFLIGHT})
    answer = client.get("/api/todos", headers={"Origin": origin})

    assert "Access-Control-Allow-Origin" not in preflight.headers
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_an_answer_by_a_header_varies_with_it_beside_the_origin(shared_app):
    client = shared_app(
        CORS_ORIGINS=["https://App.Example.com:443", "http://[::1]:8100"],
        ACLS={"todos": [{"principalId": "$everyone", "permission": "ALLOW"}]},
    ).test_client()

    answer = client.get("/api/todos", headers={"Origin": LISTED, "filter": "{}"})

    assert answer.status_code == 200
    assert sorted(answer.headers.getlist("Vary")) == ["Origin", "filter"]


def test_pages_outside_of_the_api_are_not_shared(shared_app):
    client = shared_app(CORS_ORIGINS=["*"]).test_client()

    for path in ("/reset-password", "/explorer", "/health", "/apiary"):
        assert cors_headers(client.get(path, headers={"Origin": OTHER})) == {}


def test_every_origin_may_call_without_cookies(shared_app):
    answer = (
        shared_app(CORS_ORIGINS=["*"])
        .test_client()
        .get("/api/openapi.json", headers={"Origin": OTHER})
    )

    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"CORS_ORIGINS": ["*"], "TOKEN_MIDDLEWARE": {}},
            "must not have \\* with TOKEN_MIDDLEWARE",
        ),
        ({"CORS_ORIGINS": ["app.example.com"]}, "must be an origin"),
        ({"CORS_ORIGINS": ["https://app.example.com/"]}, "must be an origin"),
        ({"CORS_ORIGINS": ["https://*.example.com"]}, "must be an origin"),
        ({"CORS_ORIGINS": ["https://ada@example.com"]}, "must be an origin"),
        ({"CORS_ORIGINS": ["null"]}, "must be an origin"),
    ],
    ids=str,
)
def test_origins_that_cannot_be_meant_stop_the_start(make_app, settings, problem):
    with pytest.raises(ConfigurationError, match=problem):
        make_app(**settings)


@pytest.fixture
def pages():
    """A web page on each of two origins, which are other ports of one site."""
    blank = Flask(__name__)
    blank.add_url_rule("/", view_func=lambda: "<!doctype html><title>An application</title>")
    with serve_app(blank) as listed, serve_app(blank) as other:
        yield listed, other


CALL = """async ([url, method, value, token, more]) => {
    const body = value && JSON.stringify(value);
    const own = {"Content-Type": "application/json", ...(token && {Authorization: token})};
    const headers = {...own, ...more};
    try {
        const credentials = token ? "omit" : "include";
        const answer = await fetch(url, {method, headers, credentials, body});
        const id = answer.headers.get("X-Request-Id");
        return {status: answer.status, body: await answer.json(), id};
    } catch (error) {
        return {blocked: error.message};
    }
}"""


@pytest.mark.live
def test_an_application_in_a_browser_works_with_header_tokens(browser, pages, make_app):
    listed, other = pages
    app = make_app(CORS_ORIGINS=[listed])

    with serve_app(app) as api, browser.new_context() as context:
        page = context.new_page()

        def call(method, path, body=None, token="none", headers=None):
            return page.evaluate(CALL, [f"{api}/api{path}", method, body, token, headers])

        page.goto(listed)
        registered = call("POST", "/users", CREDENTIALS)
        token = call("POST", "/users/login", CREDENTIALS)["body"]["id"]
        created = call("POST", "/todos", {"title": "Water the plants"}, token)
        changed = call("PATCH", f"/todos/{created['body']['id']}", {"isComplete": True}, token)
        call("POST", "/todos", {"title": "Café"}, token)
        where = {"title": "Café"}
        counted = call("GET", "/todos/count", None, token, {"where": json.dumps(where)})
        by_filter = {"filter": json.dumps({"where": where}, ensure_ascii=False)}
        found = call("GET", "/todos", None, token, by_filter)
        page.goto(other)
        blocked = call("GET", "/todos", None, token)

    assert [each["status"] for each in (registered, created, changed)] == [200, 200, 200]
    assert changed["body"]["isComplete"] is True
    assert changed["id"]
    assert counted["body"] == {"count": 1}
    assert [each["title"] for each in found["body"]] == ["Café"]
    assert blocked == {"blocked": "Failed to fetch"}


@pytest.mark.live
def test_an_application_in_a_browser_works_with_the_cookie(browser, pages, make_app):
    listed, other = pages
    app = make_app(CORS_ORIGINS=[listed], TOKEN_MIDDLEWARE={"currentUserLiteral": "me"})

    with serve_app(app) as api, browser.new_context() as context:
        page = context.new_page()

        def call(method, path, body=None):
            return page.evaluate(CALL, [f"{api}/api{path}", method, body, None])

        page.goto(listed)
        call("POST", "/users", CREDENTIALS)
        call("POST", "/users/login", CREDENTIALS)
        created = call("POST", "/todos", {"title": "Water the plants"})
        me = call("GET", "/users/me")
        page.goto(other)
        blocked = [call("GET", "/users/me"), call("DELETE", f"/todos/{created['body']['id']}")]
        page.goto(listed)
        todos = call("GET", "/todos")

    assert [created["status"], me["status"]] == [200, 200]
    assert me["body"]["email"] == CREDENTIALS["email"]
    assert blocked == [{"blocked": "Failed to fetch"}] * 2
    assert todos["body"] == [created["body"]]
