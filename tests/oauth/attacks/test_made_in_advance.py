"""Accounts that somebody else made in advance, and what is left of them once the owner comes.

Pre-hijacking: https://arxiv.org/abs/2205.10174.
"""

import re

import pytest
from sqlalchemy import select

from app.audit.entries import Action
from app.audit.models import AuditRecord
from app.database.session import db
from app.signals import (
    email_change_request,
    email_code_request,
    identity_unlinked,
    verification_request,
)
from tests.conftest import NEW, PASSWORD
from tests.support.answers import refusal
from tests.support.races import at_once

EMAIL = "ada@example.com"
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def settings(settings):
    return {**settings, "EMAIL_VERIFICATION": "optional", "PERSONAL_TOKENS": {}}


@pytest.fixture
def mailed(app, secrets):
    """The tokens that are mailed, the newest last."""
    tokens = []

    def note(_sender, info):
        tokens.append(info["accessToken"].id)
        secrets.append(tokens[-1])

    with (
        email_code_request.connected_to(note, sender=app),
        verification_request.connected_to(note, sender=app),
        email_change_request.connected_to(note, sender=app),
    ):
        yield tokens


@pytest.fixture
def attacker(make_browser):
    return make_browser()


@pytest.fixture
def made_in_advance(api, attacker, other_provider, mailed):
    """Register with the address of somebody else, and add an identity; return the token."""
    token = api.newcomer()
    add_identity(attacker, other_provider, token)
    return token


def add_identity(browser, provider, token, subject="attacker"):
    browser.client.set_cookie("access_token", token)
    provider.user |= {"sub": subject, "email": "eve@example.com"}
    assert browser.log_in("/link/other", headers=SAME_SITE).status_code == 302


def reset(api, reset_events, email=EMAIL):
    api("POST", "/users/reset", {"email": email})
    token = reset_events[-1]["accessToken"].id
    response = api("POST", "/users/reset-password", {"newPassword": NEW}, token=token)
    assert response.status_code == 204


def confirm(client, token, **form):
    return client.post("/confirm-email", data={"token": token, **form})


def ticks(page):
    """Return the names of the boxes of a page that can be ticked, none of which is."""
    boxes = re.findall(r"<input type=\"checkbox\"[^>]*>", page.text)
    assert not any("checked" in box for box in boxes)
    return [re.search(r'name="([^"]+)"', box)[1] for box in boxes]


def subjects(api, token, user_id=1):
    found = api("GET", f"/users/{user_id}/identities", token=token)
    return [identity["subject"] for identity in found.json]


def records(app, *actions):
    chosen = select(AuditRecord.action).where(AuditRecord.action.in_(actions))
    with app.app_context():
        return list(db.session.scalars(chosen.order_by(AuditRecord.id)))


def owners_token(api, password=NEW):
    response = api("POST", "/users/login", {"email": EMAIL, "password": password})
    api.secrets.append(response.json["id"])
    return response.json["id"]


def test_a_reset_after_the_confirmation_removes_what_was_added_before_it(
    app, api, client, attacker, made_in_advance, mailed, reset_events, make_browser
):
    # An application of LoopBack 3's kind, which asks nothing, confirms the address.
    confirmed = client.get(f"/api/users/confirm?uid=1&token={mailed[0]}")

    reset(api, reset_events)

    assert confirmed.status_code == 204
    assert subjects(api, owners_token(api)) == []
    assert api("GET", "/users/1", token=made_in_advance).status_code == 401
    again = make_browser()
    again.log_in("/auth/other")
    assert again.client.get_cookie("userId").value == "2"
    assert records(app, Action.IDENTITY_UNLINKED) == [Action.IDENTITY_UNLINKED]


def test_a_reset_keeps_what_was_added_after_the_confirmation(
    api, client, browser, other_provider, mailed, reset_events
):
    token = api.newcomer()
    client.get(f"/api/users/confirm?uid=1&token={mailed[0]}")
    add_identity(browser, other_provider, token, "owner")

    reset(api, reset_events)

    assert subjects(api, owners_token(api)) == ["owner"]


