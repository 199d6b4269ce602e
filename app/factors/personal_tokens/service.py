"""The service for personal tokens: create, list and revoke them, and find the caller with one.

A value is `ost_`, 40 random letters and digits, and 6 for the CRC-32 of the 40, in base 62. Secret
scanners recognize such values reliably, and a mistyped one is refused without a query.
"""

import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zlib import crc32

from flask import current_app
from sqlalchemy import ColumnElement, bindparam, delete, exists, func, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError

from app.access.identity import (
    ANONYMOUS,
    HEADER,
    Identity,
    LiveToken,
    TokenTransport,
    read_scopes,
    write_scopes,
)
from app.audit.entries import Action, record, recording
from app.database.engine import brief_transaction
from app.database.session import affected_rows, db, transaction
from app.database.statements import PreparedStatement
from app.errors import InvalidToken, ModelNotFound, ValidationError
from app.ids import Id
from app.observability.origin import current_origin
from app.throttles import CREDENTIAL, count
from app.times import now
from app.users.accounts.address_proofs import admit_credential
from app.users.models import PERSONAL_SCOPE, AccessToken, User, new_handle, new_token, token_digest
from app.users.sessions.tokens import TOUCH_TIMEOUT, lock
from app.users.sessions.transports import COLUMNS, PERSONAL_PREFIX

#: Maximum number of a user's personal tokens.
MAX_TOKENS = 50
# 62 ** 40 possible values are 238 bits.
RANDOM_LENGTH = 40
# The length of the largest CRC-32 in base 62.
CHECKSUM_LENGTH = 6
BASE_62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
VALUE_LENGTH = len(PERSONAL_PREFIX) + RANDOM_LENGTH + CHECKSUM_LENGTH
TOKENS, USERS = inspect(AccessToken).columns, inspect(User).columns
# Disabling a user deletes the tokens; the condition covers users disabled in the database directly.
TOKEN_QUERY = PreparedStatement(
    select(*COLUMNS, TOKENS.scopes, TOKENS.last_used, USERS.principal_type)
    .join(USERS.id.table, USERS.id == TOKENS.user_id)
    .where(
        TOKENS.digest == bindparam("digest"),
        TOKENS.scope == PERSONAL_SCOPE,
        USERS.disabled_at.is_(None),
    )
)


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


def is_had(user_id: object) -> ColumnElement[bool]:
    """Return the condition that a user has a token."""
    return exists().where(*_live_of(user_id))


def logs_in(_user_id: Id, _without: str) -> bool:
    """Return False: nobody can log in with a personal token."""
    return False


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


def identify(transport: TokenTransport, value: str) -> Identity:
    """Return the identity of a caller with a personal token, which is accepted in headers only.

    Query strings end up in logs and histories, and a cookie would turn it into a browser's session.
    """
    if transport.location != HEADER:
        return Identity(error=InvalidToken("Personal tokens are accepted in headers only."))
    if not is_well_formed(value):
        return Identity(error=InvalidToken())
    row = TOKEN_QUERY.first({"digest": token_digest(value)})
    if row is None:
        return ANONYMOUS
    if row.expires_at <= now():
        return Identity(None, InvalidToken(), transport)
    _note_use(row.digest, row.last_used)
    return Identity(row, None, transport, read_scopes(row.scopes), row.principal_type)


def new_value() -> str:
    """Return the value of a new personal token."""
    characters = new_token()[:RANDOM_LENGTH]
    return PERSONAL_PREFIX + characters + checksum(characters)


def is_well_formed(value: str) -> bool:
    """Return True if a value has the form of a personal token with a correct checksum."""
    characters = value.removeprefix(PERSONAL_PREFIX)
    if len(value) != VALUE_LENGTH or len(characters) == VALUE_LENGTH or not characters.isascii():
        return False
    return checksum(characters[:RANDOM_LENGTH]) == characters[RANDOM_LENGTH:]


def checksum(characters: str) -> str:
    """Return the CRC-32 of ASCII characters in base 62, padded with zeros."""
    rest, digits = crc32(characters.encode("ascii")), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(BASE_62))
        digits = BASE_62[digit] + digits
    return digits


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


def _live_of(user_id: object) -> tuple[ColumnElement[bool], ...]:
    return AccessToken.user_id == user_id, AccessToken.is_live(PERSONAL_SCOPE)


def _note_use(digest: str, last_used: datetime | None) -> None:
    """Store when and from where a token is used, at most once per TOKEN_TOUCH_INTERVAL.

    A database error is only logged, because the token is valid in any case.
    """
    time = now()
    latest = time - timedelta(seconds=current_app.config["TOKEN_TOUCH_INTERVAL"])
    if last_used is not None and last_used > latest:
        return
    is_due = func.coalesce(TOKENS.last_used, latest) <= latest
    used = update(AccessToken).where(TOKENS.digest == digest, is_due)
    new = used.values(last_used=time, address=current_origin().address)
    try:
        with brief_transaction(db.engine, TOUCH_TIMEOUT) as connection:
            connection.execute(new)
    except SQLAlchemyError as error:
        current_app.logger.warning("a use was not noted: %s", type(error).__name__)
