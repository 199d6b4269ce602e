"""POST /users/login."""

import json
from collections import Counter

import argon2
import pytest

from app.users import models
from tests.conftest import PASSWORD
from tests.support.answers import refusal

HALF_A_YEAR = 15778463


def test_login_returns_the_token_in_the_documented_order(api):
    user = api.register()

    token = api.login()

    assert list(token) == ["id", "ttl", "created", "userId"]
    assert len(token["id"]) == 64
    assert token["id"].isalnum()
    assert token["id"].isascii()
    assert token["ttl"] == 1209600
    assert token["userId"] == user["id"]


def test_every_login_issues_a_new_token(api):
    api.register()

    assert api.login()["id"] != api.login()["id"]


def test_login_with_a_username_succeeds(api):
    api.register(username="ada")
    credentials = {"username": "ada", "password": PASSWORD}

    response = api("POST", "/users/login", credentials)

    assert response.status_code == 200
    assert response.json["userId"] == 1


def test_login_ignores_the_case_of_the_email(api):
    api.register("ada@example.com")

    assert api.login("ADA@EXAMPLE.COM")["userId"] == 1


def test_email_precedes_username(api):
    api.register("ada@example.com", username="ada")
    api.register("bob@example.com", username="bob")

    token = api.login("ada@example.com", username="bob")

    assert token["userId"] == 1


def test_unknown_keys_are_ignored(api):
    api.register()

    token = api.login(rememberMe=True, id="chosen", userId=7, scope="reset-password", created=0)

    assert list(token) == ["id", "ttl", "created", "userId"]
    assert token["id"] != "chosen"
    assert token["userId"] == 1
    assert api("GET", "/users/1", token=token["id"]).status_code == 200


def test_login_accepts_a_form(api, secrets):
    api.register()
    form = {"email": "ada@example.com", "password": PASSWORD, "ttl": "600"}

    response = api("POST", "/users/login", data=form)

    secrets.append(response.json["id"])
    assert response.json["ttl"] == 600


def test_login_responses_must_not_be_cached(api):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    response = api("POST", "/users/login", credentials)

    assert response.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    ("credentials", "code", "message"),
    [
        ({}, "USERNAME_EMAIL_REQUIRED", "username or email is required"),
        ({"email": "", "username": None}, "USERNAME_EMAIL_REQUIRED", None),
        ({"email": {"neq": "x"}}, "INVALID_EMAIL", "Invalid email"),
        ({"email": ["ada@example.com"]}, "INVALID_EMAIL", "Invalid email"),
        ({"email": True}, "INVALID_EMAIL", "Invalid email"),
        ({"username": 7}, "INVALID_USERNAME", "Invalid username"),
        ({"username": {"like": "%"}}, "INVALID_USERNAME", "Invalid username"),
        ({"email": "ada@example.com", "realm": {"neq": "x"}}, "INVALID_REALM", "Invalid realm"),
        ({"email": "ada@example.com", "realm": 7}, "INVALID_REALM", "Invalid realm"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invalid_credentials_are_400(api, credentials, code, message):
    response = api("POST", "/users/login", {"password": PASSWORD, **credentials})

    assert refusal(response) == (400, code)
    assert response.json["message"] == (message or "username or email is required")


FAILURES = {
    "wrong password": {"email": "ada@example.com", "password": "wrong"},
    "unknown email": {"email": "eve@example.com", "password": PASSWORD},
    "not an email": {"email": "ada", "password": PASSWORD},
    "unknown username": {"username": "eve", "password": PASSWORD},
    "other realm": {"email": "ada@example.com", "password": PASSWORD, "realm": "acme"},
    "missing password": {"email": "ada@example.com"},
    "empty password": {"email": "ada@example.com", "password": ""},
    "password is null": {"email": "ada@example.com", "password": None},
    "password is a number": {"email": "ada@example.com", "password": 7},
    "password is an object": {"email": "ada@example.com", "password": {"neq": ""}},
    "password and a space": {"email": "ada@example.com", "password": f"{PASSWORD} "},
    "missing password of nobody": {"email": "eve@example.com"},
}


def test_every_failure_has_the_documented_response(api):
    api.register()

    response = api("POST", "/users/login", FAILURES["wrong password"])

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert (response.json["status"], response.json["message"]) == (401, "login failed")


@pytest.mark.parametrize("credentials", FAILURES.values(), ids=FAILURES.keys())
def test_every_failure_has_the_same_response(api, credentials):
    api.register()
    expected = api("POST", "/users/login", FAILURES["wrong password"])

    for _ in range(2):
        response = api("POST", "/users/login", credentials)

        assert response.status_code == expected.status_code
        assert response.data == expected.data
        assert without_id(response) == without_id(expected)


@pytest.mark.parametrize("credentials", FAILURES.values(), ids=FAILURES.keys())
def test_every_failure_verifies_one_hash(api, monkeypatch, credentials):
    api.register()
    calls = count_verifications(monkeypatch)

    api("POST", "/users/login", credentials)

    assert len(calls) == 1


def test_a_successful_login_verifies_one_hash(api, monkeypatch):
    api.register()
    calls = count_verifications(monkeypatch)

    api.login()

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (None, 1209600),
        (0, 1209600),
        ("", 1209600),
        ("0", 1209600),
        (600, 600),
        ("600", 600),
        ("1e3", 1000),
        (" 600 ", 600),
        (1.5, 1.5),
        (HALF_A_YEAR, HALF_A_YEAR),
        (99999999999, 31556926),
        ("99999999999", 31556926),
        (10**400, 31556926),
        ("9" * 5000, 31556926),
    ],
    ids=lambda value: str(value)[:12] or "empty",
)
def test_ttl_is_the_requested_one_up_to_the_maximum(api, asked, granted):
    api.register()

    assert api.login(ttl=asked)["ttl"] == granted


