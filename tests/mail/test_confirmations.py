"""The mails that ask to confirm an address, from the request over SMTP to the click."""

import re
from contextlib import ExitStack

import pytest
from sqlalchemy import update

from app.database.session import db
from app.outbox import delivery as attempts
from app.outbox.delivery import drain
from app.outbox.models import FAILED, Delivery
from app.signals import email_change_request, verification_request
from tests.conftest import NEW, PASSWORD, Api
from tests.support.ports import free_port
from tests.support.smtp import Postbox, smtp_server

from .resets import parse, written

LINK = re.compile(r"(\S*)(/confirm-email\?token=([A-Za-z0-9]{64}))")
VERIFY = "Confirm your email address"
CHANGE = "Confirm your new email address"
NOTICE = "A new email address was requested for your account"
CHANGED = "The email address of your account was changed"
BODY = {"newEmail": "countess@example.com", "password": PASSWORD}


@pytest.fixture
def postbox():
    port = free_port()
    with smtp_server(port, Postbox()) as postbox:
        postbox.url = f"smtp://127.0.0.1:{port}"
        yield postbox


@pytest.fixture
def api(make_app, postbox, secrets):
    settings = {"EMAIL_VERIFICATION": "required", "EMAIL_CHANGE": "confirmed"}
    app = make_app(**settings, MAIL_URL=postbox.url, PUBLIC_URL="https://todo.example.com")
    return Api(app.test_client(), secrets)


def read(envelope, secrets):
    """Return the recipient, the subject and the link of a mail, the same in both of its parts."""
    message = parse(envelope.content)
    assert [message["To"]] == envelope.rcpt_tos
    parts = [message.get_body([kind]).get_content() for kind in ("plain", "html")]
    links = {found.groups() if (found := LINK.search(part)) else None for part in parts}
    [link] = {link and (link[0].removeprefix('href="'), *link[1:]) for link in links}
    if link:
        secrets.append(link[2])
        assert all("48 hours" in part for part in parts)
    return message["To"], message["Subject"], link


def click(api, path):
    """Open the link and press the button."""
    token = path.partition("=")[2]
    assert api.client.get(path).status_code == 200
    return api.client.post("/confirm-email", data={"token": token})


def verified(api, secrets, postbox, email="ada@example.com"):
    """Register a user and confirm the address by the mail; return a token."""
    api.register(email)
    _, _, (_, path, _) = read(postbox.wait(), secrets)
    click(api, path)
    return api.login(email)["id"]


def test_a_registration_is_confirmed_by_its_mail(api, postbox, secrets):
    api.register("ada@example.com")

    to, subject, (base, path, _) = read(postbox.wait(), secrets)
    early = api("POST", "/users/login", {"email": "ada@example.com", "password": PASSWORD})
    done = click(api, path)

    assert (to, subject) == ("ada@example.com", VERIFY)
    assert base == "https://todo.example.com"
    assert early.status_code == 401
    assert done.status_code == 200
    assert api.login()["userId"] == 1


def test_the_mail_is_sent_again_on_request_alone_to_unverified_users(api, postbox, secrets):
    api.register("ada@example.com")
    first = read(postbox.wait(), secrets)[2]

    for user_id in ("1", "99"):
        api("POST", f"/users/{user_id}/verify")
    second = read(postbox.wait(), secrets)[2]
    click(api, second[1])
    api("POST", "/users/1/verify")
    drain(api.client.application)

    assert first != second
    assert postbox.messages.empty()


def test_a_new_address_gets_the_link_and_the_old_one_a_notice(api, postbox, secrets):
    token = verified(api, secrets, postbox)

    api("POST", "/users/change-email", BODY, token=token)
    link, notice = sorted((read(postbox.wait(), secrets) for _ in range(2)), reverse=True)
    done = click(api, link[2][1])
    told = read(postbox.wait(), secrets)

    assert link[:2] == ("countess@example.com", CHANGE)
    assert notice == ("ada@example.com", NOTICE, None)
    assert done.status_code == 200
    assert told == ("ada@example.com", CHANGED, None)
    assert api.login("countess@example.com")["userId"] == 1


def test_a_taken_address_is_asked_and_both_requests_send_the_same_mails(api, postbox, secrets):
    verified(api, secrets, postbox, "countess@example.com")
    token = verified(api, secrets, postbox)
    sent = {}

    for email in ("countess@example.com", "free@example.com"):
        api("POST", "/users/change-email", {**BODY, "newEmail": email}, token=token)
        mails = sorted(read(postbox.wait(), secrets) for _ in range(2))
        sent[email] = [(to, subject) for to, subject, _ in mails]

    assert [to for to, _ in sent["countess@example.com"]] == [
        "ada@example.com",
        "countess@example.com",
    ]
    assert [message for _, message in sent["countess@example.com"]] == [
        message for _, message in sent["free@example.com"]
    ]


