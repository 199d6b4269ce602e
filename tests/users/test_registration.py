"""POST /users."""

import re

import pytest

from app.users.models import User
from app.users.service import create_user, issue_token
from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.rows import count


def test_registration_returns_the_user_without_the_password(api):
    user = api.register("ada@example.com", username="ada", realm="acme")

    assert list(user) == ["id", "email", "username", "realm", "emailVerified", "created"]
    assert user["id"] == 1
    assert (user["email"], user["username"], user["realm"]) == ("ada@example.com", "ada", "acme")
    assert user["emailVerified"] is False


def test_optional_fields_are_null_when_not_given(api):
    user = api.register()

    assert user["username"] is None
    assert user["realm"] is None


def test_times_are_utc_with_milliseconds(api):
    user = api.register()

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", user["created"])


def test_registration_accepts_a_form(api):
    response = api("POST", "/users", data={"email": "ada@example.com", "password": PASSWORD})

    assert response.status_code == 200
    assert response.json["email"] == "ada@example.com"


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"email": None}, {"email": ["presence"]}),
        ({"email": ""}, {"email": ["invalid"]}),
        ({"email": "ada"}, {"email": ["invalid"]}),
        ({"email": "ada@"}, {"email": ["invalid"]}),
        ({"email": "ada@example.com\r\nBcc: eve@example.com"}, {"email": ["invalid"]}),
        ({"password": None}, {"password": ["presence"]}),
        ({"password": ""}, {"password": ["presence"]}),
        ({"username": "  "}, {"username": ["presence"]}),
        ({"id": 7}, {"id": ["absence"]}),
        ({"emailVerified": True}, {"emailVerified": ["absence"]}),
        ({"created": "2026-01-01"}, {"created": ["absence"]}),
        ({"roles": ["admin"]}, {"roles": ["unknown"]}),
        ({"password_hash": "x"}, {"password_hash": ["unknown"]}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_registration_is_422_and_names_the_field(app, api, fields, codes):
    body = {"email": "ada@example.com", "password": PASSWORD, **fields}

    response = api("POST", "/users", body)

    assert field_codes(response) == codes
    assert count(app, User) == 0


def test_an_empty_registration_names_every_missing_field(api):
    response = api("POST", "/users", {})

    assert field_codes(response) == {"email": ["presence"], "password": ["presence"]}


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"email": "ada@example.com"}, ["email"]),
        ({"email": "ADA@Example.COM"}, ["email"]),
        ({"email": "bob@example.com", "username": "ada"}, ["username"]),
        ({"email": "ada@example.com", "username": "ada"}, ["email", "username"]),
    ],
    ids=["email", "email in capitals", "username", "both"],
)
def test_a_taken_name_is_422_uniqueness(api, fields, taken):
    api.register("ada@example.com", username="ada")

    response = api("POST", "/users", {"password": PASSWORD, **fields})

    assert field_codes(response) == {name: ["uniqueness"] for name in taken}


def test_users_without_username_do_not_collide(app, api):
    api.register("ada@example.com")
    api.register("bob@example.com")

    assert count(app, User) == 2


def test_email_is_stored_in_lower_case(api):
    assert api.register("Ada@Example.COM")["email"] == "ada@example.com"


def test_email_case_matters_if_configured(make_app, secrets):
    client = make_app(EMAIL_CASE_SENSITIVE=True).test_client()
    emails = ["Ada@example.com", "ada@example.com"]

    answers = [
        client.post("/api/users", json={"email": email, "password": PASSWORD}) for email in emails
    ]

    assert [answer.json["email"] for answer in answers] == emails


@pytest.mark.parametrize("email", ["ada@localhost", "jörg@example.com", "a+b@bücher.example"])
def test_unusual_addresses_can_register_and_log_in(api, email):
    api.register(email)

    assert api.login(email)["userId"] == 1


def test_the_id_of_a_deleted_user_is_not_reused(api):
    token = api.newcomer()
    api("DELETE", "/users/1", token=token)

    assert api.register()["id"] == 2


def test_closed_registration_without_a_token_is_401(make_app):
    client = make_app(REGISTRATION_OPEN=False).test_client()

    response = client.post("/api/users", json={"email": "a@example.com", "password": PASSWORD})

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


def test_closed_registration_is_403_for_users(app, api, token, make_app):
    client = make_app(REGISTRATION_OPEN=False).test_client()
    body = {"email": "bob@example.com", "password": PASSWORD}

    response = client.post("/api/users", json=body, headers={"Authorization": token})

    assert refusal(response) == (403, "ACCESS_DENIED")
    assert count(app, User) == 1


def test_admins_are_not_throttled_when_they_create_users(make_app, secrets):
    limits = {"registration": {"limit": 1, "seconds": 60}}
    app = make_app(THROTTLE_ENABLED=True, THROTTLES=limits)
    api = Api(app.test_client(), secrets)
    with app.app_context():
        admin = issue_token(create_user("admin@example.com", PASSWORD, roles=["admin"]).id).id
    secrets.append(admin)

    def register(name, **caller):
        body = {"email": f"{name}@example.com", "password": PASSWORD}
        return api("POST", "/users", body, **caller).status_code

    assert [register(f"user{number}", token=admin) for number in range(3)] == [200] * 3
    assert [register("ada"), register("bo")] == [200, 429]
    assert register("cy", token=admin) == 200
