"""Listens to the events that users are told of by mail."""

from email.message import EmailMessage
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Flask

from app.signals import email_changed, reset_password_request

from .delivery import make_file_delivery, make_smtp_delivery
from .messages import compose
from .queue import MailQueue

# Seconds for which a notice that asks for nothing is worth delivering.
NOTICE_LIFETIME = 86400.0


def init_app(app: Flask) -> None:
    """Listen for what this app mails; raise ConfigurationError for an unusable folder."""
    url = app.config["MAIL_URL"]
    deliver = make_smtp_delivery(urlsplit(url)) if url else make_file_delivery(app)
    app.extensions["mail_queue"] = MailQueue(app, deliver)
    reset_password_request.connect(send_reset_link, sender=app)
    email_changed.connect(send_email_changed, sender=app)


def send_reset_link(app: Flask, info: dict[str, Any]) -> None:
    """Queue the mail with the link; it is worth sending for as long as its token lives."""
    token = info["accessToken"]
    query = urlencode({"access_token": token.id})
    context = {
        "link": f"{app.config['PUBLIC_URL']}/reset-password?{query}",
        "minutes": max(1, round(token.ttl / 60)),
    }
    _queue(app, "reset_password", info["email"], context, token.ttl)


def send_email_changed(app: Flask, info: dict[str, Any]) -> None:
    """Queue the mail that tells an old address that it is one no more."""
    _queue(app, "email_changed", info["oldEmail"], {}, NOTICE_LIFETIME)


def _queue(app: Flask, kind: str, address: str, context: dict[str, Any], lifetime: float) -> None:
    """Queue a message of one kind; it is rendered when it is delivered, outside the request."""

    def compose_one() -> EmailMessage:
        with app.app_context():
            return compose(app, kind, address, context)

    app.extensions["mail_queue"].put(compose_one, lifetime)
