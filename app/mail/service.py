"""Sending mail: the one call for every kind."""

from collections.abc import Mapping
from typing import Any

from flask import Flask

from .delivery import make_delivery
from .messages import make_composer
from .queue import MailQueue, QueuedMail


def make_queue(app: Flask) -> MailQueue:
    """Build an app's queue; raise ConfigurationError for an unusable folder."""
    compose, deliver = make_composer(app), make_delivery(app)

    def transmit(mail: QueuedMail) -> str:
        return deliver(compose(mail.kind, mail.to, mail.context))

    return MailQueue(app.logger, transmit)


def send(app: Flask, kind: str, to: str, context: Mapping[str, Any], lifetime: float) -> None:
    """Queue a mail of a kind, for delivery within `lifetime` seconds; return at once.

    `context` has the variables of the kind's templates.
    """
    app.extensions["mail_queue"].put(kind, to, context, lifetime)
