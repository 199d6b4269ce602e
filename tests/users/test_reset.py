"""POST /users/reset and POST /users/reset-password."""

import pytest
from flask import Flask
from sqlalchemy import update

from app.database.session import db
from app.outbox.models import Delivery, OutboxEvent
from app.signals import reset_password_request
from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD, login_status
from tests.support.answers import field_codes, refusal
from tests.support.rows import count, count_live_tokens, expire, statements

BODY = {"newPassword": NEW}


@pytest.fixture(autouse=True)
def _new_password_is_secret(secrets):
    secrets.append(NEW)


def test_a_reset_replaces_the_password(api, reset_token):
    response = api("POST", "/users/reset-password", BODY, token=reset_token)

    assert (response.status_code, response.data) == (204, b"")
    assert login_status(api, PASSWORD) == 401
    assert login_status(api, NEW) == 200


@pytest.mark.parametrize("email", ["ada@example.com", "ADA@example.com", "eve@example.com"])
def test_the_response_is_the_same_for_known_and_unknown_emails(api, token, email):
    known = api("POST", "/users/reset", {"email": "ada@example.com"})

    for _ in range(3):
        response = api("POST", "/users/reset", {"email": email})

        assert (response.status_code, response.json) == (200, {})
        assert response.data == known.data
        assert list(response.headers.keys()) == list(known.headers.keys())


def test_an_unknown_email_creates_no_token_that_is_live_and_emits_no_event(app, api, reset_events):
    api("POST", "/users/reset", {"email": "eve@example.com"})

    assert reset_events == []
    assert count_live_tokens(app) == 0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "EMAIL_REQUIRED"),
        ({"email": None}, "EMAIL_REQUIRED"),
        ({"email": ""}, "EMAIL_REQUIRED"),
        ({"email": 7}, "EMAIL_REQUIRED"),
        ({"email": {"neq": "x"}}, "EMAIL_REQUIRED"),
        ({"email": "ada"}, "INVALID_EMAIL"),
        ({"email": "ada@example.com\n"}, "INVALID_EMAIL"),
        ({"email": "ada@example.com", "realm": {"neq": "x"}}, "INVALID_REALM"),
        ({"email": "ada@example.com", "realm": 7}, "INVALID_REALM"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_address_is_400(api, token, reset_events, body, code):
    response = api("POST", "/users/reset", body)

    assert refusal(response) == (400, code)
    assert reset_events == []


def test_the_event_carries_the_token_the_email_and_the_user(api, token, reset_events):
    api("POST", "/users/reset", {"email": "Ada@Example.com"})

    info = reset_events[0]
    assert len(reset_events) == 1
    assert info["email"] == "ada@example.com"
    assert info["user"].id == info["accessToken"].user_id == 1
    assert len(info["accessToken"].id) == 64
    assert info["accessToken"].ttl == 900


def test_the_reset_is_for_the_user_of_the_given_realm(api, reset_events):
    api.register("ada@example.com")
    api.register("ada@example.com", realm="acme")

    api("POST", "/users/reset", {"email": "ada@example.com", "realm": "acme"})

    assert [info["user"].id for info in reset_events] == [2]


def test_a_reset_token_works_once(api, reset_token):
    api("POST", "/users/reset-password", BODY, token=reset_token)

    response = api("POST", "/users/reset-password", BODY, token=reset_token)

    assert response.status_code == 401
    assert login_status(api, NEW) == 200


def test_a_reset_revokes_every_other_token(app, api, token, reset_token, reset_events):
    api("POST", "/users/reset", {"email": "ada@example.com"})
    second = reset_events[-1]["accessToken"].id

    api("POST", "/users/reset-password", BODY, token=second)

    assert count(app, AccessToken) == 0
    assert api("GET", "/users/1", token=token).status_code == 401
    assert api("POST", "/users/reset-password", BODY, token=reset_token).status_code == 401


def test_a_reset_keeps_the_tokens_of_other_users(api, reset_token):
    other = api.newcomer("bob@example.com")

    api("POST", "/users/reset-password", BODY, token=reset_token)

    assert api("GET", "/users/2", token=other).status_code == 200
    api.login("bob@example.com")


def test_requesting_a_reset_keeps_password_and_tokens(api, token, reset_token):
    assert api("GET", "/users/1", token=token).status_code == 200
    assert login_status(api, PASSWORD) == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/users/1", None),
        ("PATCH", "/users/1", {"username": "eve"}),
        ("PUT", "/users/1", {"email": "eve@example.com"}),
        ("DELETE", "/users/1", None),
        ("GET", "/users/1/accessTokens", None),
        ("DELETE", "/users/1/accessTokens", None),
        ("DELETE", "/users/1/accessTokens/x", None),
        ("POST", "/users/change-password", {"oldPassword": PASSWORD, **BODY}),
        ("GET", "/todos", None),
        ("POST", "/todos", {"title": "x"}),
        ("GET", "/todos/1", None),
        ("PATCH", "/todos/1", {"title": "y"}),
        ("PUT", "/todos/1", {"title": "y"}),
        ("DELETE", "/todos/1", None),
    ],
)
def test_a_reset_token_is_401_on_other_endpoints(api, token, reset_token, method, path, body):
    api("POST", "/todos", {"title": "x"}, token=token)

    response = api(method, path, body, token=reset_token)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


