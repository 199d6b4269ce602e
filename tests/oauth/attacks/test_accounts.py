"""Nobody gets into the account of somebody else by a provider."""

import pytest

from app.oauth.models import ExternalIdentity
from app.users.models import User
from tests.conftest import PASSWORD
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import count

REFUSED = (401, "LOGIN_FAILED")
EXISTS = (409, "ACCOUNT_EXISTS")
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}


def log_in(browser, name, user, **claims):
    """Log in by a provider as one of its users."""
    user.update(claims)
    return browser.log_in(f"/auth/{name}")


def link(browser, name):
    """Begin adding an identity; return the callback."""
    return browser.authorize(f"/link/{name}", headers=SAME_SITE)


def user_id(browser):
    cookie = browser.client.get_cookie("userId")
    return cookie and int(cookie.value)


@pytest.fixture
def identities(api):
    """Return the identities of the user of a browser, as seen by the user."""

    def identities(browser):
        return api("GET", f"/users/{user_id(browser)}/identities", token=browser.token).json

    return identities


def test_the_same_subject_of_two_issuers_is_two_users(make_browser, other_provider, identities):
    first, second = make_browser(), make_browser()

    first.log_in()
    log_in(second, "other", other_provider.user, email="eve@example.com")

    assert (user_id(first), user_id(second)) == (1, 2)
    assert identities(first)[0]["subject"] == identities(second)[0]["subject"]
    assert identities(second)[0]["issuer"] == other_provider.url


def test_an_email_opens_no_account_whose_owner_has_verified_it(
    app, make_browser, provider, other_provider
):
    owner, eve = make_browser(), make_browser()
    owner.log_in()

    assert refusal(log_in(eve, "test", provider.user, sub="2")) == EXISTS
    # Nor where the provider is trusted, if it does not say that it has verified the email.
    for value in (None, False, "false", 0, 1, "1", "yes", [True]):
        other_provider.claims["email_verified"] = value
        assert refusal(eve.log_in("/auth/other")) == EXISTS, value

    assert eve.token is None
    assert (count(app, User), count(app, ExternalIdentity)) == (1, 1)


def test_an_account_that_was_made_in_advance_is_taken_from_who_made_it(
    app, api, make_browser, provider, other_provider, reset_events, identities
):
    """Pre-hijacking (https://arxiv.org/abs/2205.10174): every way that the attacker may keep."""
    attacker, owner = make_browser(), make_browser()
    token = api.newcomer()
    attacker.client.set_cookie("access_token", token)
    other_provider.user |= {"sub": "attacker", "email": "eve@example.com"}
    assert attacker.open(link(attacker, "other")).status_code == 302
    pending = link(attacker, "other")
    api("POST", "/users/reset", {"email": "ada@example.com"})
    reset = reset_events[0]["accessToken"].id

    owner.log_in()

    assert user_id(owner) == 1
    assert len(identities(owner)) == 1
    assert api("GET", "/users/1", token=token).status_code == 401
    body = {"email": "ada@example.com", "password": PASSWORD}
    assert refusal(api("POST", "/users/login", body)) == REFUSED
    body = {"newPassword": "another quiet harbour"}
    assert api("POST", "/users/reset-password", body, token=reset).status_code == 401
    assert refusal(attacker.open(pending))[0] == 401
    again = make_browser()
    again.log_in("/auth/other")
    assert user_id(again) == 2


def test_an_account_that_a_provider_made_in_advance_is_taken_from_who_made_it(
    api, make_browser, provider, other_provider, identities
):
    attacker, owner = make_browser(), make_browser()
    log_in(attacker, "other", other_provider.user, sub="attacker", email_verified=False)
    assert user_id(attacker) == 1

    owner.log_in()

    assert user_id(owner) == 1
    assert len(identities(owner)) == 1
    assert api("GET", "/users/1", token=attacker.token).status_code == 401
    assert refusal(make_browser().log_in("/auth/other")) == EXISTS


def test_a_link_that_is_under_way_ends_with_its_session(
    app, api, make_browser, provider, other_provider, identities
):
    """The account is taken while the attacker's provider still answers."""
    attacker, owner = make_browser(), make_browser()
    attacker.client.set_cookie("access_token", api.newcomer())
    other_provider.user |= {"sub": "attacker", "email": "eve@example.com"}
    callback = link(attacker, "other")
    other_provider.before["/token"] = owner.log_in

    response = attacker.open(callback)

    assert user_id(owner) == 1
    assert refusal(response)[0] == 401
    assert len(identities(owner)) == 1


def test_a_link_is_one_of_the_browser_and_the_user_who_began_it(make_browser, provider, identities):
    attacker, victim = make_browser(), make_browser()
    attacker.log_in()
    log_in(victim, "test", provider.user, sub="2", email="victim@example.com")

    # The attacker's identity in the victim's browser.
    assert refusal(victim.open(link(attacker, "other"))) == REFUSED
    # The victim's identity, after somebody else has logged in.
    callback = link(victim, "other")
    token = victim.token
    victim.client.set_cookie("access_token", attacker.token)
    assert refusal(victim.open(callback)) == REFUSED
    victim.client.set_cookie("access_token", token)

    assert (len(identities(attacker)), len(identities(victim))) == (1, 1)


@pytest.mark.both_databases
def test_one_of_two_concurrent_links_of_an_identity_wins(app, make_browser, provider):
    browsers = [make_browser(), make_browser()]
    for number, browser in enumerate(browsers):
        log_in(browser, "test", provider.user, sub=str(number), email=f"{number}@example.com")
    callbacks = [link(browser, "other") for browser in browsers]

    answers = at_once(
        app,
        lambda _: browsers[0].open(callbacks[0]),
        lambda _: browsers[1].open(callbacks[1]),
    )

    assert sorted(answer.status_code for answer in answers) == [302, 409]
    assert count(app, ExternalIdentity) == 3
