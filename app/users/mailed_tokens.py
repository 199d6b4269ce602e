"""Tokens that are mailed: the outbox has their handle, and never their value."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import IntegrityError

from app import outbox
from app.extensions import affected_rows, db, now, transaction
from app.outbox import Attempt

from .current import user_model
from .models import AccessToken, User, new_token, token_digest
from .tokens import IssuedToken, issue, lock


def issue_for_mail(
    event: str, user: User | None, email: str, ttl: float, scope: str
) -> IssuedToken | None:
    """Issue a token and record the event that mails it to `email`, in one transaction.

    Returns None without a user, or if the user is deleted meanwhile. Without a user decoys are
    stored, which takes the same time: otherwise it would reveal which users there are.
    """
    any_user_id = select(User.id).order_by(User.id).limit(1).scalar_subquery()
    try:
        with transaction():
            value, row = issue(user.id if user else any_user_id, ttl, scope, email=email)
            data: dict[str, Any] = {"scope": scope, "handle": row.handle}
            if user:
                data |= {"user_id": user.id, "user_email": user.email, "email": email}
                outbox.record(event, data, ttl, secret=value)
            else:
                outbox.record_decoy(event, data, ttl)
            decoy_digest = "" if user else row.digest
            affected_rows(delete(AccessToken).where(AccessToken.digest == decoy_digest))
    except IntegrityError:
        return None
    return IssuedToken(value, ttl, row.created, user.id) if user else None


def load(data: dict[str, Any], attempt: Attempt) -> dict[str, Any] | None:
    """Return the payload for an attempt to mail a token: `accessToken`, `email` and `user`.

    The first attempt mails the token that was issued. Every other one mails a new token, which
    replaces it. Returns None if the token was used, revoked or has expired; after a retry by an
    operator, only if the user was deleted, is disabled or has another address.
    """
    user = db.session.get(user_model(), data["user_id"])
    if user is None or user.disabled_at or user.email != data["user_email"]:
        return None
    token = _current_token(data, attempt)
    if token is None:
        return None
    return {"accessToken": token, "email": data["email"], "user": user}


def _current_token(data: dict[str, Any], attempt: Attempt) -> IssuedToken | None:
    """Return the token that this attempt mails, if it is still of use."""
    if attempt.is_retried:
        return _issue_again(data, attempt.deadline)
    return _find(data, attempt.secret) if attempt.secret else _replace(data)


def _find(data: dict[str, Any], value: str) -> IssuedToken | None:
    """Return the token with this value, if it is live."""
    live = AccessToken.digest == token_digest(value), AccessToken.is_live(data["scope"])
    row = db.session.scalar(select(AccessToken).where(*live))
    return None if row is None else IssuedToken(value, row.ttl, row.created, row.user_id)


def _replace(data: dict[str, Any]) -> IssuedToken | None:
    """Replace a token by a new one with the remaining life; return None if it is not live."""
    value = new_token()
    live = *_named(data), AccessToken.is_live(data["scope"])
    replaced = update(AccessToken).where(*live).values(digest=token_digest(value))
    columns = AccessToken.created, AccessToken.expires_at
    row = db.session.execute(replaced.returning(*columns)).first()
    if row is None:
        return None
    ttl = (row.expires_at - now()).total_seconds()
    return IssuedToken(value, ttl, row.created, data["user_id"])


def _issue_again(data: dict[str, Any], deadline: datetime) -> IssuedToken:
    """Issue a token that lives until the deadline, in place of the one that there may still be."""
    user_id, ttl = data["user_id"], (deadline - now()).total_seconds()
    with transaction():
        lock(User.id == user_id)
        affected_rows(delete(AccessToken).where(*_named(data)))
        value, row = issue(user_id, ttl, data["scope"], data["handle"], data["email"])
    return IssuedToken(value, ttl, row.created, user_id)


def _named(data: dict[str, Any]) -> tuple[ColumnElement[bool], ...]:
    return AccessToken.user_id == data["user_id"], AccessToken.handle == data["handle"]
