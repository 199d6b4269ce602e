"""Limits on the mails to an address, by client and by user."""

import pytest

from tests.conftest import PASSWORD, Api
from tests.support.answers import refusal
from tests.support.rows import count_live_tokens
from tests.support.throttles import counts, pass_time

LOCKED = (429, "TOO_MANY_REQUESTS")
NOT_VERIFIED = (401, "LOGIN_FAILED_EMAIL_NOT_VERIFIED")

pytestmark = pytest.mark.usefixtures("stopped_clock")


@pytest.fixture
def with_settings(shared_app, secrets):
    """Return an API with these settings and throttles."""
    return lambda **settings: Api(
        shared_app(THROTTLE_ENABLED=True, **settings).test_client(), secrets
    )


def verify(api, user_id, client="192.0.2.1"):
    environ = {"REMOTE_ADDR": client}
    return api("POST", f"/users/{user_id}/verify", environ_overrides=environ)


def facts(response):
    """Return all of a response that a client sees, but for what differs from each to the next."""
    headers = {name: value for name, value in response.headers if name != "X-Request-Id"}
    return response.status_code, headers, response.data


def test_after_five_mails_known_and_unknown_ids_get_the_same_answer_and_no_mail(with_settings):
    api = with_settings(EMAIL_VERIFICATION="optional")
    api.register()
    clients = [f"198.51.100.{number}" for number in range(7)]

    answers = {
        user_id: [facts(verify(api, user_id, client)) for client in clients]
        for user_id in ("1", "99", "x")
    }

    # Whoever has used them up has not locked the owner out, who has these five links.
    assert [status for status, *_ in answers["1"]] == [204] * 7
    assert answers["1"] == answers["99"] == answers["x"]
    assert count_live_tokens(api.client.application) == 6


def test_a_client_may_ask_for_twenty_mails_a_minute(with_settings):
    api = with_settings(EMAIL_VERIFICATION="optional")

    statuses = [verify(api, user_id).status_code for user_id in range(1, 22)]
    other = verify(api, 1, client="192.0.2.2")
    pass_time(api.client.application, 61)

    assert statuses == [204] * 20 + [429]
    assert other.status_code == 204
    assert verify(api, 30).status_code == 204


def test_a_user_may_ask_for_five_changes_of_address_an_hour(with_settings):
    api = with_settings(EMAIL_CHANGE="confirmed", EMAIL_VERIFICATION="optional")
    token = api.newcomer()
    # Anybody can send these; they must not take the change of address away.
    for _ in range(6):
        verify(api, 1)

    answers = [
        api(
            "POST",
            "/users/change-email",
            {"newEmail": f"ada{number}@example.com", "password": PASSWORD},
            token=token,
        )
        for number in range(6)
    ]

    assert [answer.status_code for answer in answers] == [204] * 5 + [429]
    assert refusal(answers[5]) == LOCKED


def test_wrong_passwords_for_a_change_of_address_are_counted(with_settings):
    api = with_settings(EMAIL_CHANGE="confirmed")
    token = api.newcomer()

    answers = [
        api(
            "POST",
            "/users/change-email",
            {"newEmail": "countess@example.com", "password": password},
            token=token,
        )
        for password in [*["wrong"] * 5, PASSWORD]
    ]

    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert "verification_user" not in counts(api.client.application)


@pytest.mark.parametrize(("setting", "last"), [("optional", 429), (None, 200)])
def test_new_addresses_are_counted_if_they_are_asked(with_settings, setting, last):
    api = with_settings(EMAIL_VERIFICATION=setting)
    token = api.newcomer()
    bodies = [{"email": f"ada{number}@example.com"} for number in range(6)]

    statuses = [api("PATCH", "/users/1", body, token=token).status_code for body in bodies]

    assert statuses == [200] * 5 + [last]


def test_a_right_password_of_an_unverified_user_is_no_failed_attempt(with_settings):
    api = with_settings(EMAIL_VERIFICATION="required")
    api.register()
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    answers = {refusal(api("POST", "/users/login", credentials)) for _ in range(12)}

    assert answers == {NOT_VERIFIED}