@pytest.fixture
def unattended(make_app, secrets):
    """An API whose mails wait until they are delivered by `drain`, in files."""
    settings = {"EMAIL_VERIFICATION": "optional", "OUTBOX_IN_PROCESS": False}
    return lambda **more: Api(make_app(**settings, **more).test_client(), secrets)


def drained(api, secrets):
    """Deliver what waits; return the mails by recipient and subject, with their links."""
    drain(api.client.application)
    mails = [parse(path.read_bytes()) for path in written(api)]
    links = [LINK.search(mail.get_body(["plain"]).get_content()) for mail in mails]
    secrets += [link[3] for link in links if link]
    return {
        (mail["To"], mail["Subject"]): link and link[2]
        for mail, link in zip(mails, links, strict=True)
    }


def test_what_another_process_sends_has_a_token_that_works(unattended, secrets, events_of):
    """The database has no token value: only the process that issued a token can send it.

    The tokens of the events stay valid, since the application may have sent them.
    """
    api = unattended(EMAIL_CHANGE="confirmed")
    issued = events_of(api)
    # Whoever confirms the present address cancels a change of it.
    for email in ("ada@example.com", "bob@example.com"):
        api.register(email)
    api("POST", "/users/change-email", BODY, token=api.login("bob@example.com")["id"])

    mails = drained(api, secrets)
    verify, change = mails["ada@example.com", VERIFY], mails["countess@example.com", CHANGE]

    assert len(mails) == 4
    assert {verify[-64:], change[-64:]}.isdisjoint(issued)
    for token in issued:
        assert api.client.get(f"/confirm-email?token={token}").status_code == 200
    assert click(api, verify).status_code == 200
    assert click(api, change).status_code == 200
    assert api.login("countess@example.com")["userId"] == 2


@pytest.fixture
def events_of(secrets):
    """Note the tokens of the events of an API's app."""
    with ExitStack() as stack:

        def events_of(api):
            tokens = []

            def record(sender, info):
                secrets.append(info["accessToken"].id)
                tokens.append(info["accessToken"].id)

            for event in (verification_request, email_change_request):
                app = api.client.application
                stack.enter_context(event.connected_to(record, sender=app))
            return tokens

        yield events_of


def test_a_mail_to_confirm_an_address_that_is_gone_is_not_sent(unattended, secrets):
    api = unattended()
    for email in ("ada@example.com", "bob@example.com"):
        api.register(email)
    api("PATCH", "/users/1", {"email": "countess@example.com"}, token=api.login()["id"])
    api("DELETE", "/users/2", token=api.login("bob@example.com")["id"])

    assert drained(api, secrets).keys() == {
        ("ada@example.com", CHANGED),
        ("countess@example.com", VERIFY),
    }


def test_a_mail_for_a_change_that_was_replaced_or_cancelled_is_not_sent(unattended, secrets):
    secrets.append(NEW)
    api = unattended(EMAIL_CHANGE="confirmed")
    api.register("ada@example.com")
    token = api.login()["id"]
    for email in ("first@example.com", "second@example.com"):
        api("POST", "/users/change-email", {**BODY, "newEmail": email}, token=token)
    replaced = drained(api, secrets)
    api("POST", "/users/change-email", BODY, token=token)
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    api("POST", "/users/change-password", body, token=token)

    assert ("first@example.com", CHANGE) not in replaced
    assert ("second@example.com", CHANGE) in replaced
    assert ("countess@example.com", CHANGE) not in drained(api, secrets)


def test_a_retry_does_not_bring_a_cancelled_change_back(unattended, secrets, monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 3600.0)
    secrets.append(NEW)
    api = unattended(EMAIL_CHANGE="confirmed", MAIL_URL=f"smtp://127.0.0.1:{free_port()}")
    api.register("ada@example.com")
    token = api.login()["id"]
    api("POST", "/users/change-email", BODY, token=token)
    with api.client.application.app_context():
        db.session.execute(update(Delivery).values(state=FAILED))
        db.session.commit()
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    api("POST", "/users/change-password", body, token=token)

    runner = api.client.application.test_cli_runner()
    retried = runner.invoke(args=["outbox", "retry", "--all"]).output
    outcomes = drain(api.client.application)

    assert retried == "3 deliveries are tried again.\n"
    # The notices of the requested address and of the new password.
    assert outcomes == {"obsolete": 2, "delayed": 2}
