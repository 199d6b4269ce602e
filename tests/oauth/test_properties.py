"""Logins by a provider where users have properties of the application's own."""

import shutil
import sqlite3

import pytest

from app.testing.apps import close
from app.users.accounts.registration import create_user
from tests.conftest import PASSWORD
from tests.support.answers import refusal
from tests.support.apps import build

from .conftest import Browser


@pytest.fixture
def make_app(sqlite_template, tmp_path, provider):
    """Build an app on a database whose users have a nick."""
    path, apps = tmp_path / "ostiary.sqlite", []
    shutil.copy(sqlite_template, path)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE users ADD COLUMN nick VARCHAR(255)")
    connection.close()

    def make(**nick):
        settings = {"PROVIDERS": {"test": provider.settings()}, "TOKEN_MIDDLEWARE": {}}
        declared = {"nick": {"type": "string", **nick}}
        url = f"sqlite:///{path}"
        apps.append(build(url, tmp_path / "mail", USER_PROPERTIES=declared, **settings))
        return apps[-1]

    yield make
    for app in apps:
        close(app)


def log_in(app, provider):
    browser = Browser(app.test_client(), provider, [])
    return browser.log_in(), browser.client


def test_a_new_user_gets_the_defaults(make_app, provider):
    response, client = log_in(make_app(default="quiet"), provider)

    assert response.status_code == 302
    assert client.get("/api/users/1").json["nick"] == "quiet"


def test_a_required_property_lets_nobody_be_registered(make_app, provider):
    response, _ = log_in(make_app(required=True), provider)

    assert refusal(response) == (401, "LOGIN_FAILED")


def test_an_account_that_was_made_in_advance_is_claimed(make_app, provider):
    app = make_app(required=True)
    with app.app_context():
        create_user("ada@example.com", PASSWORD, nick="ada")

    response, client = log_in(app, provider)

    assert response.status_code == 302
    shown = client.get("/api/users/1").json
    assert (shown["nick"], shown["emailVerified"]) == ("ada", True)
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    refused = app.test_client().post("/api/users/login", json=credentials)
    assert refusal(refused) == (401, "LOGIN_FAILED")
