"""The mails that follow events, and the variables of their templates."""

from typing import Any
from urllib.parse import urlencode

from flask import Flask

from app import outbox
from app.signals import email_changed, reset_password_request

from . import service
from .service import SUBSCRIBER, transmit


def init_app(app: Flask) -> None:
    """Deliver what this app mails; raise ConfigurationError for an unusable folder."""
    service.init_app(app)
    outbox.subscribe(app, reset_password_request.name, SUBSCRIBER, send_reset_link)
    outbox.subscribe(app, email_changed.name, SUBSCRIBER, send_email_changed)


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


def send_email_changed(app: Flask, info: dict[str, Any]) -> str:
    """Tell the old address of an account that it was replaced.

    Variables of `email_changed`: none. The new address is not for the reader of the old one.
    """
    return transmit(app, "email_changed", info["oldEmail"], {})