@pytest.mark.parametrize("new", [None, "countess@example.com"])
def test_a_code_that_is_typed_in_a_session_shows_that_its_user_has_added_all(
    api, browser, other_provider, mailed, reset_events, new
):
    token, body = api.newcomer(), {"email": new} if new else {}
    add_identity(browser, other_provider, token, "owner")
    api("POST", "/users/email-code", body, token=token)
    proved = api("POST", "/users/email-code/confirm", {"code": mailed[-1]}, token=token)
    if new:
        changed = api("PATCH", "/users/1", body, token=token)
        assert changed.json["emailVerified"] is True

    reset(api, reset_events, new or EMAIL)

    assert proved.status_code == 204
    login = api("POST", "/users/login", {"email": new or EMAIL, "password": NEW}).json["id"]
    api.secrets.append(login)
    assert subjects(api, login) == ["owner"]


def test_the_page_shows_what_was_added_and_removes_what_is_not_ticked(
    app, api, client, attacker, made_in_advance, mailed, other_provider, make_browser
):
    other_provider.user |= {"name": "<Eve>", "email": None}
    make_browser().log_in("/auth/other")

    page = client.get(f"/confirm-email?token={mailed[0]}")
    identities_before = subjects(api, made_in_advance)
    done = confirm(client, mailed[0])

    assert ticks(page) == ["identity-1", "endSessions"]
    assert "&lt;Eve&gt;" in page.text
    assert "other" in page.text
    assert identities_before == ["attacker"]
    assert done.status_code == 200
    assert "removed" in done.text
    assert subjects(api, owners_token(api, PASSWORD)) == []
    # A session may be that of who has added it.
    assert api("GET", "/users/1", token=made_in_advance).status_code == 401
    assert attacker.client.get("/api/users/1").status_code == 401
    found = records(app, Action.EMAIL_VERIFIED, Action.IDENTITY_UNLINKED, Action.SESSION_REVOKED)
    assert found == ["email-verified", "identity-unlinked", "session-revoked"]


def test_what_is_ticked_stays_and_a_reset_keeps_it(
    api, client, made_in_advance, mailed, reset_events
):
    done = confirm(client, mailed[0], **{"identity-1": "keep"})
    session = api("GET", "/users/1", token=made_in_advance)

    reset(api, reset_events)

    assert done.status_code == 200
    assert "removed" not in done.text
    # Who added it need not log in again.
    assert session.json["emailVerified"] is True
    assert subjects(api, owners_token(api)) == ["attacker"]


@pytest.mark.both_databases
def test_who_confirms_may_end_the_sessions_that_are_open(app, api, client, mailed):
    token = api.newcomer()
    api.login()

    page = client.get(f"/confirm-email?token={mailed[0]}")
    confirm(client, mailed[0], endSessions="yes")

    assert ticks(page) == ["endSessions"]
    assert "2 sessions" in page.text
    assert api("GET", "/users/1", token=token).status_code == 401
    assert records(app, Action.SESSION_REVOKED) == [Action.SESSION_REVOKED]


def test_without_anything_to_decide_the_page_asks_nothing_and_ends_no_session(api, client, mailed):
    api.register()
    page = client.get(f"/confirm-email?token={mailed[0]}")
    token = api.login()["id"]

    assert ticks(page) == []
    assert confirm(client, mailed[0]).status_code == 200
    assert api("GET", "/users/1", token=token).json["emailVerified"] is True


def test_names_of_a_form_that_are_none_keep_nothing(api, client, made_in_advance, mailed):
    wrong = {"identity-2": "keep", "identity-01": "keep", "identity-": "keep", "1": "keep"}

    confirm(client, mailed[0], **wrong, **{f"identity-{'9' * 5000}": "keep"})

    assert subjects(api, owners_token(api, PASSWORD)) == []


