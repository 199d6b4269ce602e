"""Access tokens of logins and mails: their lifetime, and issuing, prolonging and deleting them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from flask import current_app
from sqlalchemy import (
    ColumnElement,
    Row,
    bindparam,
    case,
    delete,
    func,
    insert,
    inspect,
    literal,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from app.audit.entries import Action, record, recording
from app.database.columns import UtcDateTime
from app.database.engine import brief_transaction
from app.database.purging import delete_batch, purge_all
from app.database.session import affected_rows, db
from app.database.statements import PreparedStatement, readers
from app.errors import AccessTokenRequired, InvalidTtl, ModelNotFound
from app.ids import Id
from app.settings import Settings
from app.times import now
from app.users.models import (
    HANDLE,
    PERSONAL_SCOPE,
    AccessToken,
    User,
    new_token,
    new_token_values,
    token_digest,
)
from app.users.user_models import FIRST, settings_of

#: Maximum sessions shown to a user, the newest ones.
MAX_SESSIONS = 1000
TOKENS = inspect(AccessToken).columns
# The condition of all other tokens than personal ones.
NOT_PERSONAL = AccessToken.scope.is_distinct_from(PERSONAL_SCOPE)
# Values that count as absent, as in LoopBack 3.
ABSENT = (None, "", 0)
#: Seconds that a request waits for a database lock to prolong its token.
TOUCH_TIMEOUT = 0.1
# A number as text, which forms send: as in JSON (RFC 8259, section 6), with optional spaces.
NUMERIC = re.compile(r"\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*", re.ASCII)
# LoopBack 3's lifetime of a token that never expires.
FOR_EVER = -1


@dataclass(frozen=True)
class IssuedToken:
    """A new access token; the only object with its value, `id`.

    `ttl` are seconds; `user` is None unless the login included the user.
    """

    id: str = field(repr=False)
    ttl: float
    created: datetime
    user_id: Id
    user: User | None = None
    # Whether its cookie persists after the browser is closed.
    remember_me: bool = True


@dataclass(frozen=True)
class Session:
    """A session of a user: a login token without its value."""

    handle: str
    user_id: Id
    ttl: float
    created: datetime
    # At most TOKEN_TOUCH_INTERVAL seconds before the last use; None without TOKEN_SLIDING.
    last_used: datetime | None
    user_agent: str | None
    address: str | None
    current: bool


class NewToken(NamedTuple):
    """The columns of an issued token."""

    handle: str
    created: datetime


def _inserting(user_id: object) -> PreparedStatement:
    """Return the statement that inserts a token of a user, who is a parameter or a query."""
    values: dict[Any, Any] = {column: bindparam(name) for name, column in TOKENS.items()}
    stored = insert(TOKENS.digest.table).values(values | {TOKENS.user_id: user_id})
    return PreparedStatement(stored.returning(TOKENS.handle, TOKENS.created))


INSERT_TOKEN = _inserting(bindparam("user_id"))
INSERT_OF_ANYBODY = _inserting(select(User.id).order_by(User.id).limit(1).scalar_subquery())


def issue(
    user_id: Id | None, ttl: float, value: str | None = None, **columns: object
) -> tuple[str, NewToken]:
    """Store a token with a lifetime of `ttl` seconds; return its value and its row.

    `value` is by default a new token's. `columns` are values of further columns: a token with a
    `scope` proves the address `email`, to which it is mailed. Without a user id it belongs to any
    user, as a decoy. Raises IntegrityError if the user does not exist.
    """
    value = value or new_token()
    # The session can read what was written before it.
    values = new_token_values(value, ttl, write_position=readers.current.position(), **columns)
    if user_id is None:
        row = INSERT_OF_ANYBODY.first(values)
    else:
        row = INSERT_TOKEN.first({**values, "user_id": user_id})
    return value, NewToken(*row)


def parse_ttl(asked: object, settings: Settings) -> float:
    """Return the lifetime in seconds for a login's ttl; raise InvalidTtl."""
    longest: int = settings["TOKEN_MAX_TTL"]
    if isinstance(asked, str) and NUMERIC.fullmatch(asked):
        asked = float(asked)
    if isinstance(asked, bool):
        raise InvalidTtl()
    if asked == FOR_EVER and settings["ETERNAL_TOKENS"]:
        return longest
    if asked in ABSENT:
        asked = settings["TOKEN_TTL"]
    if not isinstance(asked, int | float) or asked <= 0:
        raise InvalidTtl()
    return min(asked, longest)


