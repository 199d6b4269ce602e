"""Delivery of messages by the outbox, to an SMTP server or into files."""

import smtplib
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from flask import Flask
from jinja2 import Environment

from app import outbox
from app.http.templates import preferred_languages
from app.observability.origin import current_request_id
from app.outbox import DeliveryError, UndeliverableError
from app.problems import ConfigurationError
from app.settings import STARTTLS
from app.state import AppState

from .messages import FALLBACK, SUBJECT, TEXT, Compose, has_kind, make_composer, make_templates

#: Seconds for each step with the mail server.
SERVER_TIMEOUT = 10.0

# Replies about the session, which only a change of settings or server can resolve: a login or TLS,
# or stronger ones, are required (RFC 4954, section 6; RFC 3207, section 4).
SESSION_REFUSALS = {530, 534, 535, 538}
# The reply to a successful login (RFC 4954, section 6).
AUTHENTICATED = 235

# Delivers a message, and returns a short description for the log.
Deliver = Callable[[EmailMessage], str]
# The event of a mail sent by `send`, and the name by which mail subscribes to events.
SEND_EVENT = "sendMail"
SUBSCRIBER = "mail"
#: Seconds in which a mail is sent by default: a day.
LIFETIME = 86400


def make_delivery(app: Flask) -> Deliver:
    """Return this app's delivery function; raise ConfigurationError for an unusable folder."""
    url = app.config["MAIL_URL"]
    return _smtp_delivery(urlsplit(url)) if url else _file_delivery(app)


def is_permanent(error: Exception) -> bool:
    """Return the error for a refusal: permanent (RFC 5321, 4.2.1) or temporary."""
    # Raised for a non-ASCII address by a server without SMTPUTF8 (RFC 6531).
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return True
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(map(_refuses_for_good, (code for code, _ in error.recipients.values())))
    refusals = (smtplib.SMTPSenderRefused, smtplib.SMTPDataError)
    return isinstance(error, refusals) and _refuses_for_good(error.smtp_code)


def _refuses_for_good(code: int) -> bool:
    return code >= 500 and code not in SESSION_REFUSALS


def _smtp_delivery(server: SplitResult) -> Deliver:
    """Return a function that delivers to `smtp://` (plain or with `?starttls=1`) or `smtps://`."""
    host, port = server.hostname or "", server.port or 0
    user, password = unquote(server.username or ""), unquote(server.password or "")
    # Without the user and the password.
    address = server.netloc.rpartition("@")[2]
    # Login and mail are only sent to a server with a valid certificate for its name.
    context = ssl.create_default_context()

    def connect() -> smtplib.SMTP:
        if server.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=SERVER_TIMEOUT, context=context)
        return smtplib.SMTP(host, port, timeout=SERVER_TIMEOUT)

    def deliver(message: EmailMessage) -> str:
        with closing(connect()) as smtp:
            if STARTTLS[server.query]:
                _require(smtp, "STARTTLS")
                smtp.starttls(context=context)
            if user:
                _log_in(smtp, user, password)
            smtp.send_message(message)
            # The server has accepted the message: it must not be sent again, whatever happens now.
            with suppress(OSError):
                smtp.quit()
        return f"sent by SMTP server {address}"

    return deliver


def _require(smtp: smtplib.SMTP, extension: str) -> None:
    """Raise DeliveryError, so that the mail is retried, for a server without an extension.

    The server may be misconfigured, or an attacker may have removed the extension from its reply.
    """
    smtp.ehlo_or_helo_if_needed()
    if not smtp.has_extn(extension):
        raise DeliveryError(f"the mail server does not offer {extension}")


def _log_in(smtp: smtplib.SMTP, user: str, password: str) -> None:
    _require(smtp, "AUTH")
    if f"{user}{password}".isascii():
        smtp.login(user, password)
        return
    # smtplib only supports ASCII; of the usual mechanisms, PLAIN uses UTF-8 (RFC 4616).
    if "PLAIN" not in smtp.esmtp_features["auth"].upper().split():
        raise DeliveryError(
            "the mail server does not offer AUTH PLAIN, which takes passwords beyond ASCII"
        )
    credentials = b64encode(f"\0{user}\0{password}".encode()).decode()
    code, reply = smtp.docmd("AUTH", f"PLAIN {credentials}")
    if code != AUTHENTICATED:
        raise smtplib.SMTPAuthenticationError(code, reply)


def _file_delivery(app: Flask) -> Deliver:
    """Return a function that writes a message to MAIL_FOLDER, readable by its owner only."""
    folder = Path(app.instance_path, app.config["MAIL_FOLDER"])
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise ConfigurationError(
            f"MAIL_FOLDER cannot be used: the mail folder {folder} cannot be written: {reason}"
        ) from None

    def deliver(message: EmailMessage) -> str:
        path = folder / f"{time.time_ns()}.eml"
        path.touch(mode=0o600, exist_ok=False)
        try:
            path.write_bytes(message.as_bytes(policy=SMTP))
        except OSError:
            # Most likely the disk is full; the next attempt writes another file.
            path.unlink()
            raise
        return f"written to {path}"

    return deliver


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
    context: Mapping[str, object] | None = None,
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
    context: Mapping[str, object],
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
