"""Limits on the mails that clients, one or many, cause for one mailbox."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from app.audit.models import AuditRecord
from app.database.session import db
from app.mail import send
from app.outbox.models import DELIVERED, OBSOLETE, PENDING, Delivery, OutboxEvent
from app.times import now
from app.users.models import User
from app.users.service import set_password
from tests.conftest import PASSWORD, Api
from tests.support.ports import free_port
from tests.support.smtp import Postbox, smtp_server
from tests.support.throttles import counts, pass_time
from tests.support.waiting import eventually

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


CHANGED = "The email address of your account was changed"
LOGINS = "The ways to log in to your account were changed"


@pytest.fixture
def owner(mailing):
    """The API of a service with a user, the one with id 1, whose address is verified."""
    api = mailing(THROTTLES={**FEW, "notice_user": {"limit": LIMIT}})
    register(api, STRANGER, 1)
    verify(api, 1)
    return api


def verify(api, user_id):
    with api.client.application.app_context():
        db.session.execute(update(User).where(User.id == user_id).values(email_verified=True))
        db.session.commit()


def change_password(api, times=1, user_id=1):
    """Set the password of a user, and deliver what is due."""
    for _ in range(times):
        with api.client.application.app_context():
            set_password(user_id, PASSWORD)
    return subjects(api, {STRANGER})


def latest_deadline(api):
    with api.client.application.app_context():
        return db.session.scalar(select(func.max(OutboxEvent.deadline)))


def make_due(api, seconds_left=None):
    """Make what waits due, and let its event have so many seconds left."""
    with api.client.application.app_context():
        db.session.execute(update(Delivery).values(next_attempt=now() - timedelta(seconds=60)))
        if seconds_left is not None:
            deadline = now() + timedelta(seconds=seconds_left)
            db.session.execute(update(OutboxEvent).values(deadline=deadline))
        db.session.commit()


def test_strangers_use_up_nothing_of_what_a_verified_address_is_told(owner):
    owner.register("stranger+0@example.com")
    token = owner.login("stranger+0@example.com")["id"]
    for number in range(1, 2 * LIMIT + 1):
        changed = {"email": f"stranger+{number}@example.com"}
        assert owner("PATCH", "/users/2", changed, token=token).status_code == 200
        written(owner)
    for _ in range(2 * LIMIT):
        change_password(owner, user_id=2)
    token = owner.login(STRANGER)["id"]
    owner("PATCH", "/users/1", {"email": "stranger.one@example.com"}, token=token)

    assert subjects(owner, {STRANGER}) == [CHANGED]
    # An address that is not verified is told up to the limit of its mailbox.
    aliases = {f"stranger+{number}@example.com" for number in range(2 * LIMIT + 1)}
    assert sorted(subjects(owner, aliases)) == [CHANGED] * LIMIT + [LOGINS] * LIMIT


def test_a_verified_address_is_told_of_a_new_password_after_others_of_the_mailbox(owner):
    for number in range(2):
        register(owner, f"stranger+{number}@example.com", number)
        change_password(owner, LIMIT, user_id=2 + number)

    assert change_password(owner) == [LOGINS]


def test_a_verified_address_is_told_that_another_one_was_asked_for(mailing):
    api = mailing(EMAIL_CHANGE="confirmed")
    told = []
    for number, email in enumerate([f"stranger+{n}@example.com" for n in range(3)] + [STRANGER]):
        user_id = register(api, email, number)
        body = {"newEmail": f"other{number}@example.com", "password": PASSWORD}
        if email == STRANGER:
            verify(api, user_id)
        api("POST", "/users/change-email", body, token=api.login(email)["id"])
        told.append(len(subjects(api, {email})))

    assert told == [1, 1, 0, 1]


def test_what_is_too_much_is_told_later_and_once(owner):
    assert change_password(owner, LIMIT + 3) == [LOGINS] * LIMIT
    assert sorted(rows(owner)) == [(DELIVERED, LIMIT), (OBSOLETE, 2), (PENDING, 1)]

    make_due(owner)
    assert subjects(owner) == [LOGINS] * LIMIT
    pass_time(owner.client.application, 3600)
    make_due(owner)
    assert subjects(owner) == [LOGINS] * (LIMIT + 1)
    assert sorted(rows(owner)) == [(DELIVERED, LIMIT + 1), (OBSOLETE, 2)]


def test_what_waits_does_not_expire(owner):
    change_password(owner, LIMIT + 1)
    for _ in range(3):
        make_due(owner, seconds_left=10)
        near = latest_deadline(owner)
        written(owner)
        assert latest_deadline(owner) > near + timedelta(seconds=50)
    pass_time(owner.client.application, 3600)
    make_due(owner, seconds_left=10)

    assert subjects(owner) == [LOGINS] * (LIMIT + 1)


def test_a_notice_that_waits_is_no_request_that_was_refused(owner):
    change_password(owner, LIMIT + 1)

    with owner.client.application.app_context():
        refused = select(AuditRecord).where(AuditRecord.action == "throttled")
        assert db.session.scalars(refused).all() == []


def test_one_change_does_not_delay_that_another_is_told(owner):
    change_password(owner, LIMIT + 1)
    token = owner.login(STRANGER)["id"]
    owner("PATCH", "/users/1", {"email": "stranger.one@example.com"}, token=token)

    assert subjects(owner) == [LOGINS] * LIMIT + [CHANGED]


def test_a_notice_waits_for_a_user_who_was_deleted_too(owner):
    change_password(owner, LIMIT + 1)
    assert owner("DELETE", "/users/1", token=owner.login(STRANGER)["id"]).status_code == 200
    pass_time(owner.client.application, 3600)
    make_due(owner)

    assert subjects(owner) == [LOGINS] * (LIMIT + 1)
