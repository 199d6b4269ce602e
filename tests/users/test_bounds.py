"""The length of email addresses is limited before they are normalized."""

import unicodedata

import email_validator
import pytest

from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal

MARKS = "".join(
    sorted(
        (chr(code) for code in range(0x300, 0x370) if unicodedata.combining(chr(code))),
        key=unicodedata.combining,
        reverse=True,
    )
)
# Nearly 100 kB in JSON, where each is six characters.
BOMB = f"a{MARKS * 500}"[:16_000] + "@example.com"
LONG_PART = f"a{MARKS[:64]}@example.com"
LONG_LABEL = f"a@b{MARKS[:64]}.example"
LONG = f"ada@{'x' * 60}.{'y' * 60}.{'z' * 60}.{'w' * 60}.example.com"
TOO_LONG = pytest.mark.parametrize(
    "email", [BOMB, LONG_PART, LONG_LABEL, LONG], ids=["100 kB", "part", "label", "whole"]
)


@pytest.fixture
def looked_at(monkeypatch):
    """The lengths of the addresses that were looked at closer."""
    lengths = []
    look = email_validator.validate_email

    def counted(address, **options):
        lengths.append(len(address))
        return look(address, **options)

    monkeypatch.setattr("app.users.names.validate_email", counted)
    return lengths


@TOO_LONG
def test_login_with_an_address_that_is_too_long_fails(api, looked_at, email):
    response = api("POST", "/users/login", {"email": email, "password": PASSWORD})

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert looked_at == []


@TOO_LONG
def test_a_reset_for_an_address_that_is_too_long_is_rejected(api, looked_at, email):
    response = api("POST", "/users/reset", {"email": email})

    assert refusal(response) == (400, "INVALID_EMAIL")
    assert looked_at == []


@TOO_LONG
def test_registration_with_an_address_that_is_too_long_is_rejected(api, looked_at, email):
    response = api("POST", "/users", {"email": email, "password": PASSWORD})

    assert field_codes(response) == {"email": ["invalid"]}
    assert looked_at == []


def test_a_change_to_an_address_that_is_too_long_is_rejected(api, token, looked_at):
    looked_at.clear()

    answers = [api(method, "/users/1", {"email": BOMB}, token=token) for method in ("PATCH", "PUT")]

    assert [field_codes(answer) for answer in answers] == [{"email": ["invalid"]}] * 2
    assert looked_at == []


def test_login_in_a_realm_with_an_address_that_is_too_long_fails(make_app, looked_at):
    client = make_app(REALM_DELIMITER=":").test_client()
    credentials = {"email": f"acme:{BOMB}", "password": PASSWORD}

    response = client.post("/api/users/login", json=credentials)

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert looked_at == []


def test_a_command_with_an_address_that_is_too_long_fails(app, looked_at):
    result = app.test_cli_runner().invoke(args=["users", "set-password", LONG])

    assert result.exit_code == 1
    assert "There is no user" in result.output
    assert looked_at == []


def test_the_longest_address_registers_and_logs_in(api):
    email = f"{'a' * 64}@{'x' * 60}.{'y' * 60}.{'z' * 55}.example.com"
    assert len(email) == 254

    api.register(email)

    assert api.login(email)["userId"] == 1
