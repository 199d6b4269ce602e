"""The page for setting a new password, to which the reset mail links."""

import re

import pytest

from tests.conftest import NEW, PASSWORD, login_status
from tests.support.rows import expire


def submit(client, token, password=NEW):
    return client.post("/reset-password", data={"access_token": token, "newPassword": password})


def test_the_link_shows_a_form_with_the_token(client, reset_token):
    response = client.get(f"/reset-password?access_token={reset_token}")

    assert response.status_code == 200
    assert response.mimetype == "text/html"
    assert f'name="access_token" value="{reset_token}"' in response.text
    assert 'name="newPassword"' in response.text
    assert 'aria-describedby="hint"' in response.text
    assert '<small id="hint">At least 8 characters.</small>' in response.text


def test_showing_the_form_does_not_use_up_the_token(client, api, reset_token):
    for _ in range(3):
        client.get(f"/reset-password?access_token={reset_token}")

    assert submit(client, reset_token).status_code == 200


def test_the_form_sets_the_password_and_ends_all_sessions(client, api, token, reset_token):
    response = submit(client, reset_token)

    assert response.status_code == 200
    assert "Your password is set" in response.text
    assert login_status(api, PASSWORD) == 401
    assert login_status(api, NEW) == 200
    assert api("GET", "/users/1", token=token).status_code == 401


def test_the_form_works_once(client, reset_token):
    submit(client, reset_token)

    response = submit(client, reset_token, "yet another long one")

    assert response.status_code == 401
    assert "does not work any more" in response.text


@pytest.mark.parametrize("query", ["", "?access_token=", "?access_token=" + "x" * 64])
def test_a_link_with_an_invalid_token_shows_an_error(client, reset_token, query):
    response = client.get(f"/reset-password{query}")

    assert response.status_code == 401
    assert "does not work any more" in response.text
    assert "<form" not in response.text


def test_an_expired_link_shows_an_error(app, client, reset_token):
    expire(app, reset_token)

    shown = client.get(f"/reset-password?access_token={reset_token}")

    assert shown.status_code == submit(client, reset_token).status_code == 401
    assert "does not work any more" in shown.text


def test_a_login_token_does_not_show_the_form(client, api, token):
    assert client.get(f"/reset-password?access_token={token}").status_code == 401
    assert submit(client, token).status_code == 401
    assert login_status(api, PASSWORD) == 200


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("", "can&#39;t be blank"),
        ("short", "is too short (minimum is 8 characters)"),
        ("password1", "is too common"),
        ("x" * 257, "is too long (maximum is 256 characters)"),
        ("ada@example.com", "must not be the email or the username"),
    ],
    ids=["empty", "short", "common", "long", "own email"],
)
def test_a_rejected_password_shows_the_form_again(client, reset_token, password, problem):
    response = submit(client, reset_token, password)

    assert response.status_code == 422
    assert f"The password {problem}." in response.text
    assert f'name="access_token" value="{reset_token}"' in response.text
    assert submit(client, reset_token).status_code == 200


def test_a_password_that_login_would_not_accept_is_rejected(client, api, reset_token):
    response = submit(client, reset_token, "correct\0horse battery")

    assert 400 <= response.status_code < 500
    assert login_status(api, PASSWORD) == 200


def test_markup_in_the_token_is_escaped(client):
    response = client.get("/reset-password?access_token=%22%3E%3Cscript%3E")

    assert "<script" not in response.text


@pytest.mark.parametrize("good", [True, False])
def test_the_page_forbids_scripts_and_external_resources(client, reset_token, good):
    token = reset_token if good else "x"

    headers = client.get(f"/reset-password?access_token={token}").headers

    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"


def test_a_template_of_the_project_may_have_a_style_by_a_nonce_of_its_own(client, reset_token):
    pages = [client.get(f"/reset-password?access_token={reset_token}") for _ in range(2)]

    policies = [page.headers["Content-Security-Policy"] for page in pages]
    nonces = {re.search(r"style-src 'self' 'nonce-([^']{20,})'", policy)[1] for policy in policies}
    assert len(nonces) == 2
