"""Sending mail: the one call for every kind."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Flask
from jinja2 import Environment

from app import outbox
from app.http.languages import preferred_languages
from app.observability.origin import current_request_id
from app.outbox import DeliveryError, UndeliverableError
from app.state import AppState

from .delivery import Deliver, is_permanent, make_delivery
from .messages import (
    FALLBACK,
    SUBJECT,
    TEXT,
    Compose,
    has_kind,
    make_composer,
    make_templates,
)

# The event of a mail sent by `send`, and the name by which mail subscribes to events.
SEND_EVENT = "sendMail"
SUBSCRIBER = "mail"
#: Seconds in which a mail is sent by default: a day.
LIFETIME = 86400


class Mailer(NamedTuple):
    """Makes and delivers an app's messages."""

    templates: Environment
    compose: Compose
    deliver: Deliver


mailer = AppState[Mailer]("mailer")


def init_app(app: Flask) -> None:
    """Build the app's mailer; raise ConfigurationError for an unusable folder."""
    templates = make_templates(app)
    mailer.set(app, Mailer(templates, make_composer(app, templates), make_delivery(app)))
    outbox.subscribe(app, SEND_EVENT, SUBSCRIBER, lambda app, info: transmit(app, **info))


def send(
    kind: str,
    to: str,
    context: Mapping[str, Any] | None = None,
    lifetime: float = LIFETIME,
    language: str | None = None,
) -> None:
    """Record a mail, to be sent after the open transaction, if any, has committed.

    `kind` is a folder of templates: `templates/mail/en/<kind>/` with `subject.txt` and `body.txt`.
    `context` has their variables; it is stored as JSON and must not contain secrets. The mail is in
    `language`, such as `de`, or in that of the request, if it has templates. Sending is tried for
    `lifetime` seconds. Raises ValueError if there are no templates of this kind.
    """
    if not has_kind(mailer.current.templates, kind):
        raise ValueError(
            f"there is no mail {kind!r}: the folder templates/mail/{FALLBACK}/{kind} needs"
            f" {SUBJECT} and {TEXT}"
        )
    data = {"kind": kind, "to": to, "context": dict(context or {}), "language": language}
    outbox.record(SEND_EVENT, data, lifetime)


def transmit(
    app: Flask,
    kind: str,
    to: str,
    context: Mapping[str, Any],
    user: object = None,
    language: str | None = None,
) -> str:
    """Make and deliver a mail now; return a description. Raises DeliveryError without content.

    The language is the given one, else that of the user, or of the request that caused it.
    """
    _, compose, deliver = mailer.of(app)
    preferred = preferred_languages(user)
    message = compose(kind, to, context, (language, *preferred) if language else preferred)
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
