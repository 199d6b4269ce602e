"""Logging in by a password, and confirming that a caller still is who logged in."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from app.errors import InvalidPassword, LoginFailed, ValidationError
from app.extensions import db, now, transaction

from .accounts import replace_hash
from .credentials import parse_credentials, parse_ttl
from .models import AccessToken, User
from .passwords import hash_password, needs_rehash, verify_login, verify_password
from .schemes import stored_schemes
from .tokens import IssuedToken, issue

# Seconds for which a login counts as the password just given.
RECENT_SESSION = 300


def login(
    credentials: Mapping[str, Any], include: str | Iterable[str] | None = None
) -> IssuedToken:
    """Check credentials and issue an access token, with `user` when `include` names it.

    Raises LoginFailed for whatever does not match, and an error of its own for each kind of
    credentials that cannot be meant.
    """
    realm, name, value = parse_credentials(credentials)
    ttl = parse_ttl(credentials.get("ttl"))
    user = db.session.scalar(
        select(User).where(getattr(User, name) == value, User.realm == realm),
        execution_options={"populate_existing": True},
    )
    password = credentials.get("password")
    stored = user.password_hash if user else None
    if not verify_login(stored, password, stored_schemes()) or user is None:
        raise LoginFailed()
    token = _open_verified(user, ttl)
    if needs_rehash(user.password_hash):
        replace_hash(user, hash_password(str(password)))
    names = [include] if isinstance(include, str) else include or []
    return replace(token, user=user) if "user" in {str(each).lower() for each in names} else token


def open_session(user_id: int, ttl: float) -> IssuedToken:
    """Issue the token of a login, however the user was identified; raise LoginFailed for nobody."""
    try:
        value, row = issue(user_id, ttl)
    except IntegrityError:
        raise LoginFailed() from None
    return IssuedToken(value, ttl, row.created, user_id)


def confirm_caller(digest: str, password: str | None) -> None:
    """Make sure that the session with this digest is its user's: by its age or the password.

    A stolen token must not be enough to take an account over. Raises ValidationError for a
    missing password, InvalidPassword for a wrong one.
    """
    session = select(AccessToken.created, User.password_hash).join(User)
    row = db.session.execute(session.where(AccessToken.digest == digest)).first()
    if row is not None and row.created > now() - timedelta(seconds=RECENT_SESSION):
        return
    if password is None:
        raise ValidationError({"password": ["is needed for a new email"]})
    if row is None or not verify_password(row.password_hash, password):
        raise InvalidPassword()


def _open_verified(user: User, ttl: float) -> IssuedToken:
    """Open a session for a user whose password was just verified, if it is still that password.

    Insert first, look second: a reset that runs at the same time either sees this token and
    deletes it, or is seen here.
    """
    with transaction():
        token = open_session(user.id, ttl)
        same = select(User.id).where(User.id == user.id, User.password_hash == user.password_hash)
        if db.session.scalar(same.with_for_update(read=True)) is None:
            raise LoginFailed()
    return token
