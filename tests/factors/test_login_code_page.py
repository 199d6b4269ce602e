"""The page that the mail with a code links to, and the browser that has asked for the code."""

import pytest
from sqlalchemy import update

from app.database.session import db
from app.signals import login_code_request
from app.users.models import User
from tests.support.second_factors import OPTIONAL, enrol

SETTINGS = {"EMAIL_LOGIN": True, "LOGIN_CODE_KEYS": ["k" * 32], "TOKEN_MIDDLEWARE": {}}
GERMAN = {"Accept-Language": "de"}
SAME = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def code(app, api, client):
    """The code that the browser `client` has asked for."""
    found = []
    api.secrets.append(api.logged_in())
    with app.app_context():
        db.session.execute(update(User).values(email_verified=True))
        db.session.commit()
    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=app):
        response = client.post("/api/users/login/mail", json={"email": "ada@example.com"})
    api.secrets.append(response.json["ticket"])
    return found[0]["code"]


def test_the_button_logs_the_browser_in_that_has_asked(api, client, code):
    for _ in range(2):
        shown = client.get(f"/login-code?code={code}")
    done = client.post("/login-code", data={"code": code}, headers=SAME)
    again = client.post("/login-code", data={"code": code}, headers=SAME)
    api.secrets.append(client.get_cookie("access_token").value)

    assert (shown.status_code, "<button" in shown.text) == (200, True)
    assert (done.status_code, "You are logged in" in done.text) == (200, True)
    assert client.get("/api/users/1").status_code == 200
    assert again.status_code == 401
    assert "default-src 'none'" in done.headers["Content-Security-Policy"]


def test_another_browser_gets_the_code_to_type(app, client, code):
    other = app.test_client()

    shown = other.get(f"/login-code?code={code}", headers=GERMAN)
    refused = other.post("/login-code", data={"code": code}, headers=SAME)

    assert f"<strong>{code}</strong>" in shown.text
    assert '<html lang="de">' in shown.text
    assert "<button" not in shown.text
    assert refused.status_code == 401
    assert other.get_cookie("access_token") is None


def test_the_cookie_of_the_ticket_is_for_this_site_and_not_for_scripts(app, client):
    asked = client.post("/api/users/login/mail", json={"email": "nobody@example.com"})
    crossing = app.test_client().post(
        "/api/users/login/mail",
        data={"email": "nobody@example.com"},
        headers={"Sec-Fetch-Site": "cross-site"},
    )

    assert "HttpOnly" in asked.headers["Set-Cookie"]
    assert "SameSite=Lax" in asked.headers["Set-Cookie"]
    assert "Set-Cookie" not in crossing.headers


@pytest.mark.parametrize("code", ["", "1234567", "<b>", "١٢٣٤٥٦٧٨"])
def test_what_is_no_code_is_not_repeated(client, code):
    shown = client.get("/login-code", query_string={"code": code}, headers=GERMAN)

    assert shown.status_code == 400
    assert "Dieser Link funktioniert nicht mehr" in shown.text


class TestSecondFactor:
    """The page asks for the second factor of the user."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**SETTINGS, **OPTIONAL)

    @pytest.fixture
    def factor_code(self, api, code):
        return enrol(api, api.login()["id"]).code()

    def test_the_code_of_the_app_ends_the_login(self, api, client, code, factor_code):
        first = client.post("/login-code", data={"code": code}, headers=SAME)
        api.secrets.append(client.get_cookie("second_step").value)
        wrong = client.post("/login-code/factor", data={"factor_code": "000000"}, headers=SAME)
        done = client.post(
            "/login-code/factor", data={"factor_code": factor_code}, headers={**SAME, **GERMAN}
        )
        api.secrets.append(client.get_cookie("access_token").value)

        assert (first.status_code, 'name="factor_code"' in first.text) == (401, True)
        assert (wrong.status_code, "The code is wrong" in wrong.text) == (401, True)
        assert (done.status_code, "Sie sind angemeldet" in done.text) == (200, True)
        assert client.get("/api/users/1").status_code == 200
        assert client.get_cookie("second_step") is None

    def test_without_the_login_of_this_browser_the_code_is_of_no_use(self, app, factor_code):
        other = app.test_client()
        refused = other.post("/login-code/factor", data={"factor_code": factor_code}, headers=SAME)
        assert (refused.status_code, "does not work any more" in refused.text) == (401, True)
        assert other.get_cookie("access_token") is None


def test_without_cookies_of_logins_there_is_no_cookie_of_tickets(shared_app):
    client = shared_app(**{**SETTINGS, "TOKEN_MIDDLEWARE": None}).test_client()

    asked = client.post("/api/users/login/mail", json={"email": "nobody@example.com"})

    assert "Set-Cookie" not in asked.headers
