"""Lifetimes of sessions: a login's, and its extension by use if TOKEN_SLIDING is set."""

import re
from datetime import datetime, timedelta
from typing import Protocol

from flask import current_app
from sqlalchemy import case, func, inspect, literal, update
from sqlalchemy.exc import SQLAlchemyError

from app.database.columns import UtcDateTime
from app.database.engine import brief_transaction
from app.database.session import db
from app.errors import InvalidTtl
from app.times import now
from app.users.models import AccessToken

# Values that count as absent, as in LoopBack 3.
ABSENT = (None, "", 0)
#: Seconds that a request waits for a database lock to prolong its token.
TOUCH_TIMEOUT = 0.1

# A number as text, which forms send: as in JSON (RFC 8259, section 6), with optional spaces.
NUMERIC = re.compile(r"\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*", re.ASCII)

# LoopBack 3's lifetime of a token that never expires.
FOR_EVER = -1

TOKENS = inspect(AccessToken).columns


def parse_ttl(asked: object) -> float:
    """Return the lifetime in seconds for a login's ttl; raise InvalidTtl."""
    longest: int = current_app.config["TOKEN_MAX_TTL"]
    if isinstance(asked, str) and NUMERIC.fullmatch(asked):
        asked = float(asked)
    if isinstance(asked, bool):
        raise InvalidTtl()
    if asked == FOR_EVER and current_app.config["ETERNAL_TOKENS"]:
        return longest
    if asked in ABSENT:
        asked = current_app.config["TOKEN_TTL"]
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


def prolong(session: SlidingToken) -> datetime | None:
    """Prolong a token by its ttl, if TOKEN_TOUCH_INTERVAL has passed since the last time.

    Returns the new time of expiry, at most TOKEN_MAX_TTL after the login; None if the token was not
    prolonged. A database error is only logged, because the token is valid in any case.
    """
    time = now()
    latest_touch = time - timedelta(seconds=current_app.config["TOKEN_TOUCH_INTERVAL"])
    if (session.last_used or session.created) > latest_touch:
        return None
    cap = session.created + timedelta(seconds=current_app.config["TOKEN_MAX_TTL"])
    expires_at = min(time + timedelta(seconds=session.ttl), cap)
    try:
        touched = _touch(session.digest, time, latest_touch, expires_at)
    except SQLAlchemyError as error:
        current_app.logger.warning("a session was not prolonged: %s", type(error).__name__)
        return None
    return max(expires_at, session.expires_at) if touched else None


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
