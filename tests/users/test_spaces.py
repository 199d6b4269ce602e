"""Addresses with spaces around them, which keyboards of phones add, at every door."""

import pytest

from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import field_codes, refusal

SPACED = [" ada@example.com", "ada@example.com  ", "\u00a0ada@example.com\u3000"]
# A space within an address, and characters that are none.
WRONG = ["ada @example.com", "ada@ example.com", "\u200bada@example.com", "  "]


@pytest.mark.parametrize("spaced", SPACED)
def test_an_address_with_spaces_around_it_registers_and_logs_in(api, spaced):
    user = api.register(spaced)

    assert user["email"] == "ada@example.com"
    for address in ("ada@example.com", *SPACED):
        assert api.login(address)["userId"] == user["id"]
    again = api("POST", "/users", {"email": SPACED[0], "password": PASSWORD})
    assert field_codes(again) == {"email": ["uniqueness"]}


@pytest.mark.parametrize("spaced", SPACED)
def test_a_reset_finds_the_user(api, reset_events, spaced):
    api.register()

    response = api("POST", "/users/reset", {"email": spaced})

    assert response.status_code == 200
    [info] = reset_events
    assert info["email"] == "ada@example.com"


def test_failed_logins_with_and_without_spaces_are_counted_together(shared_app, secrets):
    api = Api(shared_app(THROTTLE_ENABLED=True).test_client(), secrets)
    for number, email in enumerate([*SPACED, *SPACED[:2]]):
        environ = {"REMOTE_ADDR": f"192.0.2.{number}"}
        api("POST", "/users/login", {"email": email, "password": NEW}, environ_overrides=environ)

    response = api("POST", "/users/login", {"email": "ada@example.com", "password": NEW})

    assert refusal(response) == (429, "TOO_MANY_REQUESTS")


def test_a_new_address_and_that_of_a_command_or_a_file_have_none_either(api, app, tmp_path):
    token = api.newcomer("bob@example.com")
    runner = app.test_cli_runner()
    file = tmp_path / "users.csv"
    file.write_text(f"email,password\n eve@example.com ,{PASSWORD}\n", encoding="utf-8")

    changed = api("PATCH", "/users/1", {"email": SPACED[1]}, token=token)
    same = api("PATCH", "/users/1", {"email": SPACED[0]}, token=token)
    imported = runner.invoke(args=["users", "import", str(file)])
    named = runner.invoke(args=["users", "disable", " eve@example.com"])

    assert changed.json["email"] == same.json["email"] == "ada@example.com"
    assert (imported.exit_code, named.exit_code) == (0, 0), imported.output + named.output
    assert "eve@example.com" in named.output


def test_the_realm_before_an_address_does_not_keep_its_spaces(shared_app, secrets):
    api = Api(shared_app(REALM_DELIMITER=":").test_client(), secrets)
    api.register(realm="acme")

    assert api.login("acme: ada@example.com ")["userId"] == 1


@pytest.mark.parametrize("wrong", WRONG)
def test_other_addresses_with_spaces_are_none(api, wrong):
    api.register()

    assert field_codes(api("POST", "/users", {"email": wrong, "password": PASSWORD}))
    login = api("POST", "/users/login", {"email": wrong, "password": PASSWORD})
    reset = api("POST", "/users/reset", {"email": wrong})

    assert refusal(login) == (401, "LOGIN_FAILED")
    assert refusal(reset) == (400, "INVALID_EMAIL")
