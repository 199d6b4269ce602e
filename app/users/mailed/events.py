"""The payloads of the users' events, as they are at the moment of delivery."""

from dataclasses import replace
from typing import Any

from flask import Flask

from app import outbox
from app.database.session import db
from app.outbox import Attempt
from app.signals import (
    EMAIL_CHANGE_NOTICE,
    account_claimed,
    email_change_request,
    email_changed,
    reset_password_request,
    verification_request,
)
from app.users.app_model import user_model
from app.users.models import User

from . import tokens as mailed_tokens


def init_app(app: Flask) -> None:
    """Define the events."""
    outbox.define(app, reset_password_request.name, mailed_tokens.load)
    outbox.define(app, verification_request.name, load_confirmation)
    outbox.define(app, email_change_request.name, load_confirmation)
    outbox.define(app, EMAIL_CHANGE_NOTICE, load_change_notice)
    outbox.define(app, email_changed.name, load_email_changed)
    outbox.define(app, account_claimed.name, load_account_claimed)


def load_confirmation(data: dict[str, Any], attempt: Attempt) -> dict[str, Any] | None:
    """Return the payload for an attempt to mail a token that confirms an address.

    A retry by an operator does not bring back a token that was used or revoked: a change of the
    password must cancel a change of the address for good.
    """
    return mailed_tokens.load(data, replace(attempt, is_retried=False))


def load_change_notice(data: dict[str, Any], _attempt: Attempt) -> dict[str, Any]:
    """Return the payload of emailChangeNotice; `user` is None if the user was deleted meanwhile."""
    return {"email": data["email"], "user": _find_user(data)}


def load_email_changed(data: dict[str, Any], _attempt: Attempt) -> dict[str, Any]:
    """Return the payload of emailChanged; `user` is None if the user was deleted meanwhile."""
    return {"oldEmail": data["old_email"], "user": _find_user(data)}


def load_account_claimed(data: dict[str, Any], _attempt: Attempt) -> dict[str, Any]:
    """Return the payload of accountClaimed; `user` is None if the user was deleted meanwhile."""
    return {"provider": data["provider"], "email": data["email"], "user": _find_user(data)}


def _find_user(data: dict[str, Any]) -> User | None:
    """Return the user of an event; events that older versions have recorded may have none."""
    user_id = data.get("user_id")
    return None if user_id is None else db.session.get(user_model(), user_id)
