"""The payloads of the users' events, as they are at the moment of delivery."""

from dataclasses import replace
from typing import Any

from flask import Flask

from app import outbox
from app.extensions import db
from app.outbox import Attempt
from app.signals import (
    EMAIL_CHANGE_NOTICE,
    email_change_request,
    email_changed,
    reset_password_request,
    verification_request,
)

from . import mailed_tokens
from .current import user_model


def init_app(app: Flask) -> None:
    """Define the events."""
    outbox.define(app, reset_password_request.name, mailed_tokens.load)
    outbox.define(app, verification_request.name, load_confirmation)
    outbox.define(app, email_change_request.name, load_confirmation)
    outbox.define(app, EMAIL_CHANGE_NOTICE, lambda data, _attempt: data)
    outbox.define(app, email_changed.name, load_email_changed)


def load_confirmation(data: dict[str, Any], attempt: Attempt) -> dict[str, Any] | None:
    """Return the payload for an attempt to mail a token that confirms an address.

    A retry by an operator does not bring back a token that was used or revoked: a change of the
    password must cancel a change of the address for good.
    """
    return mailed_tokens.load(data, replace(attempt, is_retried=False))


def load_email_changed(data: dict[str, Any], _attempt: Attempt) -> dict[str, Any]:
    """Return the payload of emailChanged; `user` is None if the user was deleted meanwhile."""
    return {"oldEmail": data["old_email"], "user": db.session.get(user_model(), data["user_id"])}
