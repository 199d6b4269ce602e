"""Events that are mailed to users, and the tokens in their mails.

The outbox stores the handles of tokens, but never their values.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from blinker import NamedSignal
from flask import Flask, current_app
from sqlalchemy import ColumnElement, bindparam, delete, false, inspect, select
from sqlalchemy.exc import IntegrityError

from app import outbox, signals
from app.database.session import affected_rows, after_commit, db, transaction
from app.database.statements import PreparedStatement
from app.errors import EmailRequired, InvalidEmail, InvalidRealm, ValidationError
from app.ids import Id
from app.outbox import Attempt, Payload
from app.signals import emit
from app.throttles import allows, key_digest, mailbox
from app.times import now

from .models import (
    CODE_SCOPE,
    HANDLE_LENGTH,
    TTL_SETTINGS,
    AccessToken,
    User,
    grouped,
    new_code,
    token_digest,
    typed,
    user_model,
)
from .names import stored_email
from .sessions.tokens import IssuedToken, issue, lock
from .user_models import FIRST, settings_of

#: Seconds for which a code that proves an address is valid.
CODE_LIFETIME = 600
#: Characters of such a code: 60 bits, so that it can neither be guessed in this time nor found by
#: its digest.
CODE_LENGTH = 12
# Characters between its dashes.
CODE_GROUP = 4
TOKENS = inspect(AccessToken).columns
LIVE = TOKENS.scope == bindparam("scope"), TOKENS.expires_at > bindparam("moment")
LIVE_TOKEN = PreparedStatement(
    select(TOKENS.ttl, TOKENS.created, TOKENS.user_id).where(
        TOKENS.digest == bindparam("digest"), *LIVE
    )
)
USERS = inspect(User).columns
ENABLED = PreparedStatement(
    select(USERS.id, USERS.email, USERS.email_verified, USERS.principal_type).where(
        USERS.email == bindparam("email"),
        USERS.principal_type == bindparam("principal_type"),
        USERS.realm == bindparam("realm"),
        USERS.disabled_at.is_(None),
        USERS.service_account == false(),
    )
)
# The keys of recorded values in a payload.
PAYLOAD_NAMES = {"old_email": "oldEmail", "user_id": "userId"}


class Account(NamedTuple):
    """The parts of a user that mailed tokens need, and throttles count."""

    id: Id
    email: str
    email_verified: bool
    principal_type: str


def init_app(app: Flask) -> None:
    """Define the events."""
    for event, load in LOADS.items():
        outbox.define(app, event, load)


def read_address(email: object, realm: object) -> tuple[str, str]:
    """Return the stored form of a request's email, and the realm.

    Raises EmailRequired, InvalidEmail or InvalidRealm.
    """
    if not isinstance(email, str) or not email:
        raise EmailRequired()
    if realm is not None and not isinstance(realm, str):
        raise InvalidRealm()
    try:
        return stored_email(email), realm or ""
    except ValidationError:
        raise InvalidEmail() from None


def find_enabled_account(email: str, realm: str, principal_type: str) -> Account | None:
    """Return the account of a model with this stored email in this realm, if it may log in."""
    row = ENABLED.first({"email": email, "realm": realm, "principal_type": principal_type})
    return None if row is None else Account(*row)


def recipient_key(account: Account | User | None, email: str, realm: str) -> tuple[object, ...]:
    """Return the key by which a mail to this address of this account is counted.

    The user, if the address is verified: requests for other addresses of the mailbox do not use up
    its budget. Otherwise the mailbox, because anybody may have registered the address. Without an
    account nothing is mailed, so nobody's budget is used.
    """
    if account is None:
        return "nobody", realm, email
    return ("user", account.id) if account.email_verified else (mailbox(email),)


def is_within_budget(
    by_client: tuple[str, Sequence[str | None]],
    by_recipient: str,
    email: str,
    realm: str,
    account: Account | None,
) -> bool:
    """Count a request for an email: by client and, if that is within its budget, by recipient.

    `by_client` is a throttle and its key, such as the client's network; `by_recipient` is a
    throttle. A single client leaves most of the recipient's budget to others.
    """
    throttle, key = by_client
    within = allows(throttle, *key, realm, email)
    return within and allows(by_recipient, *recipient_key(account, email, realm))


def mail_token(event: NamedSignal, scope: str, user: User | Account | None, email: str) -> None:
    """Issue a token, record the event that mails it to `email`, and emit it after the commit.

    Does nothing if the user is deleted meanwhile. Without a user, decoys are stored, so that the
    time does not reveal which users exist. The decoy token has already expired.
    """
    ttl = _lifetime(scope, user.principal_type if user else FIRST)
    new = {"value": _new_value(scope), "scope": scope, "email": email}
    with suppress(IntegrityError), transaction():
        if user is None:
            _, row = issue(None, 0, **new)
            outbox.record_decoy(event.name, {"scope": scope, "handle": row.handle}, ttl)
        else:
            value, row = issue(user.id, ttl, **new)
            data = {"scope": scope, "handle": row.handle}
            known = {"user_id": user.id, "user_email": user.email, "email": email}
            outbox.record(event.name, data | known, ttl, secret=value)
            token = IssuedToken(value, ttl, row.created, user.id)
            after_commit(partial(_emit, event, token, email))


def use_up_code(user_id: Id, code: str) -> str | None:
    """Use up a code that proves an address to a user; return the address, None for a wrong code.

    Only one of several concurrent calls returns it.
    """
    digest = token_digest(grouped(typed(code), CODE_GROUP))
    own = AccessToken.user_id == user_id, AccessToken.digest == digest
    used = delete(AccessToken).where(*own, AccessToken.is_live(CODE_SCOPE))
    return db.session.scalar(used.returning(AccessToken.email))


def load_token(data: Payload, attempt: Attempt) -> Payload | None:
    """Return the payload for an attempt to mail a token: `accessToken`, `email` and `user`.

    The first attempt mails the issued token. Every other one mails an additional token, which
    replaces the one mailed by an earlier attempt. Returns None if the token was used, revoked or
    has expired; after a retry by an operator, only if the user was deleted, is disabled or has
    another address.
    """
    user = db.session.get(user_model(), data["user_id"])
    if user is None or user.disabled_at or user.email != data["user_email"]:
        return None
    token = _current_token(data, attempt)
    if token is None:
        return None
    return {"accessToken": token, "email": data["email"], "user": user}


def load_confirmation(data: Payload, attempt: Attempt) -> Payload | None:
    """Return the payload for an attempt to mail a token that confirms an address.

    A retry by an operator does not restore a used or revoked token: a change of the password must
    cancel a change of the address permanently.
    """
    return load_token(data, replace(attempt, is_retried=False))


def load_notice(data: Payload, _attempt: Attempt) -> Payload:
    """Return the payload of a notice: the recorded data, and `user`.

    The user is None if deleted meanwhile, or if an older version recorded the event.
    """
    recorded = {PAYLOAD_NAMES.get(name, name): value for name, value in data.items()}
    user_id = recorded.get("userId")
    return recorded | {"user": user_id and db.session.get(user_model(), user_id)}


LOADS = {
    signals.reset_password_request.name: load_token,
    signals.verification_request.name: load_confirmation,
    signals.email_change_request.name: load_confirmation,
    signals.email_code_request.name: load_confirmation,
    signals.EMAIL_CHANGE_NOTICE: load_notice,
    signals.email_changed.name: load_notice,
    signals.account_claimed.name: load_notice,
    signals.credential_changed.name: load_notice,
}


def _emit(event: NamedSignal, token: IssuedToken, email: str) -> None:
    """Send the signal with the user, who is only loaded if there are receivers."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    # Blinker's `has_receivers_for` is also true for an app that had receivers before.
    if any(event.receivers_for(app)):
        user = db.session.get(user_model(), token.user_id)
        emit(event, info={"accessToken": token, "email": email, "user": user})


