"""Each login by a provider that is refused has its reason in the log and in the audit log."""

import pytest
from sqlalchemy import delete, select

from app.audit.entries import Action
from app.audit.models import AuditRecord
from app.database.session import db
from app.oauth.models import ExternalIdentity
from app.users.accounts.registration import create_user
from app.users.accounts.removal import disable_user
from app.users.models import AccessToken
from tests.conftest import PASSWORD
from tests.mail.resets import log_lines
from tests.support.answers import refusal

from .conftest import Browser, forget_discovery

EMAIL = "ada@example.com"
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def configured(shared_app, provider, secrets):
    """Make an app with these settings; return a browser of it."""

    def configured(settings=None, **entry):
        providers = {"test": provider.settings(**entry)}
        app = shared_app(PROVIDERS=providers, TOKEN_MIDDLEWARE={}, **(settings or {}))
        forget_discovery(app)
        return Browser(app.test_client(), provider, secrets)

    return configured


def add_user(browser, email=EMAIL, **fields):
    with browser.client.application.app_context():
        return create_user(email, PASSWORD, **fields).id


def disable(browser, user_id=1):
    with browser.client.application.app_context():
        disable_user(user_id)


def records(browser):
    """Return the reasons of the refused logins, with their users."""
    chosen = select(AuditRecord).where(AuditRecord.action == Action.LOGIN_FAILED)
    with browser.client.application.app_context():
        found = db.session.scalars(chosen.order_by(AuditRecord.id)).all()
        assert {record.details["provider"] for record in found} <= {"test"}
        return [(record.details["reason"], record.user_id) for record in found]


def lines(caplog):
    return [line for line in log_lines(caplog) if "a login by" in line]


def without_email(browser):
    browser.provider.user["email"] = None


def disabled_user(browser):
    disable(browser, add_user(browser, email_verified=True))


def known_and_disabled(browser):
    browser.log_in()
    disable(browser)


def with_as_many_identities_as_possible(browser):
    user_id = add_user(browser, email_verified=True)
    issuer = {"issuer": "https://x.example", "provider": "x", "profile": {}}
    with browser.client.application.app_context():
        own = [
            ExternalIdentity(user_id=user_id, subject=str(number), **issuer) for number in range(50)
        ]
        db.session.add_all(own)
        db.session.commit()


def unverified_at_the_provider(browser):
    browser.provider.user["email_verified"] = False


def taken_by_email(browser):
    add_user(browser, email_verified=True)


def taken_by_unverified_email(browser):
    add_user(browser)
    unverified_at_the_provider(browser)


def cancelled(browser):
    browser.provider.callback = {"error": "access_denied", "code": None}


