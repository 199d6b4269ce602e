"""Logging in by GitHub and Facebook, which are no providers of OpenID Connect."""

from urllib.parse import parse_qsl, urlencode

import pytest
from flask import Flask

from app.users.models import User
from tests.support.answers import refusal
from tests.support.rows import count

from .conftest import Browser
from .oauth2_servers import Facebook, GitHub, serving
from .provider import CLIENT_ID, CLIENT_SECRET

REFUSED = (401, "LOGIN_FAILED")


@pytest.fixture(scope="module")
def servers():
    github, facebook = GitHub(), Facebook()
    with serving(github), serving(facebook):
        yield {"github": github, "facebook": facebook}


@pytest.fixture
def github(servers, secrets) -> GitHub:
    secrets += [CLIENT_SECRET, GitHub.token]
    servers["github"].reset()
    return servers["github"]


@pytest.fixture
def facebook(servers, secrets) -> Facebook:
    secrets += [CLIENT_SECRET, Facebook.token]
    servers["facebook"].reset()
    return servers["facebook"]


@pytest.fixture
def app(shared_app, servers) -> Flask:
    client = {"clientID": CLIENT_ID, "clientSecret": CLIENT_SECRET, "successRedirect": "/welcome"}
    github, facebook = (servers[name].url for name in ("github", "facebook"))
    providers = {
        "github": {
            "module": "passport-github",
            "authorizationURL": f"{github}/login/oauth/authorize",
            "tokenURL": f"{github}/login/oauth/access_token",
            "userProfileURL": f"{github}/user",
            "userEmailURL": f"{github}/user/emails",
            **client,
        },
        "facebook": {
            "module": "passport-facebook",
            "authorizationURL": f"{facebook}/dialog/oauth",
            "tokenURL": f"{facebook}/oauth/access_token",
            "profileURL": f"{facebook}/me",
            **client,
        },
    }
    return shared_app(PROVIDERS=providers, TOKEN_MIDDLEWARE={})


@pytest.fixture
def make_browser(app, secrets):
    return lambda: Browser(app.test_client(), None, secrets)


def call_back(browser, name, query):
    return browser.open(f"/auth/{name}/callback?{urlencode(query)}")


def log_in(browser, name, server):
    return call_back(browser, name, server.authorize(browser.begin(f"/auth/{name}").location))


@pytest.fixture
def record(api):
    """Return the record of the user of a browser."""
    return lambda browser: api("GET", "/users/1", token=browser.token).json


@pytest.fixture
def identities(api):
    """Return the identities of the user of a browser."""
    return lambda browser: api("GET", "/users/1/identities", token=browser.token).json


def test_github_identifies_a_user_by_the_number_and_the_primary_email(
    browser, github, record, identities
):
    location = browser.begin("/auth/github").location

    response = call_back(browser, "github", github.authorize(location))

    assert (response.status_code, response.location) == (302, "/welcome")
    assert dict(parse_qsl(location.partition("?")[2]))["scope"] == "user:email"
    user = record(browser)
    assert (user["email"], user["emailVerified"]) == ("ada@example.com", True)
    (identity,) = identities(browser)
    assert (identity["issuer"], identity["subject"]) == ("https://github.com", "583231")
    assert identity["profile"]["login"] == "octocat"


def test_a_github_user_who_renames_is_the_same(browser, make_browser, github, record, identities):
    log_in(browser, "github", github)
    github.user |= {"login": "renamed"}
    github.emails[1]["email"] = "new@example.com"
    again = make_browser()

    log_in(again, "github", github)

    assert record(again)["email"] == "ada@example.com"
    assert identities(again)[0]["profile"]["login"] == "renamed"


def test_an_email_that_github_has_not_verified_is_not_verified(browser, github, record):
    github.user["email"] = "public@example.com"
    github.emails[1]["verified"] = False

    log_in(browser, "github", github)

    assert record(browser)["emailVerified"] is False


def test_a_github_user_without_a_number_is_nobody(app, make_browser, github):
    for number in (None, "", "583231", 1.5, [1]):
        github.user["id"] = number

        assert refusal(log_in(make_browser(), "github", github)) == REFUSED, number
    assert count(app, User) == 0


def test_errors_of_github_have_the_status_200_and_are_errors(browser, github):
    query = github.authorize(browser.begin("/auth/github").location)

    assert refusal(call_back(browser, "github", query | {"code": "another"})) == REFUSED


def test_facebook_identifies_a_user_whose_email_is_not_verified(
    browser, facebook, record, identities
):
    response = log_in(browser, "facebook", facebook)

    assert (response.status_code, response.location) == (302, "/welcome")
    user = record(browser)
    assert (user["email"], user["emailVerified"]) == ("ada@example.com", False)
    (identity,) = identities(browser)
    assert identity["issuer"] == "https://www.facebook.com"
    assert identity["subject"] == "10158000000000000"


def test_errors_of_facebook_are_errors(browser, facebook):
    query = facebook.authorize(browser.begin("/auth/facebook").location)

    assert refusal(call_back(browser, "facebook", query | {"code": "another"})) == REFUSED


def test_an_email_of_facebook_opens_no_account(browser, make_browser, facebook, github):
    log_in(browser, "github", github)

    assert refusal(log_in(make_browser(), "facebook", facebook)) == (409, "ACCOUNT_EXISTS")


def test_a_user_of_facebook_without_an_email_is_not_registered(app, browser, facebook):
    del facebook.user["email"]

    assert refusal(log_in(browser, "facebook", facebook)) == REFUSED
    assert count(app, User) == 0


@pytest.mark.parametrize(("name", "other"), [("github", "facebook"), ("facebook", "github")])
def test_a_code_is_one_of_the_browser_and_provider(
    request, browser, make_browser, name, other, github, facebook
):
    server = request.getfixturevalue(name)
    query = server.authorize(browser.begin(f"/auth/{name}").location)

    assert refusal(call_back(make_browser(), name, query)) == REFUSED
    assert refusal(call_back(browser, other, query)) == REFUSED
    # Neither has sent it to the provider.
    assert server.flow != {}


def test_an_access_token_is_no_login(app, client, facebook, github):
    """Token substitution: it does not say for which application it was issued."""
    for name, server in (("facebook", facebook), ("github", github)):
        for body in ({"access_token": server.token}, {"id_token": server.token}):
            assert client.post(f"/auth/{name}/token", json=body).status_code == 404
