"""The mails that follow events, and the variables of their templates."""

from typing import Any
from urllib.parse import urlencode

from flask import Flask

from app.signals import email_changed, reset_password_request

from .service import make_queue, send

# Seconds for which a notice that asks for nothing is worth delivering.
NOTICE_LIFETIME = 86400.0


def init_app(app: Flask) -> None:
    """Listen for what this app mails; raise ConfigurationError for an unusable folder."""
    app.extensions["mail_queue"] = make_queue(app)
    reset_password_request.connect(send_reset_link, sender=app)
    email_changed.connect(send_email_changed, sender=app)


def send_reset_link(app: Flask, info: dict[str, Any]) -> None:
    """Send a user the link to the page that sets a new password, while its token lives.

    Variables of `reset_password`: `link`, the page's absolute URL (str), and `minutes`, how long
    it works (int, at least 1).
    """
    token = info["accessToken"]
    query = urlencode({"access_token": token.id})
    context = {
        "link": f"{app.config['PUBLIC_URL']}/reset-password?{query}",
        "minutes": max(1, round(token.ttl / 60)),
    }
    send(app, "reset_password", info["email"], context, lifetime=token.ttl)


def send_email_changed(app: Flask, info: dict[str, Any]) -> None:
    """Tell the old address of an account that it was replaced.

    Variables of `email_changed`: none. The new address is not for the reader of the old one.
    """
    send(app, "email_changed", info["oldEmail"], {}, lifetime=NOTICE_LIFETIME)
