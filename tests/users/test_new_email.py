"""Changing the email requires the password or a recent login, on every endpoint."""

import argon2
import pytest

from app.access import roles
from app.signals import email_changed
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.rows import make_old

NEW_EMAIL = {"email": "countess@example.com"}
OWN = [("PATCH", "/users/1"), ("PUT", "/users/1"), ("POST", "/users/1/replace")]


@pytest.fixture
def old_token(app, token):
    """The token of the user with id 1, who logged in more than five minutes ago."""
    make_old(app, token)
    return token


@pytest.fixture
def admin_token(app, api):
    """The token of an admin, the user with id 1, who logged in more than five minutes ago."""
    token = api.newcomer("admin@example.com")
    with app.app_context():
        roles.grant(1, "admin")
    make_old(app, token)
    return token


@pytest.fixture
def told(app):
    """The payloads of the emailChanged events of this app."""
    events = []

    def record(sender, info):
        events.append((info["oldEmail"], info["user"].email))

    with email_changed.connected_to(record, sender=app):
        yield events


def email_of(api, token, user_id=1):
    return api("GET", f"/users/{user_id}", token=token).json["email"]


@pytest.mark.parametrize(("method", "path"), OWN)
def test_an_old_session_without_a_password_cannot_change_the_email(
    api, old_token, told, method, path
):
    missing = api(method, path, NEW_EMAIL, token=old_token)
    wrong = api(method, path, {**NEW_EMAIL, "password": "wrong"}, token=old_token)

    assert field_codes(missing) == {"password": ["invalid"]}
    assert refusal(wrong) == (400, "INVALID_PASSWORD")
    assert email_of(api, old_token) == "ada@example.com"
    assert told == []


@pytest.mark.parametrize(("method", "path"), OWN)
def test_the_password_in_the_body_allows_a_new_email(api, old_token, told, method, path):
    response = api(method, path, {**NEW_EMAIL, "password": PASSWORD}, token=old_token)

    assert response.status_code == 200
    assert response.json["email"] == "countess@example.com"
    assert "password" not in response.json
    assert told == [("ada@example.com", "countess@example.com")]
    assert api.login("countess@example.com")["userId"] == 1


def test_a_login_of_less_than_five_minutes_allows_a_new_email(app, api, token, told):
    make_old(app, token, 290)

    assert api("PATCH", "/users/1", NEW_EMAIL, token=token).status_code == 200
    assert told == [("ada@example.com", "countess@example.com")]


def test_the_same_email_needs_no_password(api, old_token, told):
    user = api("GET", "/users/1", token=old_token).json
    sent = {**user, "email": "ADA@example.com", "username": "ada"}

    response = api("PUT", "/users/1", sent, token=old_token)

    assert response.json == {**user, "username": "ada"}
    assert told == []


def test_a_password_without_a_new_email_is_rejected(api, token):
    bodies = [
        {"password": PASSWORD},
        {"password": "another long one", "username": "ada"},
        {"password": PASSWORD, "email": "ada@example.com"},
    ]

    answers = [api("PATCH", "/users/1", body, token=token) for body in bodies]

    assert [field_codes(answer) for answer in answers] == [{"password": ["invalid"]}] * 3
    assert api.login()["userId"] == 1


def test_a_wrong_password_verifies_one_hash(api, old_token, monkeypatch):
    calls = []
    verify = argon2.PasswordHasher.verify
    monkeypatch.setattr(
        argon2.PasswordHasher, "verify", lambda *given: calls.append(1) or verify(*given)
    )

    api("PATCH", "/users/1", {**NEW_EMAIL, "password": "wrong"}, token=old_token)

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("PATCH", "/users/2", {}),
        ("PATCH", "/users", {"id": 2}),
        ("PUT", "/users", {"id": 2}),
        ("POST", "/users/replaceOrCreate", {"id": 2}),
        ("POST", '/users/upsertWithWhere?where={"id":2}', {}),
        ("POST", '/users/update?where={"id":2}', {}),
    ],
)
def test_an_admin_confirms_with_the_admins_password(api, admin_token, told, method, path, fields):
    api.register("ada@example.com", password="only known to ada")

    refused = [
        api(method, path, {**NEW_EMAIL, **fields, **given}, token=admin_token)
        for given in ({}, {"password": "only known to ada"})
    ]
    unchanged = email_of(api, admin_token, 2)
    done = api(method, path, {**NEW_EMAIL, **fields, "password": PASSWORD}, token=admin_token)

    assert [answer.status_code for answer in refused] == [422, 400]
    assert unchanged == "ada@example.com"
    assert done.status_code == 200
    assert told == [("ada@example.com", "countess@example.com")]


def test_anonymous_callers_cannot_change_an_email_whatever_the_rules(make_app, api, token):
    rules = [{"principalId": "$everyone", "permission": "ALLOW"}]
    client = make_app(ACLS={"users": rules}).test_client()

    response = client.patch("/api/users/1", json={**NEW_EMAIL, "password": PASSWORD})

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")
