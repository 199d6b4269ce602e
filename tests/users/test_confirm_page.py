"""The page that confirms an address, to which the mails link."""

import re

import pytest

from tests.conftest import PASSWORD
from tests.support.live import serve_app
from tests.support.races import at_once
from tests.support.rows import expire

DEAD = "This link does not work any more"

STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')


@pytest.fixture
def app(shared_app):
    return shared_app(EMAIL_VERIFICATION="optional", EMAIL_CHANGE="confirmed")


@pytest.fixture
def verify_token(api, events):
    """The token that was mailed to the user with id 1 at registration."""
    api.register()
    return events.tokens()[0]


@pytest.fixture
def change_token(api, verify_token, events):
    """The token that was mailed to the new address of the user with id 1."""
    body = {"newEmail": "countess@example.com", "password": PASSWORD}
    api("POST", "/users/change-email", body, token=api.login()["id"])
    return events.tokens("emailChangeRequest")[0]


def show(client, token):
    return client.get(f"/confirm-email?token={token}")


def submit(client, token, **options):
    return client.post("/confirm-email", data={"token": token}, **options)


def is_verified(api, email="ada@example.com"):
    token = api.login(email)
    return api("GET", f"/users/{token['userId']}", token=token["id"]).json["emailVerified"]


def test_the_link_shows_the_address_and_a_button_and_uses_nothing_up(api, client, verify_token):
    for _ in range(3):
        page = show(client, verify_token)
        client.head(f"/confirm-email?token={verify_token}")

    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert "ada@example.com" in page.text
    assert f'name="token" value="{verify_token}"' in page.text
    assert "<button" in page.text
    assert not is_verified(api)
    assert submit(client, verify_token).status_code == 200


def test_the_button_confirms_the_address_once(api, client, verify_token, events):
    done, again = submit(client, verify_token), submit(client, verify_token)

    assert done.status_code == 200
    assert "Your email address is confirmed" in done.text
    assert (again.status_code, DEAD in again.text) == (400, True)
    assert is_verified(api)
    assert events.names == ["verificationRequest", "emailVerified"]


def test_the_button_changes_the_address(api, client, change_token):
    page, done = show(client, change_token), submit(client, change_token)

    assert "countess@example.com" in page.text
    assert "Your email address is changed" in done.text
    assert is_verified(api, "countess@example.com")


def test_a_token_that_is_none_shows_an_error(app, api, client, verify_token, reset_events):
    api("POST", "/users/reset", {"email": "ada@example.com"})
    login, reset = api.login()["id"], reset_events[0]["accessToken"].id

    for token in ("", "x" * 64, "%00", verify_token[:-1], login, reset):
        pages = show(client, token), submit(client, token)
        assert [(page.status_code, DEAD in page.text) for page in pages] == [(400, True)] * 2
        assert "<form" not in pages[0].text
    assert client.get("/confirm-email").status_code == 400
    assert client.post("/confirm-email", json={"token": {"x": 1}}).status_code == 400
    assert not is_verified(api)


def test_a_token_for_an_address_opens_no_reset(api, client, verify_token, change_token):
    for token in (verify_token, change_token):
        assert client.get(f"/reset-password?access_token={token}").status_code == 401
        form = {"access_token": token, "newPassword": "an even quieter harbour"}
        assert client.post("/reset-password", data=form).status_code == 401
    assert submit(client, change_token).status_code == 200


def test_an_expired_link_and_one_for_an_old_address_show_an_error(app, api, client, verify_token):
    expire(app, verify_token)
    assert (show(client, verify_token).status_code, submit(client, verify_token).status_code) == (
        400,
        400,
    )


def test_the_link_to_an_address_that_was_changed_shows_an_error(
    api, client, verify_token, change_token, events
):
    submit(client, change_token)

    assert show(client, verify_token).status_code == submit(client, verify_token).status_code == 400


def test_one_of_many_concurrent_clicks_confirms(app, verify_token, events):
    def click(client):
        return submit(client, verify_token)

    answers = at_once(app, *[click] * 6)

    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 5]
    assert events.names == ["verificationRequest", "emailVerified"]


def test_markup_in_address_and_token_is_escaped(api, client, events):
    api.register("a&b'c@example.com")

    page = show(client, events.tokens()[0])
    wrong = show(client, "%22%3E%3Cscript%3E")

    assert "a&amp;b&#39;c@example.com" in page.text
    assert "<script" not in wrong.text


@pytest.mark.parametrize("good", [True, False])
def test_the_page_forbids_scripts_and_external_resources(client, verify_token, good):
    page = show(client, verify_token if good else "x")

    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in policy
    with client.get(STYLE.search(page.text)[1]) as style:
        assert style.mimetype == "text/css"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"


def test_the_page_exists_for_either_setting(shared_app):
    for settings in ({"EMAIL_VERIFICATION": "optional"}, {"EMAIL_CHANGE": "confirmed"}):
        assert shared_app(**settings).test_client().get("/confirm-email").status_code == 400
    assert shared_app().test_client().get("/confirm-email").status_code == 404


@pytest.mark.live
def test_a_click_in_a_browser_confirms_and_changes_the_address(
    app, browser, api, verify_token, events
):
    errors = []
    with serve_app(app) as url, browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text))
        page.on("requestfailed", lambda request: errors.append(request.url))

        page.goto(f"{url}/confirm-email?token={verify_token}")
        asked = page.inner_text("main")
        page.click("button")
        page.get_by_role("status").wait_for()
        confirmed = page.inner_text("h1")

        body = {"newEmail": "countess@example.com", "password": PASSWORD}
        api("POST", "/users/change-email", body, token=api.login()["id"])
        page.goto(f"{url}/confirm-email?token={events.tokens('emailChangeRequest')[0]}")
        page.click("button")
        page.get_by_role("status").wait_for()
        changed = page.inner_text("main")

    assert "ada@example.com" in asked
    assert confirmed == "Your email address is confirmed"
    assert "countess@example.com" in changed
    assert errors == []
    assert is_verified(api, "countess@example.com")
