"""Sending mail: the one call for every kind."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Flask

from app import outbox
from app.http.languages import preferred_languages
from app.observability.origin import current_request_id
from app.outbox import DeliveryError, UndeliverableError
from app.state import AppState

from .delivery import Deliver, is_permanent, make_delivery
from .messages import Compose, make_composer

# The event of a mail that follows no other event, and the name by which mail subscribes to events.
SEND_EVENT = "sendMail"
SUBSCRIBER = "mail"


class Mailer(NamedTuple):
    """How an app makes and delivers messages."""

    compose: Compose
    deliver: Deliver


mailer = AppState[Mailer]("mailer")


def init_app(app: Flask) -> None:
    """Build the app's mailer; raise ConfigurationError for an unusable folder."""
    mailer.set(app, Mailer(make_composer(app), make_delivery(app)))
    outbox.define(app, SEND_EVENT, lambda data, _attempt: data)
    outbox.subscribe(app, SEND_EVENT, SUBSCRIBER, lambda app, info: transmit(app, **info))


def send(kind: str, to: str, context: Mapping[str, Any], lifetime: float) -> None:
    """Record a mail of a kind, for delivery within `lifetime` seconds, in the open transaction.

    `context` has the variables of the kind's templates. It is stored as JSON, and must not contain
    a secret.
    """
    outbox.record(SEND_EVENT, {"kind": kind, "to": to, "context": dict(context)}, lifetime)


def transmit(
    app: Flask, kind: str, to: str, context: Mapping[str, Any], user: object = None
) -> str:
    """Make and deliver a mail now; return how. Raises DeliveryError, without any content.

    It is in the language of the user, or that of the request that caused it.
    """
    compose, deliver = mailer.of(app)
    message = compose(kind, to, context, preferred_languages(user))
    if request_id := current_request_id():
        message["X-Request-Id"] = request_id
    try:
        return deliver(message)
    except DeliveryError:
        raise
    except Exception as error:
        # The text of most errors may quote the message, and with it a token.
        reason = f"{type(error).__name__} {getattr(error, 'smtp_code', '')}".strip()
        failure = UndeliverableError if is_permanent(error) else DeliveryError
        raise failure(reason) from None