def _current_token(data: Payload, attempt: Attempt) -> IssuedToken | None:
    """Return the token that this attempt mails; None if the event's token is not live."""
    if attempt.secret:
        return _find(data, attempt.secret)
    with transaction():
        lock(User.id == data["user_id"])
        end = attempt.deadline if attempt.is_retried else _find_end(data)
        return None if end is None else _issue_another(data, attempt.subscriber, end)


def _find(data: Payload, value: str) -> IssuedToken | None:
    """Return the token with this value, if it is live."""
    row = LIVE_TOKEN.first({"digest": token_digest(value), "scope": data["scope"], "moment": now()})
    return None if row is None else IssuedToken(value, row.ttl, row.created, row.user_id)


def _find_end(data: Payload) -> datetime | None:
    """Return when the event's token expires; None if it is not live."""
    live = *_named(data, data["handle"]), AccessToken.is_live(data["scope"])
    return db.session.scalar(select(AccessToken.expires_at).where(*live))


def _issue_another(data: Payload, subscriber: str, end: datetime) -> IssuedToken:
    """Issue a token in addition to the event's, which another subscriber may have sent.

    Replaces the one that an earlier attempt has issued for this subscriber.
    """
    user_id, ttl = data["user_id"], (end - now()).total_seconds()
    handle = key_digest(data["handle"], subscriber)[:HANDLE_LENGTH]
    affected_rows(delete(AccessToken).where(*_named(data, handle)))
    columns = {"scope": data["scope"], "handle": handle, "email": data["email"]}
    value, row = issue(user_id, ttl, _new_value(data["scope"]), **columns)
    return IssuedToken(value, ttl, row.created, user_id)


def _lifetime(scope: str, principal_type: str) -> float:
    """Return the seconds for which a token of this scope is valid, of a user of a model."""
    if scope == CODE_SCOPE:
        return CODE_LIFETIME
    return float(settings_of(principal_type)[TTL_SETTINGS[scope]])


def _new_value(scope: str) -> str | None:
    """Return the value of a new token of this scope if it has a special form: a code."""
    return grouped(new_code(CODE_LENGTH), CODE_GROUP) if scope == CODE_SCOPE else None


def _named(data: Payload, handle: str) -> tuple[ColumnElement[bool], ...]:
    return AccessToken.user_id == data["user_id"], AccessToken.handle == handle
