"""The event resetPasswordRequest."""

import pytest
from blinker import signal

from app.signals import reset_password_request
from app.users.models import AccessToken, User
from tests.conftest import NEW, Api
from tests.support.rows import count


def request_reset(api):
    return api("POST", "/users/reset", {"email": "ada@example.com"})


def test_the_signal_has_the_name_of_the_interface(app, token, api, secrets):
    found = []

    def receiver(sender, info):
        secrets.append(info["accessToken"].id)
        found.append(info)

    with signal("resetPasswordRequest").connected_to(receiver):
        request_reset(api)

    assert len(found) == 1


def test_the_sender_is_the_app(app, api, token, reset_events):
    senders = []

    def receiver(sender, **payload):
        senders.append(sender)

    with reset_password_request.connected_to(receiver):
        request_reset(api)

    assert len(senders) == 1
    assert senders[0] is app


def test_the_payload_is_info_with_token_email_and_user(api, token, reset_events):
    request_reset(api)

    [info] = reset_events
    assert set(info) == {"accessToken", "email", "user"}
    assert info["email"] == info["user"].email == "ada@example.com"
    assert len(info["accessToken"].id) == 64
    assert info["accessToken"].ttl == 900
    assert info["accessToken"].created.tzinfo is not None
    assert info["accessToken"].user_id == info["user"].id


def test_the_token_is_valid_while_the_event_is_sent(app, api, token, secrets):
    statuses = []

    def receiver(sender, info):
        body, value = {"newPassword": NEW}, info["accessToken"].id
        other = app.test_client().post(
            "/api/users/reset-password", json=body, headers={"Authorization": value}
        )
        statuses.append(other.status_code)

    with reset_password_request.connected_to(receiver, sender=app):
        request_reset(api)

    assert statuses == [204]


@pytest.mark.parametrize("error", [ValueError, KeyError, RuntimeError])
def test_a_receiver_that_raises_does_not_affect_the_response(
    app, api, token, reset_events, caplog, error
):
    def receiver(sender, info):
        raise error(f"cannot send {info['accessToken'].id}")

    with reset_password_request.connected_to(receiver, sender=app):
        response = request_reset(api)

    assert (response.status_code, response.json) == (200, {})
    assert len(reset_events) == 1
    assert f"failed on resetPasswordRequest: {error.__name__}" in caplog.text


def test_a_receiver_object_that_raises_is_logged_by_its_type(app, api, token, caplog):
    class Mailer:
        def __call__(self, sender, info):
            raise ValueError("no")

    with reset_password_request.connected_to(Mailer(), sender=app):
        response = request_reset(api)

    assert response.status_code == 200
    assert "Mailer" in caplog.text


@pytest.mark.both_databases
def test_a_receiver_that_breaks_the_database_session_does_not_affect_the_response(app, api, token):
    def receiver(sender, info):
        info["user"].email = None
        sender.extensions["sqlalchemy"].session.flush()

    with reset_password_request.connected_to(receiver, sender=app):
        response = request_reset(api)

    assert response.status_code == 200
    assert api("GET", "/users/1", token=token).json["email"] == "ada@example.com"


def test_receivers_of_another_app_are_not_called(make_app, api, token, reset_events, secrets):
    other = Api(make_app().test_client(), secrets)

    assert request_reset(other).status_code == 200
    assert reset_events == []


def test_other_operations_emit_no_event(app, api, token, reset_events):
    token = api.login()["id"]
    api("PATCH", "/users/1", {"username": "ada"}, token=token)
    api("POST", "/users/logout", token=token)

    assert reset_events == []
    assert count(app, User) == 1
    assert count(app, AccessToken) == 1