FAILED, EXISTS = (401, "LOGIN_FAILED"), (409, "ACCOUNT_EXISTS")
NOT_VERIFIED = (401, "LOGIN_FAILED_EMAIL_NOT_VERIFIED")
REFUSALS = {
    "the provider refuses": (cancelled, {}, FAILED, "it answered access_denied", None),
    "no email": (without_email, {}, FAILED, "the profile has no valid email address", None),
    "closed": (
        lambda browser: None,
        {"REGISTRATION_OPEN": False},
        FAILED,
        "no user has the email, and REGISTRATION_OPEN is false",
        None,
    ),
    "disabled": (disabled_user, {}, FAILED, "the user is disabled", 1),
    "known and disabled": (
        known_and_disabled,
        {},
        FAILED,
        "the user is disabled, or was deleted meanwhile",
        1,
    ),
    "full": (
        with_as_many_identities_as_possible,
        {"trustEmail": True},
        FAILED,
        "the user has 50 identities already",
        1,
    ),
    "verified": (
        taken_by_email,
        {},
        EXISTS,
        "a user has verified the email, and trustEmail is not set",
        1,
    ),
    "unverified": (
        taken_by_unverified_email,
        {},
        EXISTS,
        "a user has the email, and the provider does not call it verified",
        1,
    ),
    "to be verified": (
        unverified_at_the_provider,
        {"EMAIL_VERIFICATION": "required"},
        NOT_VERIFIED,
        "unverified email",
        1,
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_login_has_its_reason_in_both_logs(configured, caplog, name):
    prepare, settings, answer, reason, user_id = REFUSALS[name]
    entry = {key: value for key, value in settings.items() if not key.isupper()}
    browser = configured({key: settings[key] for key in settings.keys() - entry.keys()}, **entry)
    prepare(browser)

    response = browser.log_in()

    assert refusal(response) == answer
    assert reason not in response.text
    assert lines(caplog) == [f"a login by test failed: {reason}"]
    assert records(browser) == [(reason, user_id)]


def test_a_refused_login_of_an_app_has_its_reason(configured, caplog):
    browser = configured()

    response = browser.client.post("/auth/test/token", json={"id_token": "a.b.c"})

    assert refusal(response) == FAILED
    [(reason, _)] = records(browser)
    assert reason.startswith("the ID token is not valid: ")
    assert lines(caplog) == [f"a login by test failed: {reason}"]


def log_in_with_password(browser, email="mallory@example.com"):
    add_user(browser, email)
    credentials = {"email": email, "password": PASSWORD}
    browser.client.post("/api/users/login", json=credentials, headers=SAME_SITE)
    browser.secrets.append(browser.token)


def test_adding_an_identity_that_another_user_has_has_its_reason(configured, caplog):
    browser = configured()
    browser.log_in()
    log_in_with_password(browser)

    response = browser.log_in("/link/test", headers=SAME_SITE)

    assert refusal(response) == EXISTS
    assert records(browser) == [("another user has the identity", 2)]
    assert lines(caplog) == ["a login by test failed: another user has the identity"]


def test_adding_an_identity_in_a_session_that_ended_has_its_reason(configured, caplog):
    browser = configured()
    log_in_with_password(browser)
    callback = browser.authorize("/link/test", headers=SAME_SITE)

    def end_sessions():
        with browser.client.application.app_context():
            db.session.execute(delete(AccessToken))
            db.session.commit()

    browser.provider.before["/token"] = end_sessions
    response = browser.open(callback)

    assert refusal(response) == (401, "INVALID_TOKEN")
    assert records(browser) == [("the session has ended meanwhile", 1)]
    assert lines(caplog) == ["a login by test failed: the session has ended meanwhile"]


@pytest.mark.parametrize(
    ("logged_in", "headers", "answer", "reason"),
    [
        (False, SAME_SITE, (401, "AUTHORIZATION_REQUIRED"), "nobody is logged in"),
        (True, {}, (403, "ACCESS_DENIED"), "it was begun by a page of another site"),
    ],
)
def test_adding_an_identity_that_does_not_begin_has_its_reason(
    configured, caplog, logged_in, headers, answer, reason
):
    browser = configured()
    if logged_in:
        log_in_with_password(browser)

    response = browser.begin("/link/test", headers=headers)

    assert refusal(response) == answer
    assert [found for found, _ in records(browser)] == [reason]
    assert lines(caplog) == [f"a login by test failed: {reason}"]


def test_a_login_that_is_throttled_has_its_reason(configured, caplog, stopped_clock):
    rates = {name: {"limit": 1, "seconds": 60} for name in ("provider_login", "login_address")}
    browser = configured({"THROTTLE_ENABLED": True, "THROTTLES": rates})
    paths = "/auth/test", "/auth/test", "/auth/test/callback", "/auth/test/callback"

    answers = [browser.client.get(path).status_code for path in paths]

    assert answers == [302, 429, 401, 429]
    throttled = "a login by test failed: Too many attempts. Try again later."
    begun = "a login by test failed: this browser has not begun it, or it is over"
    assert lines(caplog) == [throttled, begun, throttled]
    # The audit log has them as `throttled`, with the throttle.
    assert len(records(browser)) == 1
