"""Disabled users: `flask users disable | enable`."""

import pytest

from app import errors
from app.signals import verification_request
from app.users.accounts.removal import disable_user, enable_user
from app.users.passwords.hashing import cached_schemes
from app.users.sessions import login as login_service
from tests.conftest import NEW, PASSWORD, Api, login_status
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once
from tests.support.rows import count_live_tokens, statements

CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}


def disable(runner):
    return runner.invoke(args=["users", "disable", "ada@example.com"])


def test_the_tokens_of_a_disabled_user_open_nothing_in_any_process(
    app, api, runner, token, reset_token, make_app
):
    other_process = make_app().test_client()
    paths = ["/api/users/1", "/api/todos"]
    headers = {"Authorization": token}
    assert [other_process.get(path, headers=headers).status_code for path in paths] == [200, 200]

    said = disable(runner)

    assert said.output == "Disabled user 1, ada@example.com, and ended all sessions.\n"
    answers = [other_process.get(path, headers=headers) for path in paths]
    assert [refusal(answer) for answer in answers] == [(401, "AUTHORIZATION_REQUIRED")] * 2
    body = {"newPassword": NEW}
    assert api("POST", "/users/reset-password", body, token=reset_token).status_code == 401
    assert count_live_tokens(app) == 0


def test_a_disabled_user_gets_the_answer_of_an_unknown_one(app, api, runner, token):
    disable(runner)
    bodies = {
        "disabled": CREDENTIALS,
        "wrong": {**CREDENTIALS, "password": NEW},
        "unknown": {**CREDENTIALS, "email": "bob@example.com"},
    }
    found, sent = {}, {}
    for name, body in bodies.items():
        # What a process looks up once a minute.
        cached_schemes.set(app, (float("inf"), {}))
        with statements(app) as sent[name]:
            response = api("POST", "/users/login", body)
        headers = [header for header in response.headers if header[0] != "X-Request-Id"]
        found[name] = (response.status_code, response.data, headers)

    assert found["disabled"] == found["wrong"] == found["unknown"]
    assert refusal(response) == (401, "LOGIN_FAILED")
    work = {name: [call.split()[0] for call in made] for name, made in sent.items()}
    assert work["disabled"] == work["wrong"] == work["unknown"]


def test_a_disabled_user_is_mailed_no_reset_link(app, api, runner, token, reset_events):
    disable(runner)

    response = api("POST", "/users/reset", {"email": "ada@example.com"})

    assert (response.status_code, response.json) == (200, {})
    assert reset_events == []
    assert count_live_tokens(app) == 0


def test_enabling_revives_no_token(app, api, runner, token, reset_token):
    disable(runner)

    said = runner.invoke(args=["users", "enable", "ada@example.com"])

    assert said.output == "Enabled user 1, ada@example.com.\n"
    assert api("GET", "/users/1", token=token).status_code == 401
    body = {"newPassword": NEW}
    assert api("POST", "/users/reset-password", body, token=reset_token).status_code == 401
    assert login_status(api, PASSWORD) == 200


def test_a_second_time_changes_nothing(app, api, runner, token):
    said = [
        runner.invoke(args=["users", name, "ada@example.com"]).output
        for name in ("enable", "disable", "disable")
    ]

    assert said[0] == "User 1 is not disabled.\n"
    assert said[2] == "User 1 is disabled already.\n"
    assert login_status(api, PASSWORD) == 401


def test_a_user_without_the_right_address_is_one_sentence(runner, token):
    said = runner.invoke(args=["users", "disable", "bob@example.com"])

    assert said.exit_code == 1
    assert said.output == "Error: There is no user bob@example.com.\n"


@pytest.mark.parametrize("name", ["disabledAt", "disabled_at", "disabled"])
def test_no_request_disables_a_user(api, token, name):
    response = api("PATCH", "/users/1", {name: "2026-01-02T03:04:05.678Z"}, token=token)

    assert field_codes(response) == {name: ["unknown"]}
    assert login_status(api, PASSWORD) == 200


def test_a_login_that_is_disabled_after_its_password_was_verified_fails(
    app, api, token, monkeypatch
):
    verify = login_service.verify_login

    def verify_and_disable(*arguments):
        matches = verify(*arguments)
        assert disable_user(1)
        return matches

    monkeypatch.setattr(login_service, "verify_login", verify_and_disable)

    response = api("POST", "/users/login", CREDENTIALS)

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert count_live_tokens(app) == 0


@pytest.mark.both_databases
def test_concurrent_logins_leave_no_token_of_a_disabled_user(app, token):
    def disable_at_once(client):
        with client.application.app_context():
            return disable_user(1)

    def login(client):
        return client.post("/api/users/login", json=CREDENTIALS).status_code

    done, *logins = at_once(app, disable_at_once, *[login] * 6)

    assert done is True
    assert set(logins) <= {200, 401}
    assert count_live_tokens(app) == 0


def test_a_session_cannot_be_opened_for_a_disabled_user(app, token):
    with app.test_request_context():
        disable_user(1)

        with pytest.raises(errors.LoginFailed):
            login_service.open_session(1, 600)

        enable_user(1)
        assert login_service.open_session(1, 600).user_id == 1


def test_a_disabled_user_is_mailed_no_link_that_confirms_the_address(shared_app, secrets):
    app = shared_app(EMAIL_VERIFICATION="optional")
    api = Api(app.test_client(), secrets)
    sent = []

    def note(_sender, info):
        secrets.append(info["accessToken"].id)
        sent.append(info["accessToken"].id)

    with verification_request.connected_to(note, sender=app):
        api.register()
        disable(app.test_cli_runner())
        answers = [api("POST", f"/users/{number}/verify") for number in (1, 4711)]

    assert [(answer.status_code, answer.data) for answer in answers] == [(204, b"")] * 2
    assert len(sent) == 1
    assert api.client.post("/confirm-email", data={"token": sent[0]}).status_code == 400
    assert count_live_tokens(app) == 0
