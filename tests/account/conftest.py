"""Fixtures: a service with everything that the account page shows, and the page in a browser."""

import re
import shutil
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path

import click
import pytest
from flask import Flask
from sqlalchemy import select

from app.database.metadata import all_metadata
from app.database.session import db
from app.outbox.delivery import drain
from app.testing.apps import close
from app.users.models import User
from tests.conftest import hash_of_password
from tests.support.apps import build
from tests.support.live import serve_app
from tests.support.ports import free_port
from tests.support.rows import store_login
from tests.support.second_factors import FACTOR_KEY

from .browser import SIZES, AccountPage

LINK = re.compile(r"http://\S+")
SETTINGS = {
    "ACCOUNT_PAGE": True,
    "PUBLIC_URL": "http://localhost:3000",
    "EMAIL_VERIFICATION": "required",
    "EMAIL_CHANGE": "confirmed",
    "SECOND_FACTOR": ["auditor"],
    "FACTOR_KEYS": [FACTOR_KEY],
    "PASSKEYS": {},
    "EMAIL_LOGIN": True,
    "LOGIN_CODE_KEYS": ["k" * 32],
    "PERSONAL_TOKENS": {},
    "TOKEN_MIDDLEWARE": {},
    "PROVIDERS": {
        "google": {
            "clientID": "ostiary",
            "clientSecret": "secret",
            "successRedirect": "/account",
            "failureRedirect": "/account",
            "failureQueryString": True,
        }
    },
}


@dataclass
class Service:
    """A service that runs: its app, its address, and the folder of its mails."""

    app: Flask
    url: str
    mails: Path

    def user(self, email: str, verified: bool = True) -> tuple[str, int]:
        """Store a user with PASSWORD; return a token and the id."""
        token = store_login(self.app, email, hash_of_password(), verified)
        with self.app.app_context():
            user_id = db.session.scalar(select(User.id).where(User.email == email))
        return token, user_id

    def mail_to(self, email: str) -> str:
        """Deliver what is due; return the text of the newest mail to an address."""
        drain(self.app)
        paths = sorted(self.mails.glob("*.eml"), key=lambda path: int(path.stem))
        mails = [message_from_bytes(path.read_bytes(), policy=policy.default) for path in paths]
        *_, newest = (mail for mail in mails if mail["To"] == email)
        return newest.get_body(("plain",)).get_content()

    def link_to(self, email: str) -> str:
        """Return the link in the newest mail to an address."""
        return LINK.search(self.mail_to(email))[0]


def make_tables(url, folder, settings):
    """Make the tables of an app whose users have properties of their own."""
    # The app of a command, which starts without them.
    with click.Context(click.Command("db")):
        app = build(url, folder, **settings)
    with app.app_context():
        all_metadata(app).create_all(db.engine)
    close(app)


@pytest.fixture(scope="module")
def service(sqlite_template, tmp_path_factory):
    """One service for a module, whose tests have users of their own."""
    folder = tmp_path_factory.mktemp("account")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    # Browsers have passkeys for this name without https.
    port = free_port()
    url = f"http://localhost:{port}"
    settings = {**SETTINGS, "PUBLIC_URL": url, "OUTBOX_IN_PROCESS": False}
    app = build(f"sqlite:///{folder}/ostiary.sqlite", folder / "mail", **settings)
    # The browser keeps the files of the page, which tests load again and again.
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 3600
    with serve_app(app, port):
        yield Service(app, url, folder / "mail")
    close(app)


@pytest.fixture(scope="module")
def context(browser):
    permissions = ["clipboard-read", "clipboard-write"]
    with browser.new_context(viewport=SIZES["light"], permissions=permissions) as context:
        yield context


@pytest.fixture(scope="module")
def tab(context):
    """A tab that tests use one after the other: a new one takes longer to load."""
    return context.new_page()


@pytest.fixture
def account(service, tab):
    """The page, in a browser that remembers nothing."""
    page = AccountPage(tab, service.url)
    yield page
    page.leave()
    assert (page.errors, page.foreign) == ([], [])
