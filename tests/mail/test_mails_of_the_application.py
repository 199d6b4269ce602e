"""Mails that the settings switch off, and that the application sends by itself."""

import pytest

from app import outbox
from app.mail.subscribers import MAILS
from app.outbox.delivery import drain
from app.outbox.models import OutboxEvent
from app.server.hash_queue import hashing_views
from app.signals import login_code_request, reset_password_request
from app.users.mailed import LOADS
from tests.conftest import NEW, PASSWORD, Api, login_status
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.support.documents import blocks
from tests.support.rows import count
from tests.support.waiting import eventually

from .resets import LINK, parse, request_reset, written

SETTINGS = {
    "EMAIL_VERIFICATION": "optional",
    "EMAIL_CHANGE": "confirmed",
    "EMAIL_LOGIN": True,
    "LOGIN_CODE_KEYS": ["k" * 32],
    "PERSONAL_TOKENS": {},
}
# The subjects of all mails of a user's life, by the setting of each.
SUBJECTS = {
    "RESET_MAIL": "Set a new password",
    "VERIFICATION_MAIL": "Confirm your email address",
    "EMAIL_CODE_MAIL": "Your code to prove your email address",
    "LOGIN_CODE_MAIL": "Your code to log in",
    "EMAIL_CHANGE_MAIL": "Confirm your new email address",
    "EMAIL_CHANGE_NOTICE_MAIL": "A new email address was requested for your account",
    "EMAIL_CHANGED_MAIL": "The email address of your account was changed",
    "CREDENTIAL_CHANGED_MAIL": "The ways to log in to your account were changed",
    "ACCOUNT_CLAIMED_MAIL": "The password of your account was removed",
}


ADA = {"email": "ada@example.com"}


def live(api):
    """Do all that is followed by a mail."""
    api.register("ada@example.com")
    token = api.login("ada@example.com")["id"]
    request_reset(api)
    api.secrets.append(api("POST", "/users/login/mail", ADA).json["ticket"])
    api("POST", "/users/email-code", {}, token=token)
    body = {"newEmail": "countess@example.com", "password": PASSWORD}
    api("POST", "/users/change-email", body, token=token)
    with api.client.application.app_context():
        outbox.record("emailChanged", {"user_id": 1, "old_email": "ada@example.com"}, 60)
        claimed = {"user_id": 1, "email": "ada@example.com", "provider": "Google"}
        outbox.record("accountClaimed", claimed, 60)
        changed = {"user_id": 1, "email": "ada@example.com", "change": "factor-added"}
        outbox.record("credentialChanged", changed, 60)


def subjects(api):
    return sorted(parse(path.read_bytes())["Subject"] for path in written(api))


@pytest.mark.parametrize("switched_off", SUBJECTS)
def test_each_mail_can_be_switched_off(make_app, secrets, switched_off):
    app = make_app(**SETTINGS, **{switched_off: False})
    api = Api(app.test_client(), secrets)

    live(api)

    expected = [text for name, text in SUBJECTS.items() if name != switched_off]
    assert subjects(api) == sorted(expected)


def test_each_event_that_is_mailed_has_a_setting():
    assert {mail.setting for mail in MAILS} == SUBJECTS.keys()
    assert {mail.event for mail in MAILS} == LOADS.keys() | {login_code_request.name}


def test_what_nobody_sends_is_not_recorded(make_app, secrets):
    app = make_app(**SETTINGS, **dict.fromkeys(SUBJECTS, False))
    api = Api(app.test_client(), secrets)

    live(api)

    assert count(app, OutboxEvent) == 0
    assert subjects(api) == []


@pytest.mark.parametrize("in_process", [True, False])
@pytest.mark.parametrize("reset_mail", [True, False])
def test_the_token_of_the_event_sets_a_password_whoever_sends_mails(
    make_app, secrets, in_process, reset_mail
):
    secrets.append(NEW)
    app = make_app(RESET_MAIL=reset_mail, OUTBOX_IN_PROCESS=in_process)
    api = Api(app.test_client(), secrets)
    api.register()
    tokens = []

    def send(sender, info):
        tokens.append(info["accessToken"].id)

    with reset_password_request.connected_to(send, sender=app):
        request_reset(api)
    secrets.extend(tokens)
    drain(app)
    mails = written(api)
    secrets.extend(LINK.search(path.read_text())[2] for path in mails)

    body = {"newPassword": NEW}
    answer = api("POST", "/users/reset-password", body, token=tokens[0])

    assert len(mails) == reset_mail
    assert answer.status_code == 204


def test_the_documented_application_finishes_a_reset_at_its_own_route(
    make_app,
    secrets,
    server,  # noqa: F811
):
    secrets.append(NEW)
    example = {"__name__": __name__}
    code = blocks("docs/mail.md", "python", "Mails of the application")[0]
    assert "https://mail.example.com" in code
    exec(code.replace("https://mail.example.com", server.url), example)
    app = make_app(RESET_MAIL=False, CREDENTIAL_CHANGED_MAIL=False)
    example["init_app"](app)
    api = Api(app.test_client(), secrets)
    api.register()

    request_reset(api)
    [message] = eventually(lambda: [request["json"] for request in server.seen])
    outbox.stop(app)
    form = {"access_token": message["link"].partition("=")[2], "password": "short"}
    secrets.append(form["access_token"])
    answers = [
        api.client.post("/new-password", data={**form, "password": password})
        for password in ("short", NEW, NEW)
    ]

    assert message["to"] == "ada@example.com"
    assert written(api) == []
    assert [answer.status_code for answer in answers] == [422, 204, 401]
    assert login_status(api, NEW) == 200
    assert "new_passwords.set_new_password" in hashing_views(app)
