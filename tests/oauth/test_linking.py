"""Which user a login by a provider opens a session for, and adding and removing identities."""

from tests.answers import refusal


def test_a_first_login_registers_a_user_without_a_password(app, browser, api):
    response = browser.log_in()

    assert (response.status_code, response.headers["Location"]) == (302, "/welcome")
    user = api("GET", "/users/1", token=browser.token).json
    assert (user["email"], user["emailVerified"]) == ("ada@example.com", True)
    refused = api("POST", "/users/login", {"email": "ada@example.com", "password": "x" * 12})
    assert refusal(refused) == (401, "LOGIN_FAILED")


def test_a_second_login_is_that_of_the_same_user_whatever_the_email_is_now(
    provider, browser, make_browser, api
):
    browser.log_in()
    provider.user["email"] = "countess@example.com"
    second = make_browser()

    second.log_in()

    assert second.client.get_cookie("userId").value == "1"
    assert api("GET", "/users/1", token=second.token).json["email"] == "ada@example.com"
