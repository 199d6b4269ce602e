"""The mails that follow events, and their templates' variables."""

from typing import NamedTuple
from urllib.parse import urlencode

from flask import Flask

from app import outbox, signals
from app.errors import TooManyRequests
from app.outbox import DeferredError, Handler, Payload
from app.throttles import (
    MAIL_RECIPIENT,
    NOTICE_USER,
    count_deferrable,
    count_success,
    mailbox,
)

from . import delivery
from .delivery import SUBSCRIBER, transmit


def init_app(app: Flask) -> None:
    """Deliver this app's mails; raise ConfigurationError for an unusable folder."""
    delivery.init_app(app)
    for mail in MAILS:
        if app.config[mail.setting]:
            outbox.subscribe(app, mail.event, SUBSCRIBER, mail.send)


def send_reset_link(app: Flask, info: Payload) -> str:
    """Send a user the link to the page that sets a new password.

    Variables of `reset_password`: `link`, the page's absolute URL (str), and its lifetime: `hours`
    (int), or None if less than two, and `minutes` (int, at least 1).
    """
    token = info["accessToken"]
    context = _link(app, "reset-password", access_token=token.id) | _duration(token.ttl)
    return transmit(app, "reset_password", info["email"], context, info["user"])


def send_verification_link(app: Flask, info: Payload) -> str | None:
    """Send a user the link to the page that confirms the address.

    Variables of `verify_email`: those of `reset_password`.
    """
    return _send_confirmation(app, "verify_email", info)


def send_email_code(app: Flask, info: Payload) -> str | None:
    """Send a user the code that proves the recipient's address.

    Variables of `email_code`: `code` (str), and `hours` and `minutes` of `reset_password`.
    """
    token = info["accessToken"]
    context = {"code": token.id} | _duration(token.ttl)
    return _send_asked_for(app, "email_code", info["email"], context, info["user"])


def send_login_code(app: Flask, info: Payload) -> str:
    """Send a user the code to log in.

    Variables of `login_code`: `code` (str), and those of `reset_password`. The page at `link` is
    for the browser that requested the code.
    """
    code = info["code"]
    context = {"code": code} | _link(app, "login-code", code=code) | _duration(info["ttl"])
    return transmit(app, "login_code", info["email"], context, info["user"])


def send_change_link(app: Flask, info: Payload) -> str | None:
    """Send the link that confirms a new address to that address.

    Variables of `change_email`: those of `reset_password`.
    """
    return _send_confirmation(app, "change_email", info)


def send_change_notice(app: Flask, info: Payload) -> str | None:
    """Notify the current address of an account that a new one was requested.

    Variables of `email_change_requested`: none.
    """
    return _send_notice(app, "email_change_requested", info["email"], {}, info)


def send_email_changed(app: Flask, info: Payload) -> str | None:
    """Notify the old address of an account that it was replaced.

    Variables of `email_changed`: none. The new address is hidden from the reader of the old one.
    """
    return _send_notice(app, "email_changed", info["oldEmail"], {}, info)


def send_account_claimed(app: Flask, info: Payload) -> str | None:
    """Notify a user that a login removed the password set by an earlier, unverified registrant.

    Variables of `account_claimed`: `provider`, by which the user has logged in (str), or None for a
    login with a mailed code.
    """
    context = {"provider": info["provider"]}
    return _send_notice(app, "account_claimed", info["email"], context, info)


def send_credential_changed(app: Flask, info: Payload) -> str | None:
    """Notify a user that the password, a factor, a passkey or the recovery codes were changed.

    Variables of `credential_changed`: `change`, the name of the action in the audit log (str).
    """
    context = {"change": info["change"]}
    return _send_notice(app, "credential_changed", info["email"], context, info)


class EventMail(NamedTuple):
    """A mail that follows an event, unless its setting is false."""

    setting: str
    event: str
    send: Handler


MAILS = (
    EventMail("RESET_MAIL", signals.reset_password_request.name, send_reset_link),
    EventMail("VERIFICATION_MAIL", signals.verification_request.name, send_verification_link),
    EventMail("EMAIL_CODE_MAIL", signals.email_code_request.name, send_email_code),
    EventMail("LOGIN_CODE_MAIL", signals.login_code_request.name, send_login_code),
    EventMail("EMAIL_CHANGE_MAIL", signals.email_change_request.name, send_change_link),
    EventMail("EMAIL_CHANGE_NOTICE_MAIL", signals.EMAIL_CHANGE_NOTICE, send_change_notice),
    EventMail("EMAIL_CHANGED_MAIL", signals.email_changed.name, send_email_changed),
    EventMail("CREDENTIAL_CHANGED_MAIL", signals.credential_changed.name, send_credential_changed),
    EventMail("ACCOUNT_CLAIMED_MAIL", signals.account_claimed.name, send_account_claimed),
)


def _send_confirmation(app: Flask, kind: str, info: Payload) -> str | None:
    token = info["accessToken"]
    context = _link(app, "confirm-email", token=token.id) | _duration(token.ttl)
    return _send_asked_for(app, kind, info["email"], context, info["user"])


def _send_notice(app: Flask, kind: str, to: str, context: Payload, info: Payload) -> str | None:
    """Send a notice about an account; to a verified address it may be delayed, but not dropped.

    These notices are counted by user and text, so that no other user or change uses up the limit.
    To an unverified address, which may be somebody else's, they are limited like other mails.
    """
    user = info["user"]
    if not info.get("verified"):
        return _send_asked_for(app, kind, to, context, user)
    try:
        with count_deferrable(NOTICE_USER, kind, context, info["userId"]):
            return transmit(app, kind, to, context, user)
    except TooManyRequests:
        raise DeferredError("the user was told the same too often") from None


def _send_asked_for(app: Flask, kind: str, to: str, context: Payload, user: object) -> str | None:
    """Send a mail caused by a request, unless the mailbox has got too many of this kind.

    Requests may name any address. Mails for password resets were counted before.
    """
    try:
        with count_success(MAIL_RECIPIENT, kind, mailbox(to)):
            return transmit(app, kind, to, context, user)
    except TooManyRequests:
        return None


def _link(app: Flask, page: str, **query: str) -> Payload:
    return {"link": f"{app.config['PUBLIC_URL']}/{page}?{urlencode(query)}"}


def _duration(seconds: float) -> Payload:
    """Return a time span as people say it: in hours, or in minutes if less than two hours."""
    hours = round(seconds / 3600) if seconds >= 7200 else None
    return {"hours": hours, "minutes": max(1, round(seconds / 60))}
