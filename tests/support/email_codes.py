"""Codes that prove an address, and what takes a proof."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from app.database.session import db
from app.signals import email_code_request
from app.users.models import User

from .passkeys import add_passkey
from .second_factors import OPTIONAL, enrol

ORIGIN = "https://www.example.com"
# Everything that takes a proved address.
SETTINGS = {**OPTIONAL, "PASSKEYS": {}, "PUBLIC_URL": ORIGIN, "PERSONAL_TOKENS": {}}
UNPROVED = (401, "EMAIL_PROOF_REQUIRED")
TOKEN = {"name": "backup", "scopes": {"todos": ["READ"]}}


@contextmanager
def noted(app: Flask, secrets: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Note the codes that an app mails, and to which address."""
    found: list[tuple[str, str]] = []

    def note(_sender, info):
        secrets.append(info["accessToken"].id)
        found.append((info["accessToken"].id, info["email"]))

    with email_code_request.connected_to(note, sender=app):
        yield found


def ask(api: Any, token: str | None, **body: str) -> None:
    """Ask for a code, for the address of the account or a new one."""
    answer = api("POST", "/users/email-code", body, token=token)
    assert answer.status_code == 204, answer.json


def confirm(api: Any, token: str | None, code: str, **body: str) -> TestResponse:
    """Type a code."""
    return api("POST", "/users/email-code/confirm", {"code": code, **body}, token=token)


def prove(api: Any, token: str, mailed: list[tuple[str, str]], **body: str) -> None:
    """Prove the address of the account, or a new one."""
    ask(api, token, **body)
    answer = confirm(api, token, mailed[-1][0])
    assert answer.status_code == 204, answer.json


def add(api: Any, token: str, kind: str, user_id: int = 1) -> None:
    """Add an authenticator app, a passkey or a personal token to a user."""
    if kind == "totp":
        enrol(api, token, user_id)
    elif kind == "passkey":
        add_passkey(api, token, ORIGIN, user_id)
    else:
        made = api("POST", f"/users/{user_id}/personalTokens", TOKEN, token=token)
        assert made.status_code == 200, made.json
        api.secrets.append(made.json["token"])


def is_verified(app: Flask, user_id: int = 1) -> bool:
    with app.app_context():
        return db.session.scalar(select(User.email_verified).where(User.id == user_id))


def email_of(app: Flask, user_id: int = 1) -> str:
    with app.app_context():
        return db.session.scalar(select(User.email).where(User.id == user_id))


def unverify(app: Flask) -> None:
    """Make all addresses ones that are not verified."""
    with app.app_context():
        db.session.execute(update(User).values(email_verified=False))
        db.session.commit()
