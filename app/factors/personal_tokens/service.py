"""The service for personal tokens: create, list and revoke them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flask import current_app
from sqlalchemy import ColumnElement, delete, exists, func, select

from app.access.identity import LiveToken, write_scopes
from app.audit.entries import Action, record, recording
from app.database.session import affected_rows, db, transaction
from app.errors import InvalidToken, ModelNotFound, ValidationError
from app.ids import Id
from app.throttles.throttles import CREDENTIAL, count
from app.times import now
from app.users.accounts.address_proofs import admit_credential
from app.users.models import PERSONAL_SCOPE, AccessToken, User, new_handle, token_digest
from app.users.sessions.tokens import lock

from .tokens import new_value

#: Maximum number of a user's personal tokens.
MAX_TOKENS = 50


@dataclass(frozen=True)
class NewPersonalToken:
    """A new personal token; the only object with its value."""

    value: str = field(repr=False)
    handle: str
    name: str
    scopes: str
    created: datetime
    expires_at: datetime
    last_used: None = None
    address: None = None


def is_had(user_id: Any) -> ColumnElement[bool]:
    """Return the condition that a user has a token."""
    return exists().where(*_live_of(user_id))


def end_of_life(ttl: float | None = None, expires_at: datetime | None = None) -> datetime:
    """Return when a new token expires: after `ttl` seconds, or at a given time.

    By default after the `ttl` of PERSONAL_TOKENS. Raises ValidationError for a time in the past, or
    beyond its `max_ttl`.
    """
    settings, time = current_app.config["PERSONAL_TOKENS"], now()
    if ttl is not None and expires_at is not None:
        raise ValidationError({"ttl": ["is not taken with expiresAt"]})
    name = "ttl" if expires_at is None else "expiresAt"
    if expires_at is not None:
        ttl = (expires_at - time).total_seconds()
    seconds = settings["ttl"] if ttl is None else ttl
    if not 0 < seconds <= settings["max_ttl"]:
        raise ValidationError({name: [f"must be within {settings['max_ttl']} seconds from now"]})
    return expires_at or time + timedelta(seconds=seconds)


def create_token(
    user: User,
    session: LiveToken,
    name: str,
    scopes: Mapping[str, Collection[str]],
    expires_at: datetime,
) -> NewPersonalToken:
    """Create a personal token of a user; `session` is the caller's.

    Raises TooManyRequests, InvalidToken if the session has ended meanwhile, ModelNotFound if the
    user was disabled or deleted, ValidationError for a user with MAX_TOKENS, and
    EmailProofRequired.
    """
    count(CREDENTIAL, user.id)
    new = NewPersonalToken(new_value(), new_handle(), name, write_scopes(scopes), now(), expires_at)
    row = AccessToken(
        digest=token_digest(new.value),
        user_id=user.id,
        handle=new.handle,
        scope=PERSONAL_SCOPE,
        name=name,
        scopes=new.scopes,
        created=new.created,
        expires_at=expires_at,
        ttl=(expires_at - new.created).total_seconds(),
    )
    with transaction():
        # A request that disables the user, or ends the session, either came first or deletes the
        # token.
        lock(User.id == user.id)
        _check(user.id, session)
        if not user.service_account:
            admit_credential(user.id)
        db.session.add(row)
        db.session.flush()
        record(Action.TOKEN_CREATED, user.id, token=new.handle, name=name)
    return new


def list_tokens(user_id: Id) -> Sequence[AccessToken]:
    """Return a user's personal tokens, newest first."""
    newest = select(AccessToken).where(*_live_of(user_id))
    return db.session.scalars(
        newest.order_by(AccessToken.created.desc(), AccessToken.handle).limit(MAX_TOKENS)
    ).all()


def find_token(user_id: Id, handle: str) -> AccessToken:
    """Return one of a user's personal tokens by its handle; raise ModelNotFound."""
    named = *_live_of(user_id), AccessToken.handle == handle
    row = db.session.scalar(select(AccessToken).where(*named))
    if row is None:
        raise ModelNotFound("personalToken", handle)
    return row


def revoke_token(user_id: Id, handle: str) -> None:
    """Delete one of a user's personal tokens by its handle; raise ModelNotFound."""
    named = *_live_of(user_id), AccessToken.handle == handle
    with recording():
        if not affected_rows(delete(AccessToken).where(*named)):
            raise ModelNotFound("personalToken", handle)
        record(Action.TOKEN_REVOKED, user_id, token=handle)


def logs_in(_user_id: Id, _without: str) -> bool:
    """Return False: nobody can log in with a personal token."""
    return False


def _check(user_id: Id, session: LiveToken) -> None:
    """Raise an error unless the session is open and the user may have another token."""
    is_open = AccessToken.digest == session.digest, AccessToken.is_live()
    if db.session.scalar(select(AccessToken.digest).where(*is_open)) is None:
        raise InvalidToken()
    enabled = select(User.id).where(User.id == user_id, User.disabled_at.is_(None))
    if db.session.scalar(enabled) is None:
        raise ModelNotFound("user", user_id)
    own = select(func.count()).select_from(AccessToken).where(*_live_of(user_id))
    if (db.session.scalar(own) or 0) >= MAX_TOKENS:
        raise ValidationError({"name": [f"is one too many: a user has at most {MAX_TOKENS}"]})


def _live_of(user_id: Any) -> tuple[ColumnElement[bool], ...]:
    return AccessToken.user_id == user_id, AccessToken.is_live(PERSONAL_SCOPE)
