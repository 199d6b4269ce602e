"""The payloads of the users' events, as they are at the moment of delivery."""

from typing import Any

from flask import Flask

from app import outbox
from app.extensions import db
from app.outbox import Attempt
from app.signals import email_changed, reset_password_request

from . import mailed_tokens
from .models import User


def init_app(app: Flask) -> None:
    """Define the events."""
    outbox.define(app, reset_password_request.name, mailed_tokens.load)
    outbox.define(app, email_changed.name, load_email_changed)


def load_email_changed(data: dict[str, Any], _attempt: Attempt) -> dict[str, Any]:
    """Return the payload of emailChanged; `user` is None if the user was deleted meanwhile."""
    return {"oldEmail": data["old_email"], "user": db.session.get(User, data["user_id"])}
