"""The mails that follow events, and the variables of their templates."""

from typing import Any
from urllib.parse import urlencode

from flask import Flask

from app import outbox
from app.errors import TooManyRequests
from app.ops.mailboxes import mailbox
from app.ops.throttles import MAIL_RECIPIENT, success
from app.settings import MAIL_SETTINGS
from app.signals import (
    EMAIL_CHANGE_NOTICE,
    email_change_request,
    email_changed,
    reset_password_request,
    verification_request,
)

from . import service
from .service import SUBSCRIBER, transmit


def init_app(app: Flask) -> None:
    """Deliver what this app mails; raise ConfigurationError for an unusable folder."""
    service.init_app(app)
    for event, handler in HANDLERS.items():
        if app.config[MAIL_SETTINGS[event]]:
            outbox.subscribe(app, event, SUBSCRIBER, handler)


def send_reset_link(app: Flask, info: dict[str, Any]) -> str:
    """Send a user the link to the page that sets a new password.

    Variables of `reset_password`: `link`, the page's absolute URL (str), and `minutes`, how long
    it works (int, at least 1).
    """
    token = info["accessToken"]
    query = urlencode({"access_token": token.id})
    context = {
        "link": f"{app.config['PUBLIC_URL']}/reset-password?{query}",
        "minutes": max(1, round(token.ttl / 60)),
    }
    return transmit(app, "reset_password", info["email"], context)


def send_verification_link(app: Flask, info: dict[str, Any]) -> str | None:
    """Send a user the link to the page that confirms the address.

    Variables of `verify_email`: `link`, the page's absolute URL (str), and `lifetime`, how long it
    works, such as "48 hours" (str).
    """
    return _send_confirmation(app, "verify_email", info)


def send_change_link(app: Flask, info: dict[str, Any]) -> str | None:
    """Send the link that confirms a new address to that address.

    Variables of `change_email`: those of `verify_email`.
    """
    return _send_confirmation(app, "change_email", info)


def send_change_notice(app: Flask, info: dict[str, Any]) -> str | None:
    """Tell the present address of an account that a new one was requested.

    Variables of `email_change_requested`: none.
    """
    return _send_asked_for(app, "email_change_requested", info["email"], {})


def send_email_changed(app: Flask, info: dict[str, Any]) -> str | None:
    """Tell the old address of an account that it was replaced.

    Variables of `email_changed`: none. The new address is not for the reader of the old one.
    """
    return _send_asked_for(app, "email_changed", info["oldEmail"], {})


HANDLERS = {
    reset_password_request.name: send_reset_link,
    verification_request.name: send_verification_link,
    email_change_request.name: send_change_link,
    EMAIL_CHANGE_NOTICE: send_change_notice,
    email_changed.name: send_email_changed,
}


def _send_confirmation(app: Flask, kind: str, info: dict[str, Any]) -> str | None:
    token = info["accessToken"]
    link = f"{app.config['PUBLIC_URL']}/confirm-email?{urlencode({'token': token.id})}"
    context = {"link": link, "lifetime": _duration(token.ttl)}
    return _send_asked_for(app, kind, info["email"], context)


def _send_asked_for(app: Flask, kind: str, to: str, context: dict[str, Any]) -> str | None:
    """Send a mail that a request has caused, unless its mailbox got too many of this kind.

    Requests may name any address. Those for a password reset are counted before anything is sent.
    """
    try:
        with success(MAIL_RECIPIENT, kind, mailbox(to)):
            return transmit(app, kind, to, context)
    except TooManyRequests:
        return None


def _duration(seconds: float) -> str:
    """Return a time span as people say it: in hours, or minutes if it is shorter than two hours."""
    if seconds >= 7200:
        return f"{round(seconds / 3600)} hours"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minutes" if minutes > 1 else "1 minute"
