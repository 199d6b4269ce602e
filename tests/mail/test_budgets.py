"""Limits on the mails that clients, one or many, cause for one mailbox."""

import pytest
from sqlalchemy import func, select

from app.database.session import db
from app.mail import send
from app.outbox.models import OBSOLETE, Delivery
from tests.conftest import PASSWORD, Api
from tests.support.ports import free_port
from tests.support.smtp import Postbox, eventually, smtp_server
from tests.support.throttles import counts, pass_time

from .resets import parse, written

STRANGER = "stranger@example.com"
LIMIT = 2
# Instead of ten.
FEW = {"mail_recipient": {"limit": LIMIT}}


@pytest.fixture
def mailing(make_app, secrets):
    def mailing(**settings):
        app = make_app(**{"THROTTLE_ENABLED": True, "THROTTLES": FEW, **settings})
        return Api(app.test_client(), secrets)

    return mailing


def subjects(api, to=None):
    """Return the subjects of all mails, or of those to one mailbox."""
    mails = [parse(path.read_bytes()) for path in written(api)]
    return [mail["Subject"] for mail in mails if to is None or mail["To"] in to]


def from_client(number):
    return {"REMOTE_ADDR": f"198.51.100.{number}"}


def register(api, email, client):
    body = {"email": email, "password": PASSWORD}
    response = api("POST", "/users", body, environ_overrides=from_client(client))
    assert response.status_code == 200, response.json
    return response.json["id"]


def register_for_a_while(api, email, client):
    """Register a user, and delete it once the mail is sent, which would be of no use otherwise."""
    user_id = register(api, email, client)
    written(api)
    api("DELETE", f"/users/{user_id}", token=api.login(email)["id"])


def test_many_users_mail_an_address_no_more_than_one_user_may_and_are_told_nothing(mailing):
    api = mailing(EMAIL_CHANGE="confirmed")
    spellings = [STRANGER, "Stranger@Example.com", "stranger+1@example.com"] * 2
    answers = []

    for number, spelling in enumerate(spellings):
        register(api, f"user{number}@example.com", number)
        token = api.login(f"user{number}@example.com")["id"]
        body = {"newEmail": spelling, "password": PASSWORD}
        answers.append(api("POST", "/users/change-email", body, token=token))

    assert {(answer.status_code, answer.data) for answer in answers} == {(204, b"")}
    to_stranger = {STRANGER, "stranger+1@example.com"}
    assert len(subjects(api, to_stranger)) == LIMIT
    # Each user's own address is told as before.
    assert len(subjects(api)) == LIMIT + 6


def test_registering_again_and_again_mails_an_address_up_to_the_limit(mailing):
    api = mailing(EMAIL_VERIFICATION="optional")

    for number in range(4):
        register_for_a_while(api, STRANGER, number)

    assert subjects(api) == ["Confirm your email address"] * LIMIT
    [outcome] = [row for row in rows(api) if row[0] == OBSOLETE]
    assert outcome == (OBSOLETE, 2)


def rows(api):
    """Return how many deliveries have which state."""
    with api.client.application.app_context():
        states = select(Delivery.state, func.count()).group_by(Delivery.state)
        return list(map(tuple, db.session.execute(states)))


@pytest.mark.parametrize("verification", [None, "optional"])
def test_changing_an_address_to_and_fro_mails_a_stranger_up_to_the_limit_of_each_kind(
    mailing, verification
):
    rates = {"verification_user": {"limit": 100}, "verification_address": {"limit": 100}}
    api = mailing(EMAIL_VERIFICATION=verification, THROTTLES={**FEW, **rates})
    token = api.newcomer("mallory@example.com")

    for _ in range(4):
        for email in (STRANGER, "mallory@example.com"):
            answer = api("PATCH", "/users/1", {"email": email}, token=token)
            assert answer.status_code == 200
            written(api)

    sent = subjects(api, {STRANGER})
    kinds = {subject: sent.count(subject) for subject in sent}
    assert set(kinds.values()) == {LIMIT}
    assert len(kinds) == (2 if verification else 1)


def test_requests_for_a_change_do_not_mail_the_old_address_without_end(mailing):
    api = mailing(EMAIL_CHANGE="confirmed")

    for number in range(4):
        user_id = register(api, STRANGER, number)
        token = api.login(STRANGER)["id"]
        body = {"newEmail": f"mallory{number}@example.com", "password": PASSWORD}
        assert api("POST", "/users/change-email", body, token=token).status_code == 204
        written(api)
        api("DELETE", f"/users/{user_id}", token=token)

    assert len(subjects(api, {STRANGER})) == LIMIT


def test_the_budget_of_one_kind_leaves_the_others_alone(mailing):
    api = mailing(EMAIL_CHANGE="confirmed", EMAIL_VERIFICATION="optional")
    for number in range(3):
        register(api, f"user{number}@example.com", number)
        token = api.login(f"user{number}@example.com")["id"]
        body = {"newEmail": STRANGER, "password": PASSWORD}
        api("POST", "/users/change-email", body, token=token)
    before = len(subjects(api, {STRANGER}))

    register(api, STRANGER, 100)
    api("POST", "/users/reset", {"email": STRANGER})

    assert subjects(api, {STRANGER})[before:] == [
        "Confirm your email address",
        "Set a new password",
    ]


def test_after_an_hour_there_is_a_new_budget(mailing):
    api = mailing(EMAIL_VERIFICATION="optional")
    for number in range(3):
        register_for_a_while(api, STRANGER, number)
    before = len(subjects(api))

    pass_time(api.client.application, 3600)
    register(api, STRANGER, 100)

    assert (before, len(subjects(api))) == (LIMIT, LIMIT + 1)


def test_a_mail_that_is_tried_again_is_counted_once(mailing):
    port = free_port()
    api = mailing(EMAIL_VERIFICATION="optional", MAIL_URL=f"smtp://127.0.0.1:{port}")
    app = api.client.application

    with smtp_server(port, Postbox("451 try again later")) as postbox:
        register(api, STRANGER, 1)
        eventually(lambda: postbox.attempts >= 3)
        postbox.refusal = None
        postbox.wait()

    assert eventually(lambda: counts(app).get("mail_recipient")) == [1]


def test_mails_of_the_application_are_not_counted(mailing):
    api = mailing()
    with api.client.application.app_context():
        for _ in range(LIMIT + 3):
            send("email_changed", STRANGER, {}, lifetime=60)

    assert len(subjects(api)) == LIMIT + 3


def test_ten_mails_of_a_kind_are_sent_to_a_mailbox_in_an_hour(make_app):
    assert make_app().config["THROTTLES"]["mail_recipient"] == {"limit": 10, "seconds": 3600}
