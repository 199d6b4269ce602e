"""Logins by a provider of users with a second factor."""

import pytest

from tests.conftest import hash_of_password
from tests.support.answers import refusal
from tests.support.rows import store_hash
from tests.support.second_factors import OPTIONAL, enrol

from .conftest import forget_discovery

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
FAILURE = {"failureRedirect": "/failed", "failureQueryString": True}
SECOND_STEP = "/api/users/login/factor"


@pytest.fixture
def settings(provider):
    entry = provider.settings(**FAILURE, strongAmr=["mfa"], strongAcr=["phr"])
    return {
        "PROVIDERS": {"test": entry},
        "TOKEN_MIDDLEWARE": {},
        **OPTIONAL,
    }


@pytest.fixture
def code(api, browser):
    """A code of the second factor of the user of the provider, who has the id 1."""
    browser.log_in()
    return enrol(api, browser.token).code()


def begin(browser):
    """Log in at the provider; return the response, after which the second step is due."""
    response = browser.log_in()
    browser.secrets.append(browser.client.get_cookie("second_step").value)
    return response


def test_a_browser_ends_the_login_by_its_cookie(make_browser, code, secrets):
    browser = make_browser()
    first = begin(browser)
    crossing = browser.client.post(
        SECOND_STEP, json={"code": code}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    done = browser.client.post(SECOND_STEP, json={"code": code}, headers=SAME_SITE)
    secrets.append(done.json["id"])

    assert first.headers["Location"] == "/failed?error=SECOND_FACTOR_REQUIRED"
    assert crossing.status_code == 403
    assert (done.status_code, done.json["userId"]) == (200, 1)
    assert browser.token == done.json["id"]
    assert browser.client.get_cookie("second_step") is None


def test_an_app_gets_the_ticket_as_at_a_login_with_a_password(app, provider, api, code):
    body = {"id_token": provider.id_token()}
    first = app.test_client().post("/auth/test/token", json=body)
    ticket = first.json["error"]["details"]["ticket"]
    api.secrets.append(ticket)

    done = api("POST", "/users/login/factor", {"ticket": ticket, "code": code})
    api.secrets.append(done.json["id"])

    assert refusal(first) == (401, "SECOND_FACTOR_REQUIRED")
    assert done.status_code == 200


@pytest.mark.parametrize("claims", [{"amr": ["pwd", "mfa"]}, {"acr": "phr"}])
def test_a_provider_that_has_asked_itself_is_believed(make_browser, provider, code, claims):
    provider.claims = claims
    browser = make_browser()

    response = browser.log_in()

    assert response.headers["Location"] == "/welcome"
    assert browser.client.get("/api/users/1").status_code == 200
    newest = browser.client.get("/api/users/1/audit").json[0]
    assert (newest["action"], newest["details"]["methods"]) == ("login", ["fed", "mfa"])


@pytest.mark.parametrize(
    "claims",
    [
        {"amr": ["pwd"]},
        {"amr": "mfa"},
        {"amr": [["mfa"]]},
        {"acr": ["phr"]},
        {"acr": 1},
    ],
)
def test_other_claims_are_not_believed(make_browser, provider, code, claims):
    provider.claims = claims
    browser = make_browser()

    begin(browser)

    assert browser.token is None


def test_removing_the_identity_ends_a_login_under_way(app, make_browser, browser, code):
    store_hash(app, hash_of_password())
    other = make_browser()
    begin(other)

    [identity] = browser.client.get("/api/users/1/identities").json
    path = f"/api/users/1/identities/{identity['id']}"
    assert browser.client.delete(path, headers=SAME_SITE).status_code == 204

    refused = other.client.post(SECOND_STEP, json={"code": code}, headers=SAME_SITE)
    assert refusal(refused) == (401, "INVALID_TICKET")


def test_first_steps_are_no_failures_of_the_client(shared_app, settings, make_browser, code):
    app = shared_app(**settings, THROTTLE_ENABLED=True)
    forget_discovery(app)
    # Ten failures a minute are the limit of a client.
    for _ in range(12):
        browser = make_browser()
        browser.client = app.test_client()
        assert begin(browser).headers["Location"] == "/failed?error=SECOND_FACTOR_REQUIRED"