class SlidingToken(Protocol):
    """The row of a login's token, with the columns that decide whether to prolong it."""

    digest: str
    ttl: float
    created: datetime
    expires_at: datetime
    last_used: datetime | None
    remember_me: bool


def prolong(session: SlidingToken, principal_type: str = FIRST) -> datetime | None:
    """Prolong a token by its ttl, if TOKEN_TOUCH_INTERVAL has passed since the last time.

    Returns the new time of expiry, at most TOKEN_MAX_TTL after the login; None if the token was not
    prolonged. A database error is only logged, because the token is valid in any case.
    """
    time = now()
    latest_touch = time - timedelta(seconds=current_app.config["TOKEN_TOUCH_INTERVAL"])
    if (session.last_used or session.created) > latest_touch:
        return None
    cap = session.created + timedelta(seconds=settings_of(principal_type)["TOKEN_MAX_TTL"])
    expires_at = min(time + timedelta(seconds=session.ttl), cap)
    try:
        touched = _touch(session.digest, time, latest_touch, expires_at)
    except SQLAlchemyError as error:
        current_app.logger.warning("a session was not prolonged: %s", type(error).__name__)
        return None
    return max(expires_at, session.expires_at) if touched else None


def logout(token: str) -> None:
    """End the session of an access token; raise AccessTokenRequired if it has none."""
    delete_session(token_digest(token))


def delete_session(digest: str) -> None:
    """Delete the login token with this digest; raise AccessTokenRequired if it does not exist."""
    login = AccessToken.digest == digest, AccessToken.is_live()
    with recording():
        row = _delete_one(*login)
        if row is None:
            raise AccessTokenRequired()
        record(Action.LOGOUT, row.user_id, row.user_id, session=row.handle)


def list_sessions(user_id: Id, current: str | None = None) -> list[Session]:
    """Return a user's newest sessions, newest first, at most MAX_SESSIONS.

    `current` is the digest of the caller's token.
    """
    newest = select(AccessToken).where(*_sessions_of(user_id))
    newest = newest.order_by(AccessToken.created.desc(), AccessToken.handle).limit(MAX_SESSIONS)
    return [_to_session(row, current) for row in db.session.scalars(newest)]


def count_sessions(user_id: Id) -> int:
    """Return the number of a user's sessions."""
    own = select(func.count()).select_from(AccessToken).where(*_sessions_of(user_id))
    return db.session.scalar(own) or 0


def find_session(user_id: Id, handle: str, current: str | None = None) -> Session:
    """Return one of a user's sessions by its handle; raise ModelNotFound."""
    named = *_sessions_of(user_id), AccessToken.handle == handle
    row = db.session.scalar(select(AccessToken).where(*named))
    if row is None:
        raise ModelNotFound("accessToken", handle)
    return _to_session(row, current)


def revoke_session(user_id: Id, handle: str) -> None:
    """Delete one of a user's tokens, except personal ones, by its handle; raise ModelNotFound."""
    named = AccessToken.user_id == user_id, AccessToken.handle == handle, NOT_PERSONAL
    with recording():
        if not HANDLE.fullmatch(handle) or not _delete_one(*named):
            raise ModelNotFound("accessToken", handle)
        record(Action.SESSION_REVOKED, user_id, session=handle)


def revoke_sessions(user_id: Id) -> None:
    """End all sessions of a user; personal tokens are kept."""
    with recording():
        if deleted := delete_sessions([user_id]):
            record(Action.SESSION_REVOKED, user_id, tokens=deleted)


