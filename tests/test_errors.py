"""The error format, and the headers of every response."""

import re

import pytest
from flask import abort, request
from werkzeug.exceptions import default_exceptions

from tests.conftest import PASSWORD
from tests.support.answers import refusal

# Rendered from the status alone; the rest of the table needs no detail.
CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "TOO_MANY_REQUESTS",
}


def failing(app, error, path="/failing"):
    """Let a path of the app fail."""

    @app.get(path)
    def fail(**_arguments):
        raise error


@pytest.fixture
def lenient(make_app):
    """An app that answers unexpected errors instead of raising them into the test."""
    return make_app(TESTING=False)


def test_every_status_has_the_error_format(make_app):
    app = make_app()
    app.add_url_rule(
        "/<int:status>", "failing", lambda status: abort(status, description="the reason")
    )
    client = app.test_client()

    for status in sorted(default_exceptions):
        check_shape(client.get(f"/{status}"), status)


def check_shape(response, status):
    assert response.status_code == status
    assert response.mimetype == "application/json"
    body = response.json
    assert list(body) == ["status", "message", "error"]
    assert body["status"] == body["error"]["statusCode"] == status
    assert body["message"] == body["error"]["message"]
    if status < 500:
        assert body["message"] == "the reason"
        assert refusal(response)[1] == CODES.get(status, body["error"]["code"])
        assert re.fullmatch(r"[A-Z_']+", body["error"]["code"])
    else:
        assert set(body["error"]) == {"statusCode", "name", "message"}
        assert "the reason" not in response.text


@pytest.mark.parametrize(
    "error", [ValueError("secret"), KeyError("secret"), RuntimeError("secret")], ids=repr
)
def test_an_unexpected_error_has_no_details_and_is_logged(lenient, caplog, error):
    failing(lenient, error)

    response = lenient.test_client().get("/failing")

    assert response.status_code == 500
    assert response.json == {
        "status": 500,
        "message": "Internal Server Error",
        "error": {
            "statusCode": 500,
            "name": "InternalServerError",
            "message": "Internal Server Error",
        },
    }
    assert type(error).__name__ in caplog.text


def test_an_unexpected_error_is_logged_without_its_path(lenient, caplog):
    failing(lenient, ValueError, "/failing/<path:rest>")

    lenient.test_client().get("/failing/x%3Faccess_token=planted?access_token=planted")

    assert "failed to answer fail" in caplog.text
    assert "planted" not in caplog.text


def test_an_unexpected_error_has_the_headers_too(lenient):
    failing(lenient, ValueError("secret"))

    response = lenient.test_client().get("/failing")

    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Request-Id"]


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/api/users/1/nowhere"])
def test_an_unknown_path_is_404(client, path):
    response = client.get(path)

    assert refusal(response) == (404, "NOT_FOUND")
    assert response.json["message"] == f"There is no method to handle GET {path}"


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/reset-password"), ("BREW", "/api/users/logout"), ("BREW", "/api/todos/1")],
)
def test_an_unknown_method_is_405_and_lists_the_allowed_ones(client, method, path):
    response = client.open(path, method=method)

    assert refusal(response) == (405, "METHOD_NOT_ALLOWED")
    assert "GET" in response.headers["Allow"].split(", ")


@pytest.mark.parametrize(("size", "status"), [(102400, 401), (102401, 413), (10**7, 413)], ids=str)
def test_a_large_body_is_413(client, size, status):
    start, end = b'{"email": "ada@example.com", "password": "', b'"}'
    body = start + b"x" * (size - len(start) - len(end)) + end

    response = client.post("/api/users/login", data=body, content_type="application/json")

    assert refusal(response)[0] == status


def test_the_limit_of_the_body_can_be_configured(make_app):
    client = make_app(MAX_BODY_BYTES=50).test_client()

    response = client.post(
        "/api/users/login", json={"email": "ada@example.com", "password": "x" * 50}
    )

    assert refusal(response) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "", "x"]
)
def test_another_media_type_is_415(client, content_type):
    body = '{"email": "ada@example.com", "password": "x"}'

    response = client.post("/api/users/login", data=body, content_type=content_type)

    assert refusal(response) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert "Content-Type: application/json" in response.json["message"]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/json; x"])
