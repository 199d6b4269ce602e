"""The values of personal tokens, the caller with one, and when and from where it was last used.

A value is `ost_`, 40 random letters and digits, and 6 for the CRC-32 of the 40, in base 62. Secret
scanners recognize such values reliably, and a mistyped one is refused without a query.
"""

import string
from datetime import datetime, timedelta
from zlib import crc32

from flask import current_app
from sqlalchemy import bindparam, func, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError

from app.access.identity import ANONYMOUS, HEADER, Identity, TokenTransport, read_scopes
from app.database.engine import brief_transaction
from app.database.session import db
from app.database.statements import PreparedStatement
from app.errors import InvalidToken
from app.observability.origin import current_origin
from app.times import now
from app.users.models import PERSONAL_SCOPE, AccessToken, User, new_token, token_digest
from app.users.sessions.tokens import TOUCH_TIMEOUT
from app.users.sessions.transports import COLUMNS, PERSONAL_PREFIX

# 62 ** 40 possible values are 238 bits.
RANDOM_LENGTH = 40
# The length of the largest CRC-32 in base 62.
CHECKSUM_LENGTH = 6
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
LENGTH = len(PERSONAL_PREFIX) + RANDOM_LENGTH + CHECKSUM_LENGTH
TOKENS, USERS = inspect(AccessToken).columns, inspect(User).columns
# Disabling a user deletes the tokens; the condition covers users disabled in the database directly.
TOKEN_QUERY = PreparedStatement(
    select(*COLUMNS, TOKENS.scopes, TOKENS.last_used)
    .join(USERS.id.table, USERS.id == TOKENS.user_id)
    .where(
        TOKENS.digest == bindparam("digest"),
        TOKENS.scope == PERSONAL_SCOPE,
        USERS.disabled_at.is_(None),
    )
)


def new_value() -> str:
    """Return the value of a new personal token."""
    characters = new_token()[:RANDOM_LENGTH]
    return PERSONAL_PREFIX + characters + checksum(characters)


def is_well_formed(value: str) -> bool:
    """Return True if a value has the form of a personal token with a correct checksum."""
    characters = value.removeprefix(PERSONAL_PREFIX)
    if len(value) != LENGTH or len(characters) == LENGTH or not characters.isascii():
        return False
    return checksum(characters[:RANDOM_LENGTH]) == characters[RANDOM_LENGTH:]


def checksum(characters: str) -> str:
    """Return the CRC-32 of ASCII characters in base 62, padded with zeros."""
    rest, digits = crc32(characters.encode("ascii")), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(DIGITS))
        digits = DIGITS[digit] + digits
    return digits


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
    return Identity(row, None, transport, read_scopes(row.scopes))


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
