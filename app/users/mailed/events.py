"""Events of users that are mailed, with their payloads at the time of delivery."""

from dataclasses import replace

from flask import Flask

from app import outbox, signals
from app.database.session import db
from app.outbox import Attempt, Payload
from app.users.models import user_model

from . import tokens

# The keys of recorded values in a payload.
PAYLOAD_NAMES = {"old_email": "oldEmail", "user_id": "userId"}


def init_app(app: Flask) -> None:
    """Define the events."""
    for event, load in LOADS.items():
        outbox.define(app, event, load)


def load_confirmation(data: Payload, attempt: Attempt) -> Payload | None:
    """Return the payload for an attempt to mail a token that confirms an address.

    A retry by an operator does not restore a used or revoked token: a change of the password must
    cancel a change of the address permanently.
    """
    return tokens.load(data, replace(attempt, is_retried=False))


def load_notice(data: Payload, _attempt: Attempt) -> Payload:
    """Return the payload of a notice: the recorded data, and `user`.

    The user is None if deleted meanwhile, or if an older version recorded the event.
    """
    recorded = {PAYLOAD_NAMES.get(name, name): value for name, value in data.items()}
    user_id = recorded.get("userId")
    return recorded | {"user": user_id and db.session.get(user_model(), user_id)}


LOADS = {
    signals.reset_password_request.name: tokens.load,
    signals.verification_request.name: load_confirmation,
    signals.email_change_request.name: load_confirmation,
    signals.email_code_request.name: load_confirmation,
    signals.EMAIL_CHANGE_NOTICE: load_notice,
    signals.email_changed.name: load_notice,
    signals.account_claimed.name: load_notice,
    signals.credential_changed.name: load_notice,
}