def test_an_identity_that_is_added_while_the_page_is_read_is_removed(
    api, client, attacker, other_provider, mailed
):
    token = api.newcomer()
    client.get(f"/confirm-email?token={mailed[0]}")
    add_identity(attacker, other_provider, token)

    confirm(client, mailed[0])

    assert subjects(api, owners_token(api, PASSWORD)) == []


@pytest.mark.both_databases
def test_an_identity_that_is_added_while_the_address_is_confirmed_comes_before_or_after_it(
    app, api, attacker, other_provider, mailed
):
    attacker.client.set_cookie("access_token", api.newcomer())
    other_provider.user |= {"sub": "attacker", "email": "eve@example.com"}
    callback = attacker.authorize("/link/other", headers=SAME_SITE)

    added, confirmed = at_once(
        app,
        lambda _: attacker.open(callback),
        lambda client: confirm(client, mailed[0]),
    )

    assert confirmed.status_code == 200
    is_removed = "is removed" in confirmed.text
    assert added.status_code == 302
    assert len(subjects(api, owners_token(api, PASSWORD))) == (not is_removed)


@pytest.mark.both_databases
def test_an_account_that_is_given_to_another_address_keeps_no_identity(
    api, client, attacker, other_provider, mailed, reset_events
):
    """Its owner has proved one address, and gives the account the address of somebody else."""
    api.register("eve@example.com")
    client.get(f"/api/users/confirm?uid=1&token={mailed[0]}")
    token = api.login("eve@example.com")["id"]
    add_identity(attacker, other_provider, token)
    api("PATCH", "/users/1", {"email": EMAIL, "password": PASSWORD}, token=token)

    page = client.get(f"/confirm-email?token={mailed[-1]}")
    reset(api, reset_events)

    assert ticks(page)[0] == "identity-1"
    assert subjects(api, owners_token(api)) == []


def test_an_identity_of_an_unproved_provider_login_is_shown_too(
    api, client, attacker, other_provider, mailed
):
    other_provider.user |= {"email_verified": False}
    attacker.log_in("/auth/other")

    page = client.get(f"/confirm-email?token={mailed[0]}")
    confirm(client, mailed[0])

    assert ticks(page) == ["identity-1", "endSessions"]
    assert api("GET", "/users/1", token=attacker.token).status_code == 401
    assert refusal(attacker.log_in("/auth/other")) == (409, "ACCOUNT_EXISTS")


def test_events_tell_of_what_is_removed(app, client, made_in_advance, mailed):
    found = []

    def note(sender, info):
        found.append((info["identity"].subject, info["user"].id))

    with identity_unlinked.connected_to(note, sender=app):
        confirm(client, mailed[0])

    assert found == [("attacker", 1)]


@pytest.fixture
def confirmed_changes(settings):
    settings["EMAIL_CHANGE"] = "confirmed"


def request_change(api, token, email):
    body = {"newEmail": email, "password": PASSWORD}
    assert api("POST", "/users/change-email", body, token=token).status_code == 204


@pytest.mark.usefixtures("confirmed_changes")
def test_whoever_is_led_to_take_an_account_keeps_no_identity_of_its_owner(
    api, client, attacker, other_provider, mailed
):
    api.register("eve@example.com")
    confirm(client, mailed[0])
    token = api.login("eve@example.com")["id"]
    add_identity(attacker, other_provider, token)
    request_change(api, token, EMAIL)

    page = client.get(f"/confirm-email?token={mailed[-1]}")
    done = confirm(client, mailed[-1])

    assert ticks(page) == ["identity-1"]
    assert done.status_code == 200
    assert subjects(api, owners_token(api, PASSWORD)) == []


@pytest.mark.usefixtures("confirmed_changes")
def test_a_change_of_address_that_was_asked_for_before_does_not_survive(api, client, mailed):
    token = api.newcomer()
    request_change(api, token, "eve@example.com")

    confirm(client, mailed[0])

    assert confirm(client, mailed[-1]).status_code == 400
