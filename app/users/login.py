"""Login with a password, and reauthentication of a logged-in caller."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import current_app
from sqlalchemy import ColumnElement, select
from sqlalchemy.exc import IntegrityError

from app.errors import EmailNotVerified, InvalidToken, LoginFailed, ValidationError
from app.extensions import db, now, transaction

from .accounts import replace_hash
from .attempts import check_password, login_attempt
from .credentials import parse_credentials, parse_ttl
from .models import AccessToken, User
from .passwords import hash_password, needs_rehash, verify_login
from .schemes import stored_schemes
from .tokens import IssuedToken, issue

# Seconds after a login in which no reauthentication is required.
RECENT_SESSION = 300


def login(
    credentials: Mapping[str, Any], include: str | Iterable[str] | None = None
) -> IssuedToken:
    """Check credentials and issue an access token, with `user` when `include` names it.

    Raises LoginFailed if they do not match, EmailNotVerified if EMAIL_VERIFICATION is "required"
    and the user's address is not verified, and the errors of `parse_credentials`, `parse_ttl` and
    `login_attempt`.
    """
    realm, name, value = parse_credentials(credentials)
    ttl = parse_ttl(credentials.get("ttl"))
    with login_attempt(realm, name, value):
        user, token = _login(realm, getattr(User, name) == value, credentials.get("password"), ttl)
    if token is None:
        # Not a failed attempt: the password is right.
        raise EmailNotVerified(user.id)
    names = [include] if isinstance(include, str) else include or []
    return replace(token, user=user) if "user" in {str(each).lower() for each in names} else token


def open_session(user_id: int, ttl: float) -> IssuedToken:
    """Issue a login token for an identified user; raise LoginFailed if the user does not exist."""
    try:
        value, row = issue(user_id, ttl)
    except IntegrityError:
        raise LoginFailed() from None
    return IssuedToken(value, ttl, row.created, user_id)


def reauthenticate(digest: str, password: str | None) -> None:
    """Require the password, unless the session with this digest was opened recently.

    A stolen token must not suffice to take over an account. Raises ValidationError for a missing
    password, what `check_password` does, and InvalidToken for a session that has ended meanwhile.
    """
    session = select(AccessToken.created, AccessToken.user_id, User.password_hash).join(User)
    row = db.session.execute(session.where(AccessToken.digest == digest)).first()
    if row is None:
        raise InvalidToken()
    if row.created > now() - timedelta(seconds=RECENT_SESSION):
        return
    if password is None:
        raise ValidationError({"password": ["is needed for a new email"]})
    check_password(row.user_id, row.password_hash, password)


def _login(
    realm: str, is_named: ColumnElement[bool], password: object, ttl: float
) -> tuple[User, IssuedToken | None]:
    """Verify the password of the user who is named, if there is one, and open a session.

    There is no session for a user whose address must be verified first.
    """
    user = db.session.scalar(
        select(User).where(is_named, User.realm == realm),
        execution_options={"populate_existing": True},
    )
    stored = user.password_hash if user else None
    if not verify_login(stored, password, stored_schemes()) or user is None:
        raise LoginFailed()
    if current_app.config["EMAIL_VERIFICATION"] == "required" and not user.email_verified:
        return user, None
    token = _open_session_if_unchanged(user, ttl)
    if needs_rehash(user.password_hash):
        replace_hash(user, hash_password(str(password)))
    return user, token


def _open_session_if_unchanged(user: User, ttl: float) -> IssuedToken:
    """Open a session if the password that was just verified has not been changed since.

    The token is inserted before the check: a concurrent reset either deletes the token or is
    detected by the check.
    """
    with transaction():
        token = open_session(user.id, ttl)
        same = select(User.id).where(User.id == user.id, User.password_hash == user.password_hash)
        if db.session.scalar(same.with_for_update(read=True)) is None:
            raise LoginFailed()
    return token