def test_ttl_beyond_the_range_of_floats_is_capped(api):
    api.register()

    token = login_raw(api, b'{"email": "ada@example.com", "password": %s, "ttl": 1e400}')

    assert token.json["ttl"] == 31556926


@pytest.mark.parametrize(
    "ttl",
    [
        -1,
        -0.5,
        "-1",
        "abc",
        "0x10",
        "1_000",
        "NaN",
        "Infinity",
        "inf",
        " ",
        "6 00",
        "٣",
        True,
        False,
        [],
        [600],
        {},
        {"id": "chosen", "ttl": 77},
    ],
    ids=repr,
)
def test_an_invalid_ttl_is_400(api, ttl):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD, "ttl": ttl}

    response = api("POST", "/users/login", credentials)

    assert refusal(response) == (400, "INVALID_TTL")


@pytest.mark.parametrize("ttl", [-1, "-1", -1.0])
def test_a_login_may_ask_for_the_longest_ttl_by_minus_one_if_the_setting_allows(shared_app, ttl):
    client = shared_app(ETERNAL_TOKENS=True).test_client()
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    client.post("/api/users", json=credentials)

    granted = client.post("/api/users/login", json={**credentials, "ttl": ttl})
    refused = client.post("/api/users/login", json={**credentials, "ttl": -2})

    assert granted.json["ttl"] == 31556926
    assert refusal(refused) == (400, "INVALID_TTL")


@pytest.mark.parametrize("ttl", ["NaN", "Infinity", "-Infinity", "-1e400", "9" * 5000, "01", "0x1"])
def test_ttl_that_is_not_json_or_not_finite_is_400(api, ttl):
    api.register()

    response = login_raw(
        api, b'{"email": "ada@example.com", "password": %s, "ttl": ' + ttl.encode() + b"}"
    )

    status, code = refusal(response)
    assert status == 400
    assert code in {"INVALID_TTL", "MALFORMED_JSON"}


def test_configured_lifetimes_apply(make_app, secrets):
    client = make_app(TOKEN_TTL=60, TOKEN_MAX_TTL=120).test_client()
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    client.post("/api/users", json=credentials)

    granted = [
        client.post("/api/users/login", json={**credentials, "ttl": ttl}).json["ttl"]
        for ttl in (None, 100, 121)
    ]

    assert granted == [60, 100, 120]


@pytest.mark.parametrize(
    "query",
    ["include=user", "include=USER", 'include=["user"]', "include=x&include=user"],
)
def test_include_user_adds_the_user(api, query):
    user = api.register(username="ada")
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    response = api("POST", f"/users/login?{query}", credentials)

    assert list(response.json) == ["id", "ttl", "created", "userId", "user"]
    assert response.json["user"] == user


@pytest.mark.parametrize(
    "query",
    [
        "include=",
        "include=roles",
        "include=7",
        "include={}",
        "include=null",
        'include={"user": 1}',
        "include=%00",
        "include=" + "9" * 5000,
        "include=" + "[" * 3000,
    ],
    ids=lambda query: query[:20],
)
def test_any_other_include_is_ignored(api, query):
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    response = api("POST", f"/users/login?{query}", credentials)

    assert response.status_code == 200
    assert "user" not in response.json


def login_raw(api, body):
    """Log in with a body of which %s is the password."""
    response = api(
        "POST",
        "/users/login",
        data=body.replace(b"%s", json.dumps(PASSWORD).encode()),
        content_type="application/json",
    )
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def without_id(response):
    return [header for header in response.headers if header[0] not in {"X-Request-Id", "Date"}]


def count_verifications(monkeypatch):
    calls = []
    verify = argon2.PasswordHasher.verify

    def counted(self, *arguments):
        calls.append(arguments)
        return verify(self, *arguments)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counted)
    return calls


def test_every_character_of_a_token_is_as_likely_as_the_others():
    kept = bytes(range(256)).translate(models.CHARACTERS, models.LEFT_OUT)

    assert Counter(kept.decode()) == dict.fromkeys(models.TOKEN_ALPHABET, 4)