@pytest.mark.parametrize("way", ["header", "bearer", "query"])
def test_a_reset_token_is_accepted_by_every_transport(api, reset_token, way):
    headers = {"header": reset_token, "bearer": f"Bearer {reset_token}"}.get(way)
    query = f"?access_token={reset_token}" if way == "query" else ""

    response = api("POST", f"/users/reset-password{query}", BODY, token=headers)

    assert response.status_code == 204


def test_a_login_token_cannot_reset(api, token):
    response = api("POST", "/users/reset-password", BODY, token=token)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")
    assert login_status(api, PASSWORD) == 200


def test_a_reset_without_a_token_is_401(api):
    response = api("POST", "/users/reset-password", BODY)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


def test_an_expired_reset_token_is_401(app, api, reset_token):
    expire(app, reset_token)

    response = api("POST", "/users/reset-password", BODY, token=reset_token)

    assert refusal(response) == (401, "INVALID_TOKEN")
    assert login_status(api, PASSWORD) == 200


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({}, {"newPassword": ["presence"]}),
        ({"newPassword": ""}, {"newPassword": ["presence"]}),
        ({"newPassword": 12345678}, {"newPassword": ["invalid"]}),
        ({"newPassword": "short"}, {"newPassword": ["invalid"]}),
        ({"newPassword": "password1"}, {"newPassword": ["common"]}),
        ({"newPassword": "ada@example.com"}, {"newPassword": ["invalid"]}),
        ({**BODY, "oldPassword": "x"}, {"oldPassword": ["unknown"]}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_rejected_password_keeps_the_reset_token_valid(api, reset_token, body, codes):
    response = api("POST", "/users/reset-password", body, token=reset_token)

    assert field_codes(response) == codes
    assert api("POST", "/users/reset-password", BODY, token=reset_token).status_code == 204


@pytest.mark.both_databases
def test_a_reset_token_that_a_change_of_the_email_did_not_find_is_401(app, api, reset_token):
    with app.app_context():
        db.session.execute(update(User).values(email="countess@example.com"))
        db.session.commit()

    response = api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset_token)

    assert refusal(response) == (401, "INVALID_TOKEN")


def test_the_reset_token_of_a_deleted_user_is_401(api, token, reset_token):
    api("DELETE", "/users/1", token=token)

    response = api("POST", "/users/reset-password", BODY, token=reset_token)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


def test_known_and_unknown_addresses_execute_the_same_statements(app, api, token, database_url):
    with statements(app) as sent:
        api("POST", "/users/reset", {"email": "ada@example.com"})
        first = len(sent)
        api("POST", "/users/reset", {"email": "eve@example.com"})
        texts = [text.split()[:3] for text in sent]

    known, unknown = texts[:first], texts[first:]
    assert known == unknown
    for table in ("access_tokens", "outbox", "deliveries"):
        assert ["INSERT", "INTO", table] in known
    if database_url.startswith("sqlite"):
        # psycopg commits without a statement that could be noted.
        assert known[-1] == ["COMMIT"]
    assert [count(app, model) for model in (AccessToken, OutboxEvent, Delivery)] == [3, 2, 2]


def test_a_receiver_of_another_app_lets_no_user_be_loaded(app, api, token):
    """Blinker's `has_receivers_for` is also true for an app that had receivers before."""

    def receive(_app, info):
        raise AssertionError(info)

    with reset_password_request.connected_to(receive, sender=app):
        pass
    with (
        reset_password_request.connected_to(receive, sender=Flask("other")),
        statements(app) as sent,
    ):
        api("POST", "/users/reset", {"email": "ada@example.com"})

    assert sent[-1] == "COMMIT" or sent[-1].startswith("INSERT INTO deliveries")


def test_a_reset_without_any_user_in_the_database_succeeds(app, api):
    response = api("POST", "/users/reset", {"email": "eve@example.com"})

    assert (response.status_code, response.json) == (200, {})
    assert count(app, AccessToken) == 0