def test_no_body_is_an_empty_object(client, content_type):
    response = client.post("/api/users/login", content_type=content_type)

    assert refusal(response) == (400, "USERNAME_EMAIL_REQUIRED")


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "application/vnd.api+json", "APPLICATION/JSON"],
)
def test_other_json_media_types_are_accepted(client, content_type):
    response = client.post("/api/users/login", data="{}", content_type=content_type)

    assert refusal(response) == (400, "USERNAME_EMAIL_REQUIRED")


def test_json_sent_as_a_form_is_415_with_a_hint(client):
    """What `curl -d '{...}'` does."""
    response = client.post(
        "/api/users/login",
        data='{"email": "ada@example.com", "password": "x"}',
        content_type="application/x-www-form-urlencoded",
    )

    assert refusal(response) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert "application/json" in response.json["message"]


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/reset-password", {}, 401),
        ("GET", "/nowhere", {}, 404),
        ("DELETE", "/api/todos", {}, 405),
        ("OPTIONS", "/api/todos", {}, 200),
        ("POST", "/api/users/login", {"json": {}}, 400),
        ("POST", "/api/users/reset", {"json": {"email": "ada@example.com"}}, 200),
        ("GET", "/api/users/1", {}, 401),
    ],
)
def test_every_response_has_the_headers(client, method, path, options, status):
    response = client.open(path, method=method, **options)

    assert response.status_code == status
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert re.fullmatch(r"[0-9a-f]{32}", response.headers["X-Request-Id"])


@pytest.mark.parametrize("given", ["a", "3f2a-77.x_Y", "x" * 64])
def test_a_valid_request_id_is_returned(client, given):
    response = client.get("/nowhere", headers={"X-Request-Id": given})

    assert response.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "<script>", "\xe9", 'a"', "a;b"], ids=ascii)
def test_any_other_request_id_is_replaced(client, given):
    response = client.get("/nowhere", headers={"X-Request-Id": given})

    assert re.fullmatch(r"[0-9a-f]{32}", response.headers["X-Request-Id"])


def test_details_say_what_is_wrong_with_each_field(api):
    response = api("POST", "/users", {"email": "ada", "password": PASSWORD, "colour": "red"})

    details = response.json["error"]["details"]
    assert details["messages"] == {
        "email": ["is not an email address"],
        "colour": ["is not a property of this model"],
    }
    assert details["codes"] == {"email": ["invalid"], "colour": ["unknown"]}
    assert "`email` is not an email address" in response.json["message"]
    assert response.json["error"]["name"] == "ValidationError"


@pytest.mark.parametrize(
    ("proxies", "address"), [(0, "127.0.0.1"), (1, "203.0.113.9"), (2, "198.51.100.7")]
)
def test_forwarded_headers_count_only_from_configured_proxies(make_app, proxies, address):
    app = make_app(TRUSTED_PROXIES=proxies)
    app.add_url_rule("/caller", view_func=lambda: request.remote_addr)

    response = app.test_client().get(
        "/caller", headers={"X-Forwarded-For": "192.0.2.1, 198.51.100.7, 203.0.113.9"}
    )

    assert response.text == address


@pytest.mark.parametrize("before", ['"', '192.0.2.1, "', '"192.0.2.1\\', '"192.0.2.1" "', ","])
def test_what_a_proxy_adds_counts_whatever_the_client_has_sent(make_app, before):
    app = make_app(TRUSTED_PROXIES=1)
    app.add_url_rule("/caller", view_func=lambda: request.remote_addr)

    sent = {"X-Forwarded-For": f"{before}, 203.0.113.9"}

    assert app.test_client().get("/caller", headers=sent).text == "203.0.113.9"


@pytest.mark.parametrize(("path", "status"), [("/api//todos", 401), ("/api/todos/1//owner", 404)])
def test_doubled_slashes_are_no_redirect_with_the_token(client, path, status):
    response = client.get(f"{path}?access_token=secret")

    assert response.status_code == status
    assert "Location" not in response.headers
    assert "secret" not in response.text
