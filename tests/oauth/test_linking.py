"""The user whom a login by a provider identifies; adding and removing identities."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, text, update

from app import outbox
from app.access.policy import factor_kinds
from app.audit.entries import Action
from app.audit.models import AuditRecord
from app.database.session import db
from app.oauth.models import ExternalIdentity
from app.outbox.delivery import drain
from app.signals import (
    account_claimed,
    email_verified,
    identity_linked,
    identity_login,
    identity_unlinked,
)
from app.users.accounts.registration import create_user
from app.users.accounts.removal import disable_user
from app.users.models import User
from tests.conftest import NEW, PASSWORD, login_status
from tests.mail.resets import parse
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import make_old

from .conftest import forget_discovery

EMAIL = "ada@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
def configured(shared_app, provider):
    """Make the app of a test one whose provider and settings are these."""

    def configured(settings=None, **entry):
        providers = {"test": provider.settings(**entry)}
        app = shared_app(PROVIDERS=providers, TOKEN_MIDDLEWARE={}, **(settings or {}))
        forget_discovery(app)
        return app

    return configured


def log_in(app, make_browser):
    browser = make_browser()
    browser.client = app.test_client()
    return browser, browser.log_in()


def add_user(app, **fields):
    with app.app_context():
        return create_user(EMAIL, PASSWORD, **fields).id


def identities(app):
    with app.app_context():
        rows = db.session.scalars(select(ExternalIdentity).order_by(ExternalIdentity.id)).all()
        return [(row.user_id, row.issuer, row.subject) for row in rows]


def actions(app):
    with app.app_context():
        return list(db.session.scalars(select(AuditRecord.action).order_by(AuditRecord.id)))


@contextmanager
def events(app):
    """Note the names of the events of identities, and of verified addresses."""
    found = []
    signals = [identity_login, identity_linked, identity_unlinked, email_verified]
    receivers = [lambda _, info, name=signal.name: found.append(name) for signal in signals]
    for signal, receiver in zip(signals, receivers, strict=True):
        signal.connect(receiver, sender=app)
    yield found
    for signal, receiver in zip(signals, receivers, strict=True):
        signal.disconnect(receiver, sender=app)


def test_a_first_login_registers_a_user_without_a_password(app, browser, api):
    with events(app) as found:
        response = browser.log_in()

    assert (response.status_code, response.headers["Location"]) == (302, "/welcome")
    user = api("GET", "/users/1", token=browser.token).json
    assert (user["email"], user["emailVerified"]) == (EMAIL, True)
    assert found == ["identityLinked", "identityLogin"]
    assert actions(app) == ["registered", "identity-linked", "login"]
    [identity] = api("GET", "/users/1/identities", token=browser.token).json
    assert identity["profile"] == {"name": "Ada Lovelace", "email": EMAIL}
    assert (identity["provider"], identity["subject"]) == ("test", browser.provider.user["sub"])


def test_a_second_login_is_that_of_the_same_user_whatever_the_email_is_now(
    provider, browser, make_browser, api
):
    browser.log_in()
    provider.user["email"] = "countess@example.com"
    second = make_browser()

    second.log_in()

    assert second.client.get_cookie("userId").value == "1"
    assert api("GET", "/users/1", token=second.token).json["email"] == EMAIL


def test_a_session_is_prolonged_and_ended_as_any_other(configured, make_browser):
    app = configured({"TOKEN_SLIDING": True, "TOKEN_TOUCH_INTERVAL": 0})
    browser, response = log_in(app, make_browser)
    headers = {"Sec-Fetch-Site": "same-origin"}

    used = browser.client.get("/api/users/1", headers=headers)
    ended = browser.client.post("/api/users/logout", headers=headers)

    for cookies in (response.headers, used.headers):
        names = [cookie.partition("=")[0] for cookie in cookies.getlist("Set-Cookie")]
        assert names == ["access_token", "userId"]
    assert ended.status_code == 204
    assert browser.token is browser.client.get_cookie("userId") is None
    assert browser.client.get("/api/users/1").status_code == 401


def test_a_user_without_a_password_has_none_that_is_right(app, browser, api):
    browser.log_in()
    token = browser.token

    wrong = api("POST", "/users/login", CREDENTIALS)
    unknown = api("POST", "/users/login", {**CREDENTIALS, "email": "nobody@example.com"})
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    changed = api("POST", "/users/change-password", body, token=token)

    assert refusal(wrong) == (401, "LOGIN_FAILED")
    assert wrong.data == unknown.data
    assert refusal(changed) == (400, "INVALID_PASSWORD")
    assert "no password" in changed.json["message"]


def test_a_user_without_a_password_sets_one_by_a_reset(app, browser, api, reset_events):
    browser.log_in()
    api("POST", "/users/reset", {"email": EMAIL})
    reset_token = reset_events[-1]["accessToken"].id

    body = {"newPassword": PASSWORD}
    response = api("POST", "/users/reset-password", body, token=reset_token)

    assert response.status_code == 204
    assert login_status(api, PASSWORD) == 200
    # The address was verified before, by the provider.
    assert len(identities(app)) == 1


def test_the_commands_work_for_users_without_a_password(app, browser, tmp_path):
    browser.log_in()
    runner = app.test_cli_runner()

    listed = runner.invoke(args=["users", "list"])
    exported = runner.invoke(
        args=["users", "export", "--with-password-hashes", str(tmp_path / "u.csv")]
    )

    assert (listed.exit_code, exported.exit_code) == (0, 0), exported.output
    assert EMAIL in listed.output
    assert (tmp_path / "u.csv").read_text().splitlines()[-1].endswith(",")


@pytest.mark.parametrize(
    ("user", "claims", "trust", "expected"),
    [
        # A user with a verified address: nobody but a trusted provider says who that is.
        (True, {}, False, (409, "ACCOUNT_EXISTS")),
        (True, {}, True, "linked"),
        (True, {"email_verified": False}, True, (409, "ACCOUNT_EXISTS")),
        (True, {"email_verified": None}, True, (409, "ACCOUNT_EXISTS")),
        (True, {"email_verified": "yes"}, True, (409, "ACCOUNT_EXISTS")),
        # A user whose address was never verified may be somebody else.
        (False, {}, False, "claimed"),
        (False, {"email_verified": "true"}, False, "claimed"),
        (False, {"email_verified": None}, True, (409, "ACCOUNT_EXISTS")),
        # Nobody has the address.
        (None, {}, False, "registered"),
        (None, {"email_verified": None}, False, "registered"),
        (None, {"email": None}, False, (401, "LOGIN_FAILED")),
        (None, {"email": "no address"}, False, (401, "LOGIN_FAILED")),
        (None, {"email": ["ada@example.com"]}, False, (401, "LOGIN_FAILED")),
    ],
)
def test_an_email_leads_to_a_user_only_if_it_is_the_users(
    configured, provider, make_browser, user, claims, trust, expected
):
    app = configured(trustEmail=trust)
    if user is not None:
        add_user(app, email_verified=user)
    provider.user = {name: v for name, v in {**provider.user, **claims}.items() if v is not None}

    browser, response = log_in(app, make_browser)

    if isinstance(expected, tuple):
        assert refusal(response) == expected
        assert identities(app) == []
        assert browser.token is None
        return
    assert response.status_code == 302, response.text
    assert identities(app) == [(1, provider.url, provider.user["sub"])]
    done = {"claimed": ["account-claimed"], "registered": ["registered"]}.get(expected, [])
    assert actions(app)[-len(done) - 2 :] == [*done, "identity-linked", "login"]


def test_an_account_that_is_claimed_keeps_no_credential(
    configured, provider, make_browser, api, secrets
):
    app = configured()
    client = api.client = app.test_client(use_cookies=False)
    # Somebody registers with the address of somebody else, by a password and by an identity.
    add_user(app)
    stolen = api.login()["id"]
    with app.app_context():
        user = {"user_id": 1, "provider": "test", "issuer": provider.url, "profile": {}}
        db.session.add(ExternalIdentity(**user, subject="of somebody else"))
        db.session.commit()

    with events(app) as found:
        browser, response = log_in(app, make_browser)

    assert response.status_code == 302
    assert found == ["identityUnlinked", "emailVerified", "identityLinked", "identityLogin"]
    assert identities(app) == [(1, provider.url, provider.user["sub"])]
    assert login_status(api, PASSWORD) == 401
    assert client.get("/api/users/1", headers={"Authorization": stolen}).status_code == 401
    assert api("GET", "/users/1", token=browser.token).json["emailVerified"] is True


def test_a_reset_that_proves_the_address_removes_the_identities_of_who_did_not(
    configured, provider, make_browser, api, reset_events
):
    app = configured()
    provider.user["email_verified"] = False
    log_in(app, make_browser)
    api.client = app.test_client(use_cookies=False)
    api("POST", "/users/reset", {"email": EMAIL})

    body = {"newPassword": PASSWORD}
    api("POST", "/users/reset-password", body, token=reset_events[-1]["accessToken"].id)

    assert identities(app) == []
    assert refusal(log_in(app, make_browser)[1]) == (409, "ACCOUNT_EXISTS")


def test_a_disabled_user_cannot_log_in_and_is_not_claimed(configured, make_browser):
    app = configured(trustEmail=True)
    add_user(app)
    with app.app_context():
        disable_user(1)

    _, response = log_in(app, make_browser)

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert identities(app) == []
    with app.app_context():
        assert db.session.get(User, 1).password_hash is not None


def test_a_user_who_is_disabled_after_the_first_login_cannot_log_in(app, browser, make_browser):
    browser.log_in()
    with app.app_context():
        disable_user(1)

    response = make_browser().log_in()

    assert refusal(response) == (401, "LOGIN_FAILED")


def test_without_open_registration_only_users_log_in(configured, provider, make_browser):
    app = configured({"REGISTRATION_OPEN": False}, trustEmail=True)

    _, stranger = log_in(app, make_browser)
    add_user(app, email_verified=True)
    _, known = log_in(app, make_browser)

    assert refusal(stranger) == (401, "LOGIN_FAILED")
    assert known.status_code == 302


def test_a_user_must_confirm_an_address_that_the_provider_has_not_verified(
    configured, provider, make_browser
):
    app = configured({"EMAIL_VERIFICATION": "required"})
    provider.user["email_verified"] = False

    browser, response = log_in(app, make_browser)

    assert refusal(response) == (401, "LOGIN_FAILED_EMAIL_NOT_VERIFIED")
    assert response.json["error"]["details"] == {"userId": 1}
    assert browser.token is None
    with app.app_context():
        db.session.execute(update(User).values(email_verified=True))
        db.session.commit()
    assert log_in(app, make_browser)[1].status_code == 302


def test_users_are_found_and_registered_in_the_realm_of_the_settings(
    configured, provider, make_browser
):
    app = configured({"REALM_REQUIRED": True}, realm="readers", trustEmail=True)
    add_user(app, realm="writers", email_verified=True)

    log_in(app, make_browser)

    assert identities(app) == [(2, provider.url, provider.user["sub"])]
    with app.app_context():
        assert db.session.get(User, 2).realm == "readers"


def test_a_user_adds_an_identity_and_removes_it(app, api, provider, browser):
    token = api.newcomer()
    browser.client.set_cookie("access_token", token)
    headers = {"Sec-Fetch-Site": "same-origin"}
    provider.user["email"] = "another@example.com"

    with events(app) as found:
        response = browser.log_in("/link/test", headers=headers)
        [identity] = api("GET", "/users/1/identities", token=token).json
        removed = api("DELETE", f"/users/1/identities/{identity['id']}", token=token)

    assert (response.status_code, response.headers["Location"]) == (302, "/welcome")
    assert removed.status_code == 204
    assert api("GET", "/users/1/identities", token=token).json == []
    assert found == ["identityLinked", "identityUnlinked"]
    assert actions(app)[-2:] == [Action.IDENTITY_LINKED, Action.IDENTITY_UNLINKED]
    again = api("DELETE", f"/users/1/identities/{identity['id']}", token=token)
    assert refusal(again) == (404, "MODEL_NOT_FOUND")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, (403, "ACCESS_DENIED")),
        ({"Sec-Fetch-Site": "same-site"}, (403, "ACCESS_DENIED")),
        ({}, (403, "ACCESS_DENIED")),
    ],
)
def test_only_pages_of_this_site_begin_to_add_an_identity(api, browser, headers, expected):
    browser.client.set_cookie("access_token", api.newcomer())

    assert refusal(browser.begin("/link/test", headers=headers)) == expected


def test_of_a_user_with_a_second_factor_an_identity_is_added_after_a_recent_login_only(
    app, api, browser
):
    token, headers = api.newcomer(), {"Sec-Fetch-Site": "same-origin"}
    browser.client.set_cookie("access_token", token)
    make_old(app, token)
    before = browser.begin("/link/test", headers=headers)
    with app.app_context():
        factor_kinds.current.append(lambda user_id: ["totp"] if user_id == 1 else [])
    refused = browser.begin("/link/test", headers=headers)
    make_old(app, token, 290)
    recent = browser.begin("/link/test", headers=headers)

    assert (before.status_code, recent.status_code) == (302, 302)
    assert refusal(refused) == (401, "STRONGER_LOGIN_REQUIRED")


def test_adding_an_identity_needs_a_session_but_not_one_in_the_address(api, browser):
    token = api.newcomer()

    anonymous = browser.begin("/link/test")
    in_the_address = browser.begin(f"/link/test?access_token={token}")

    assert refusal(anonymous) == (401, "AUTHORIZATION_REQUIRED")
    assert refusal(in_the_address) == (401, "AUTHORIZATION_REQUIRED")


def test_who_began_to_add_an_identity_must_be_who_ends_it(app, api, provider, browser):
    headers = {"Sec-Fetch-Site": "same-origin"}
    browser.client.set_cookie("access_token", api.newcomer())
    callback = browser.authorize("/link/test", headers=headers)
    browser.client.set_cookie("access_token", api.newcomer("mallory@example.com"))

    assert refusal(browser.open(callback)) == (401, "LOGIN_FAILED")
    assert identities(app) == []


def test_a_login_does_not_end_where_an_identity_is_added_nor_the_other_way_round(app, api, browser):
    headers = {"Sec-Fetch-Site": "same-origin"}
    browser.client.set_cookie("access_token", api.newcomer())
    to_link = browser.authorize("/link/test", headers=headers)
    to_log_in = browser.authorize("/auth/test")

    swapped = browser.open(to_link.replace("/link/", "/auth/"))
    other = browser.open(to_log_in.replace("/auth/", "/link/"))

    assert (refusal(swapped), refusal(other)) == ((401, "LOGIN_FAILED"), (401, "LOGIN_FAILED"))
    assert identities(app) == []


def test_an_identity_of_another_user_is_not_added(app, api, provider, browser, make_browser):
    make_browser().log_in()
    browser.client.set_cookie("access_token", api.newcomer("mallory@example.com"))

    response = browser.log_in("/link/test", headers={"Sec-Fetch-Site": "same-origin"})

    assert refusal(response) == (409, "ACCOUNT_EXISTS")
    assert [user for user, _, _ in identities(app)] == [1]


def test_the_last_way_to_log_in_is_not_removed(app, browser, provider, api):
    browser.log_in()
    token = browser.token
    with app.app_context():
        # A way to log in only while the provider is configured.
        gone = {"user_id": 1, "provider": "gone", "issuer": "https://gone.example", "profile": {}}
        db.session.add(ExternalIdentity(**gone, subject="1"))
        db.session.commit()
    first, second = (
        identity["id"] for identity in api("GET", "/users/1/identities", token=token).json
    )

    last = api("DELETE", f"/users/1/identities/{first}", token=token)
    other = api("DELETE", f"/users/1/identities/{second}", token=token)

    assert refusal(last) == (400, "LAST_CREDENTIAL")
    assert other.status_code == 204


@pytest.mark.both_databases
def test_of_two_identities_removed_at_once_one_stays(app, browser, provider, secrets):
    browser.log_in()
    token = browser.token
    with app.app_context():
        own = {"user_id": 1, "provider": "test", "issuer": provider.url, "profile": {}}
        db.session.add(ExternalIdentity(**own, subject="another"))
        db.session.commit()

    headers = {"Authorization": token}

    responses = at_once(
        app,
        lambda client: client.delete("/api/users/1/identities/1", headers=headers),
        lambda client: client.delete("/api/users/1/identities/2", headers=headers),
    )

    assert sorted(response.status_code for response in responses) == [204, 400]
    assert len(identities(app)) == 1


def mails(app):
    outbox.stop(app)
    drain(app)
    folder = Path(app.config["MAIL_FOLDER"])
    found = [parse(path.read_bytes()) for path in sorted(folder.iterdir())]
    for path in folder.iterdir():
        path.unlink()
    return found


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_user_whose_unproved_password_is_removed_is_told(configured, make_browser, language):
    app = configured(label="Company login")
    mails(app)
    add_user(app)
    browser = make_browser()
    browser.client = app.test_client()
    claimed = []

    def note(sender, info):
        claimed.append((info["provider"], info["email"], info["user"].id))

    with account_claimed.connected_to(note, sender=app):
        browser.log_in(headers={"Accept-Language": language})

    [message] = mails(app)
    text = message.get_body(["plain"]).get_content()
    assert (message["To"], message["Content-Language"]) == (EMAIL, language)
    assert "Company login" in text
    assert "Ostiary" in text
    assert claimed == [("Company login", EMAIL, 1)]


@pytest.mark.both_databases
def test_nobody_is_told_of_a_password_that_was_not_there(configured, provider, make_browser):
    app = configured()
    mails(app)
    provider.user["email_verified"] = False
    log_in(app, make_browser)
    provider.user |= {"email_verified": True, "sub": "the owner"}

    _, response = log_in(app, make_browser)

    assert response.status_code == 302
    assert Action.ACCOUNT_CLAIMED in actions(app)
    assert mails(app) == []


@pytest.mark.both_databases
def test_two_first_logins_at_once_are_of_one_user(app, make_browser, provider):
    first, second = make_browser(), make_browser()
    paths = first.authorize(), second.authorize()

    responses = at_once(
        app, lambda _client: first.open(paths[0]), lambda _client: second.open(paths[1])
    )

    assert [response.status_code for response in responses] == [302, 302]
    # The user's id may be 2: PostgreSQL gives none again, also not of an insert that failed.
    assert [found[1:] for found in identities(app)] == [(provider.url, provider.user["sub"])]


@pytest.mark.both_databases
def test_an_identity_that_cannot_be_recorded_is_not_added(app, browser):
    path = browser.authorize()
    with app.app_context():
        db.session.execute(text("ALTER TABLE audit RENAME TO hidden"))
        db.session.commit()
    try:
        failed = browser.open(path)
    finally:
        with app.app_context():
            db.session.execute(text("ALTER TABLE hidden RENAME TO audit"))
            db.session.commit()

    assert failed.status_code == 503
    assert identities(app) == []
    with app.app_context():
        assert db.session.scalar(select(User.id)) is None


def test_deleting_a_user_deletes_the_identities(app, browser, api):
    browser.log_in()

    assert api("DELETE", "/users/1", token=browser.token).status_code == 200
    assert identities(app) == []


def test_logins_that_begin_or_fail_are_counted_by_client(configured, make_browser, stopped_clock):
    rates = {name: {"limit": 2, "seconds": 60} for name in ("provider_login", "login_address")}
    app = configured({"THROTTLE_ENABLED": True, "THROTTLES": rates})

    _, succeeded = log_in(app, make_browser)
    client = app.test_client()
    begun = [client.get("/auth/test") for _ in range(2)]
    failed = [client.get("/auth/test/callback?state=unknown") for _ in range(3)]
    token = client.post("/auth/test/token", json={"id_token": "unknown"})

    assert succeeded.status_code == 302
    assert [answer.status_code for answer in begun] == [302, 429]
    # The login that succeeded is not counted.
    assert [answer.status_code for answer in failed] == [401, 401, 429]
    assert refusal(token) == (429, "TOO_MANY_REQUESTS")
    assert begun[-1].headers["Retry-After"] == "60"


def test_an_address_of_a_provider_has_no_spaces_around_it(app, api, browser, provider):
    provider.user["email"] = " ada@example.com "

    browser.log_in()

    assert api("GET", "/users/1", token=browser.token).json["email"] == EMAIL
