"""The token that a mail has: that of the event, or another one beside it."""

import smtplib
from datetime import timedelta
from operator import itemgetter

import pytest
from sqlalchemy import delete, select

from app import outbox
from app.database.session import db
from app.mail.delivery import mailer
from app.outbox import delivery, maintenance
from app.outbox import service as outbox_service
from app.outbox.delivery import drain
from app.outbox.models import Delivery
from app.signals import reset_password_request
from app.times import now
from app.users.models import AccessToken
from app.users.service import delete_user
from tests.conftest import NEW, Api
from tests.mail.resets import LINK, parse, request_reset, written
from tests.outbox.conftest import make_past, rows
from tests.support.rows import expire
from tests.support.waiting import eventually, is_recent


@pytest.fixture
def api(make_app, secrets):
    """An API with a user, who has the id 1."""
    secrets.append(NEW)
    api = Api(make_app().test_client(), secrets)
    api.register()
    return api


@pytest.fixture
def app(api):
    return api.client.application


@pytest.fixture
def announced(app, api):
    """The token of the event of a reset that was requested."""
    tokens = []

    def record(sender, info):
        api.secrets.append(info["accessToken"].id)
        tokens.append(info["accessToken"].id)

    with reset_password_request.connected_to(record, sender=app):
        request_reset(api)
    return tokens[0]


@pytest.fixture
def left(app, monkeypatch, request):
    """The token of the event of a reset, whose mail the process has left to others."""
    monkeypatch.setattr(outbox_service, "DELIVERY_DELAY", 3600.0)
    announced = request.getfixturevalue("announced")
    outbox.stop(app)
    return announced


@pytest.fixture
def mailed(api):
    """Return a function that delivers what is due, and returns the tokens of all mails."""

    def mailed():
        mails = [parse(path.read_bytes()).get_body(["plain"]) for path in written(api)]
        tokens = [LINK.search(mail.get_content())[2] for mail in mails]
        api.secrets.extend(tokens)
        return tokens

    return mailed


def reset_status(api, token):
    return api("POST", "/users/reset-password", {"newPassword": NEW}, token=token).status_code


def states(app):
    return [state for [state] in rows(app, Delivery.state)]


def test_the_first_attempt_mails_the_token_of_the_event(app, api, announced, mailed):
    eventually(lambda: states(app) == ["delivered"])

    assert mailed() == [announced]
    assert reset_status(api, announced) == 204


@pytest.mark.parametrize("used", ["that of the event", "that of the mail"])
def test_another_process_mails_a_token_that_lives_as_long_as_that_of_the_event(
    app, api, left, mailed, used
):
    [[end]] = rows(app, AccessToken.expires_at, model=AccessToken)

    [token] = mailed()

    assert token != left
    ends = [found for [found] in rows(app, AccessToken.expires_at, model=AccessToken)]
    assert ends == pytest.approx([end, end], abs=timedelta(seconds=1))
    first, second = (left, token) if used == "that of the event" else (token, left)
    # Either sets the password, and ends the other one.
    assert [reset_status(api, value) for value in (first, second)] == [204, 401]


def test_each_attempt_replaces_the_token_of_the_one_before(app, api, left, mailed, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(delivery, "_finish", lambda *_: "killed")
        mailed()
    make_past(app, next_attempt=timedelta(0))

    first, second = mailed()

    assert len(rows(app, AccessToken.digest, model=AccessToken)) == 2
    assert [reset_status(api, value) for value in (first, second)] == [401, 204]


@pytest.mark.both_databases
def test_each_subscriber_of_an_event_gets_a_token_of_its_own(app, api, left, mailed):
    delivered = []

    def deliver(app, info):
        delivered.append(info["accessToken"].id)
        return "noted"

    outbox.subscribe(app, reset_password_request.name, "another", deliver)
    with app.app_context():
        event_id = db.session.scalar(select(Delivery.event_id))
        due = {"next_attempt": now() - timedelta(seconds=1)}
        again = {"event_id": event_id, "subscriber": "another", **due}
        db.session.add(Delivery(**again))
        db.session.commit()

    tokens = {left, *mailed(), *delivered}
    api.secrets.extend(delivered)

    assert len(tokens) == len(rows(app, AccessToken.digest, model=AccessToken)) == 3
    assert reset_status(api, delivered[0]) == 204


def test_the_value_of_a_token_is_in_no_table(
    app, api, left, mailed, databases, database_url, monkeypatch
):
    waiting = databases[database_url].dump()
    monkeypatch.setattr(delivery, "_finish", lambda *_: "killed")
    first = mailed()
    make_past(app, next_attempt=timedelta(0))
    *_, second = mailed()
    twice = databases[database_url].dump()

    assert len({left, *first, second}) == 3
    assert left not in waiting
    for token in (left, *first, second):
        assert token not in twice


@pytest.mark.parametrize("cause", ["used", "deleted", "changed", "expired"])
def test_a_token_that_is_of_no_use_any_more_is_not_mailed(app, api, left, mailed, cause):
    if cause == "used":
        assert reset_status(api, left) == 204
    elif cause == "deleted":
        with app.app_context():
            delete_user(1)
    elif cause == "changed":
        token = api.login()["id"]
        api("PATCH", "/users/1", {"email": "bob@example.com"}, token=token)
    else:
        expire(app, left)

    outbox.stop(app)
    drain(app)

    assert states(app)[0] == "obsolete"


@pytest.mark.parametrize("state", ["failed", "expired"])
@pytest.mark.parametrize("is_purged", [True, False])
def test_a_retry_mails_a_token_that_lives_as_long_as_the_first(
    app, api, left, mailed, monkeypatch, state, is_purged
):
    give_up(app, monkeypatch, state)
    expire(app, left)
    if is_purged:
        with app.app_context():
            db.session.execute(delete(AccessToken))
    with app.app_context():
        maintenance.retry()

    [token] = mailed()

    assert states(app) == ["delivered"]
    times = rows(app, AccessToken.ttl, AccessToken.expires_at, model=AccessToken)
    ttl, expires_at = max(times, key=itemgetter(1))
    assert 890 < ttl <= 900
    assert is_recent(expires_at - timedelta(seconds=ttl))
    assert [reset_status(api, value) for value in (left, token)] == [401, 204]


def test_a_retry_for_another_address_is_obsolete(app, api, left, mailed, monkeypatch):
    give_up(app, monkeypatch, "failed")
    token = api.login()["id"]
    api("PATCH", "/users/1", {"email": "bob@example.com"}, token=token)
    with app.app_context():
        maintenance.retry([1])

    outbox.stop(app)
    drain(app)

    assert states(app)[0] == "obsolete"


def test_the_notice_of_a_new_email_is_sent_though_the_user_is_deleted(app, api, monkeypatch):
    monkeypatch.setattr(outbox_service, "DELIVERY_DELAY", 3600.0)
    token = api.login()["id"]
    api("PATCH", "/users/1", {"email": "bob@example.com"}, token=token)
    outbox.stop(app)
    with app.app_context():
        delete_user(1)

    drain(app)

    assert states(app) == ["delivered"]


def give_up(app, monkeypatch, state):
    """Let the mail that waits fail, or expire."""
    if state == "expired":
        make_past(app, deadline=timedelta(seconds=1))
        drain(app)
    else:
        usual = mailer.of(app)

        def refuse(message):
            raise smtplib.SMTPDataError(550, "no")

        mailer.set(app, usual._replace(deliver=refuse))
        drain(app)
        mailer.set(app, usual)
    assert states(app) == [state]