def destroy_all_tokens(user_id: Id) -> int:
    """Delete every token of a user, including personal ones, which ends all sessions.

    Returns their number.
    """
    with recording():
        if deleted := delete_tokens([user_id]):
            record(Action.SESSION_REVOKED, user_id, tokens=deleted)
    return deleted


def lock(*conditions: ColumnElement[bool], model: type[User] = User) -> None:
    """Lock users until the end of the transaction; the conditions refer to this model.

    Every transaction that deletes tokens of a user locks the user first, to avoid deadlocks. SQLite
    allows one writer at a time and ignores the lock.
    """
    chosen = select(model.id).where(*conditions).order_by(model.id)
    db.session.scalars(chosen.with_for_update(key_share=True)).all()


def delete_tokens(user_ids: Sequence[Id]) -> int:
    """Delete every token of these users, including personal ones; return their number.

    Within a transaction, lock the users first.
    """
    return affected_rows(delete(AccessToken).where(AccessToken.user_id.in_(user_ids)))


def delete_sessions(user_ids: Sequence[Id], keep: str | None = None) -> int:
    """Delete the tokens of these users, except personal ones and the one with digest `keep`.

    Returns their number. Within a transaction, lock the users first.
    """
    others = AccessToken.digest != (keep or ""), NOT_PERSONAL
    return affected_rows(delete(AccessToken).where(AccessToken.user_id.in_(user_ids), *others))


def use_up(digest: str, scope: str) -> bool:
    """Delete a live token of this scope; of several concurrent calls only one returns True."""
    return _delete_one(AccessToken.digest == digest, AccessToken.is_live(scope)) is not None


def delete_scoped(user_id: Id, *scopes: str) -> None:
    """Delete the tokens of a user that have one of these scopes."""
    named = AccessToken.user_id == user_id, AccessToken.scope.in_(scopes)
    affected_rows(delete(AccessToken).where(*named))


def purge_tokens() -> int:
    """Delete the expired tokens, in batches; return their number."""
    return purge_all(purge_batch)


def purge_batch() -> int:
    """Delete expired tokens, at most PURGE_BATCH; return their number."""
    return delete_batch(select(AccessToken.digest).where(AccessToken.expires_at <= now()))


def _delete_one(*conditions: ColumnElement[bool]) -> Row[Id, str] | None:
    """Delete the token that meets the conditions; return its user id and handle, or None."""
    statement = delete(AccessToken).where(*conditions)
    returning = statement.returning(AccessToken.user_id, AccessToken.handle)
    return db.session.execute(returning).first()


def _sessions_of(user_id: Id) -> tuple[ColumnElement[bool], ...]:
    return AccessToken.user_id == user_id, AccessToken.is_live()


def _to_session(row: AccessToken, current: str | None) -> Session:
    """Return the session of a token; the login counts as its first use."""
    used = (row.last_used or row.created) if current_app.config["TOKEN_SLIDING"] else None
    origin = row.user_agent, row.address
    return Session(
        row.handle, row.user_id, row.ttl, row.created, used, *origin, row.digest == current
    )


def _touch(digest: str, time: datetime, latest_touch: datetime, expires_at: datetime) -> int:
    """Move the time of expiry forward, never back; return 0 if another request was faster.

    A token that was deleted or has expired meanwhile is not changed.
    """
    last_used = func.coalesce(TOKENS.last_used, TOKENS.created)
    new = literal(expires_at, UtcDateTime)
    later = case((TOKENS.expires_at < new, new), else_=TOKENS.expires_at)
    statement = (
        update(AccessToken)
        .where(TOKENS.digest == digest, AccessToken.is_live(), last_used <= latest_touch)
        .values(last_used=time, expires_at=later)
    )
    with brief_transaction(db.engine, TOUCH_TIMEOUT) as connection:
        return connection.execute(statement).rowcount
