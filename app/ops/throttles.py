"""Throttles: how often something may be tried, counted in the database by all processes together.

A use is counted before the work that it is for, in a statement that commits by itself, so that
work that fails does not undo it.
"""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from flask import current_app
from sqlalchemy import (
    ColumnElement,
    String,
    case,
    delete,
    inspect,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from app.errors import TooManyRequests
from app.extensions import Model, UtcDateTime, connection, db, now

# The throttles; their figures are the entries of the setting THROTTLES.
LOGIN_IDENTITY = "login_identity"
LOGIN_ADDRESS = "login_address"
PASSWORD_CHECK = "password_check"  # noqa: S105 the name of a throttle
REGISTRATION = "registration"
RESET_EMAIL = "reset_email"
RESET_ADDRESS = "reset_address"
RESET_CONFIRMATION = "reset_confirmation"
VERIFICATION_USER = "verification_user"
VERIFICATION_ADDRESS = "verification_address"

# Rows that one statement of a purge deletes.
PURGE_BATCH = 1000
# Seconds between two purges by a process.
PURGE_INTERVAL = 60

INSERTS: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
MOMENT = UtcDateTime()


class Throttle(Model):
    """The uses of one throttle by one key, such as an identity or a client."""

    __tablename__ = "throttles"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    # Of the key, whose length has no bound.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int]
    started: Mapped[datetime] = mapped_column(UtcDateTime)
    # Until when no use passes, if `count` has reached the limit.
    blocked_until: Mapped[datetime] = mapped_column(UtcDateTime)
    # When the uses are forgotten.
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


ROWS = inspect(Throttle).columns


class Use(NamedTuple):
    """A use that has been counted."""

    name: str
    digest: str
    started: datetime
    blocked_until: datetime


def count(name: str, *key: object, uses: int = 1) -> Use | None:
    """Count a use of a throttle by a key; raise TooManyRequests if none is left.

    Nothing is counted if THROTTLE_ENABLED is false, or for a part of the key that is None, like
    the client of a command. Must not be called in a transaction, whose rollback would undo it.
    """
    if not current_app.config["THROTTLE_ENABLED"] or None in key:
        return None
    if db.session.registry.has() and db.session().info.get("in_transaction"):
        raise RuntimeError("a use must not be counted in a transaction: a rollback would undo it")
    digest = _digest(key)
    with connection() as connected:
        row = connected.execute(_counting(name, digest, uses)).first()
    if row is None:
        raise TooManyRequests(_seconds_blocked(name, digest))
    _purge_if_due()
    return Use(name, digest, row.started, row.blocked_until)


@contextmanager
def attempt(name: str, *key: object) -> Iterator[None]:
    """Count a use, and give it back if the block does not raise; raise what `count` does.

    Only this use is given back: a success does not hide the failures of others.
    """
    use = count(name, *key)
    yield
    if use:
        _give_back(use)


def clear(name: str, *key: object) -> None:
    """Forget the uses of a throttle by a key."""
    if current_app.config["THROTTLE_ENABLED"]:
        with connection() as connected:
            connected.execute(delete(Throttle).where(*_row(name, _digest(key))))


def _digest(key: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()


def _row(name: str, digest: str) -> tuple[ColumnElement[bool], ...]:
    return ROWS.name == name, ROWS.digest == digest


def _counting(name: str, digest: str, uses: int) -> Any:
    """Return the statement that counts: it returns a row if the uses pass, none if they do not.

    One statement, so that of concurrent uses no more pass than the limit allows.
    """
    rate, moment = current_app.config["THROTTLES"][name], now()
    window_end = moment + timedelta(seconds=rate["seconds"])
    total, first = ROWS.count + uses, literal(window_end, MOMENT)
    insert = INSERTS[db.engine.dialect.name](Throttle).values(
        name=name,
        digest=digest,
        count=uses,
        started=moment,
        **_ends(rate, moment, literal(uses), first, first),
    )
    # A window that starts after the present one ends is from a clock that was set back.
    is_over = or_(ROWS.expires_at <= moment, ROWS.started > window_end)
    continued = {
        "count": total,
        "started": ROWS.started,
        **_ends(rate, moment, total, ROWS.blocked_until, ROWS.expires_at),
    }
    return insert.on_conflict_do_update(
        index_elements=[ROWS.name, ROWS.digest],
        set_={
            column: case((is_over, insert.excluded[column]), else_=value)
            for column, value in continued.items()
        },
        where=or_(is_over, total <= rate["limit"], ROWS.blocked_until <= moment),
    ).returning(ROWS.started, ROWS.blocked_until)


def _ends(
    rate: Mapping[str, Any], moment: datetime, total: Any, blocked_until: Any, expires_at: Any
) -> dict[str, Any]:
    """Return `blocked_until` and `expires_at` of a row that has counted `total` uses.

    They are the given ones, unless the throttle locks and the limit is reached: then the use locks
    for twice as long as the last one did, and is remembered for a window after that.
    """
    if "lock" not in rate:
        return {"blocked_until": blocked_until, "expires_at": expires_at}
    limit, window = rate["limit"], timedelta(seconds=rate["seconds"])
    ends = [moment + timedelta(seconds=seconds) for seconds in _locks(rate)]
    return {
        "blocked_until": _by_total(limit, total, blocked_until, ends),
        "expires_at": _by_total(limit, total, expires_at, [end + window for end in ends]),
    }


def _locks(rate: Mapping[str, Any]) -> Iterator[float]:
    """Yield the seconds of the first lock, the second and so on; the last one repeats."""
    seconds: float = rate["lock"]
    while seconds < rate["max_lock"]:
        yield seconds
        seconds *= 2
    yield rate["max_lock"]


def _by_total(limit: int, total: Any, before: Any, ends: Sequence[datetime]) -> Any:
    """Return `before` up to the limit, and from there on the ends in turn, then the last one."""
    moments = [literal(end, MOMENT) for end in ends]
    steps = [(total == limit + step, end) for step, end in enumerate(moments)]
    return case((total < limit, before), *steps, else_=moments[-1])


def _seconds_blocked(name: str, digest: str) -> int:
    """Return the whole seconds until a use may pass, at least 1."""
    blocked = select(ROWS.blocked_until).where(*_row(name, digest))
    with connection() as connected:
        until = connected.scalar(blocked) or now()
    return max(1, math.ceil((until - now()).total_seconds()))


def _give_back(use: Use) -> None:
    """Undo a use, if its window is still open; if that fails, the use stays counted."""
    moment = now()
    rate = current_app.config["THROTTLES"][use.name]
    changes: dict[str, Any] = {"count": ROWS.count - 1}
    if "lock" in rate:
        # The lock that this use has set, and none that another one has set since.
        is_own = ROWS.blocked_until == use.blocked_until
        changes["blocked_until"] = case((is_own, moment), else_=ROWS.blocked_until)
    statement = update(Throttle).where(*_row(use.name, use.digest), ROWS.started == use.started)
    try:
        with connection() as connected:
            connected.execute(statement.values(changes))
    except SQLAlchemyError as error:
        current_app.logger.warning("a use was not given back: %s", type(error).__name__)


def _purge_if_due() -> None:
    """Delete expired rows once in PURGE_INTERVAL, and at every use while there are many of them.

    A purge that fails is left to the next one.
    """
    extensions = current_app.extensions
    if time.monotonic() < extensions.get("throttle_purge", 0):
        return
    extensions["throttle_purge"] = time.monotonic() + PURGE_INTERVAL
    expired = select(ROWS.name, ROWS.digest).where(ROWS.expires_at <= now()).limit(PURGE_BATCH)
    # Processes that purge at the same time do not wait for each other's rows.
    chosen = expired.with_for_update(skip_locked=True)
    statement = delete(Throttle).where(tuple_(ROWS.name, ROWS.digest).in_(chosen))
    with suppress(SQLAlchemyError), connection() as connected:
        if connected.execute(statement).rowcount == PURGE_BATCH:
            extensions["throttle_purge"] = 0
