"""/users/logout with every method."""

import pytest

from tests.support.answers import refusal
from tests.support.rows import expire


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def test_every_method_logs_out(api, token, method):
    response = api(method, "/users/logout", token=token)

    assert response.status_code == 204
    assert response.data == b""
    assert api("GET", "/users/1", token=token).status_code == 401


def test_only_the_presented_token_is_deleted(api, token):
    other = api.login()["id"]

    api("POST", "/users/logout", token=token)

    assert api("GET", "/users/1", token=other).status_code == 200


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ({"json": {"sid": "TOKEN"}}, ""),
        ({"data": {"sid": "TOKEN"}}, ""),
        ({"headers": {"Authorization": "TOKEN"}}, ""),
        ({"headers": {"X-Access-Token": "TOKEN"}}, ""),
        ({}, "?access_token=TOKEN"),
    ],
    ids=["sid in JSON", "sid in a form", "header", "other header", "query"],
)
def test_the_token_is_accepted_by_every_transport(api, token, payload, where):
    filled = {
        kind: {name: value.replace("TOKEN", token) for name, value in values.items()}
        for kind, values in payload.items()
    }

    response = api("POST", f"/users/logout{where.replace('TOKEN', token)}", **filled)

    assert response.status_code == 204
    assert api("GET", "/users/1", token=token).status_code == 401


def test_sid_precedes_the_header(api, token):
    other = api.login()["id"]

    response = api("POST", "/users/logout", {"sid": other}, token=token)

    assert response.status_code == 204
    assert api("GET", "/users/1", token=other).status_code == 401
    assert api("GET", "/users/1", token=token).status_code == 200


@pytest.mark.parametrize("sid", ["", None], ids=["empty", "null"])
def test_an_empty_sid_counts_as_absent(api, token, sid):
    response = api("POST", "/users/logout", {"sid": sid}, token=token)

    assert response.status_code == 204


@pytest.mark.parametrize(
    "options",
    [{}, {"token": "x" * 64}, {"json": {"sid": "x" * 64}}, {"json": {"sid": 7}}],
    ids=["none", "unknown header", "unknown sid", "sid is a number"],
)
def test_no_or_unknown_token_is_401(api, options):
    response = api("POST", "/users/logout", **options)

    assert refusal(response) == (401, "ACCESS_TOKEN_REQUIRED")
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_a_second_logout_is_401(api, token):
    api("POST", "/users/logout", token=token)

    response = api("POST", "/users/logout", token=token)

    assert refusal(response) == (401, "ACCESS_TOKEN_REQUIRED")


def test_an_expired_token_is_401(app, api, token):
    expire(app, token)

    response = api("POST", "/users/logout", token=token)

    assert refusal(response) == (401, "INVALID_TOKEN")


@pytest.mark.parametrize("by", ["header", "sid"])
def test_a_reset_token_cannot_log_out(api, reset_token, by):
    options = {"token": reset_token} if by == "header" else {"json": {"sid": reset_token}}

    response = api("POST", "/users/logout", **options)

    assert refusal(response) == (401, "ACCESS_TOKEN_REQUIRED")
    assert (
        api(
            "POST", "/users/reset-password", {"newPassword": "another long one"}, token=reset_token
        ).status_code
        == 204
    )


def test_a_rejected_body_deletes_no_token(api, token):
    response = api("POST", "/users/logout", data="[]", content_type="application/json", token=token)

    assert refusal(response) == (400, "MALFORMED_JSON")
    assert api("GET", "/users/1", token=token).status_code == 200
