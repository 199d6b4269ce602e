"""Throttles: limits on attempts, counted in the database for all processes together.

A use is counted before the work that it is for, in a statement that commits by itself, so that
failed work does not undo it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from flask import Flask, current_app
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    String,
    and_,
    bindparam,
    case,
    delete,
    func,
    inspect,
    or_,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.entries import Action, record, record_attempt, recording
from app.database.columns import UtcDateTime
from app.database.dialects import insert_for
from app.database.purging import delete_batch, purger
from app.database.session import Model, affected_rows, connection, db, in_transaction
from app.database.statements import PreparedStatement
from app.errors import ModelNotFound, SecondFactorRequired, TooManyRequests
from app.observability.origin import current_origin
from app.times import now

# The throttles of users and mails; features name their own. The figures of each are in the field of
# its name of ThrottlesSchema.
LOGIN_IDENTITY = "login_identity"
LOGIN_ADDRESS = "login_address"
PASSWORD_CHECK = "password_check"  # noqa: S105 the name of a throttle
CREDENTIAL = "credential"
REGISTRATION = "registration"
RESET_EMAIL = "reset_email"
RESET_RECIPIENT = "reset_recipient"
RESET_ADDRESS = "reset_address"
RESET_CONFIRMATION = "reset_confirmation"
VERIFICATION_USER = "verification_user"
VERIFICATION_ADDRESS = "verification_address"
MAIL_RECIPIENT = "mail_recipient"
NOTICE_USER = "notice_user"

#: Maximum locks in one response, those that last longest.
MAX_LOCKS = 1000
#: Characters of the name of a throttle, the length of its column.
NAME_LENGTH = 32
LIMIT = bindparam("limit", type_=Integer)


class Throttle(Model):
    """The uses of one throttle by one key, such as an identity or a client."""

    __tablename__ = "throttles"

    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    # The digest of the key, whose length is not limited.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int]
    started: Mapped[datetime] = mapped_column(UtcDateTime)
    # The end of the lock, if `count` has reached the limit.
    blocked_until: Mapped[datetime] = mapped_column(UtcDateTime)
    # When the uses are forgotten.
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


ROWS = inspect(Throttle).columns
# The row of a throttle and a key, and the allowed number of uses.
THE_ROW = ROWS.name == bindparam("row_name"), ROWS.digest == bindparam("row_digest")
BLOCKED_UNTIL = PreparedStatement(select(ROWS.blocked_until).where(*THE_ROW))


class Lock(NamedTuple):
    """A throttle and a key, given by its digest, that is locked until `locked_until`."""

    throttle: str
    key: str
    used: int
    limit: int
    locked_until: datetime


class Use(NamedTuple):
    """A counted use."""

    name: str
    digest: str
    started: datetime
    blocked_until: datetime


def key_digest(*parts: object) -> str:
    """Return the digest of a key: people type passwords into name fields, too.

    A failed login and the throttle that counts it have the same digest.
    """
    return sha256(json.dumps(parts).encode()).hexdigest()


def mailbox(address: str) -> str:
    """Return the mailbox of an address: in lower case, and without anything after a `+`.

    Many servers deliver all of these to one mailbox. On others, several mailboxes share a budget.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}"


def init_app(app: Flask) -> None:
    """Purge the table."""
    purger.of(app).add(Throttle.__tablename__, purge_batch)


def define(app: Flask, name: str, limit: int, seconds: int) -> None:
    """Define a throttle of the application: `limit` uses by a key within `seconds`.

    Raises ValueError for a name that is taken, or longer than the 32 characters of its column.
    """
    if name in app.config["THROTTLES"]:
        raise ValueError(f"there is a throttle {name!r} already")
    if len(name) > NAME_LENGTH:
        raise ValueError(f"the name of the throttle {name!r} is too long")
    app.config["THROTTLES"][name] = {"limit": limit, "seconds": seconds}


def count(name: str, *key: object, uses: int = 1) -> Use | None:
    """Count a use of a throttle by a key; raise TooManyRequests if none is left.

    The key identifies who uses it, such as a user's id or `current_network()`. Nothing is counted
    if THROTTLE_ENABLED is false, or if a part of the key is None, such as the network in a command.
    Raises RuntimeError in a transaction, whose rollback would undo the count.
    """
    try:
        return _count(name, key, uses)
    except TooManyRequests:
        details = {"throttle": name, "key": key_digest(*key)}
        record_attempt(Action.THROTTLED, current_origin().user_id, **details)
        raise


def _count(name: str, key: Sequence[object], uses: int = 1) -> Use | None:
    if not current_app.config["THROTTLE_ENABLED"] or None in key:
        return None
    if in_transaction():
        raise RuntimeError("a use must not be counted in a transaction: a rollback would undo it")
    row_key = {"row_name": name, "row_digest": key_digest(*key)}
    rate = current_app.config["THROTTLES"][name]
    moments, locks = _moments(rate)
    counting = _counting(db.engine.dialect.name, locks)
    row = counting.first({**row_key, **moments, "limit": rate["limit"], "uses": uses})
    if row is None:
        raise TooManyRequests(_seconds_blocked(row_key))
    return Use(name, row_key["row_digest"], row.started, row.blocked_until)


def allows(name: str, *key: object) -> bool:
    """Count a use as `count` does; return False if none is left.

    For responses that must not reveal it.
    """
    try:
        count(name, *key)
    except TooManyRequests:
        return False
    return True


@contextmanager
def count_failure(name: str, *key: object) -> Iterator[None]:
    """Count failures: a use is given back if the block does not raise.

    SecondFactorRequired is not a failure: the first step of a login has succeeded. Only this use is
    given back: a success does not hide other failures. Raises the errors of `count` before the
    block. It is a context manager.
    """
    use = count(name, *key)
    try:
        yield
    except SecondFactorRequired:
        if use:
            _give_back(use)
        raise
    if use:
        _give_back(use)


@contextmanager
def count_success(name: str, *key: object) -> Iterator[None]:
    """Count successes: a use is given back if the block raises.

    Raises the errors of `count` before the block. It is a context manager.
    """
    with _given_back_on_error(count(name, *key)):
        yield


@contextmanager
def count_deferrable(name: str, *key: object) -> Iterator[None]:
    """Count successes as `count_success` does, for work that is deferred if no use is left.

    A deferral is not recorded, because nothing is refused. It is a context manager.
    """
    with _given_back_on_error(_count(name, key)):
        yield


@contextmanager
def _given_back_on_error(use: Use | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if use:
            _give_back(use)
        raise


def clear(name: str, *key: object) -> None:
    """Forget the uses of a throttle by a key."""
    if current_app.config["THROTTLE_ENABLED"]:
        with connection() as connected:
            row_key = {"row_name": name, "row_digest": key_digest(*key)}
            connected.execute(delete(Throttle).where(*THE_ROW), row_key)


def find_locks() -> list[Lock]:
    """Return the current locks, at most MAX_LOCKS."""
    rates = current_app.config["THROTTLES"]
    longest = select(ROWS.name, ROWS.digest, ROWS.count, ROWS.blocked_until).where(_is_locked())
    longest = longest.order_by(ROWS.blocked_until.desc(), ROWS.name, ROWS.digest).limit(MAX_LOCKS)
    return [
        Lock(name, digest, used, rates[name]["limit"], until)
        for name, digest, used, until in db.session.execute(longest)
    ]


def count_locks() -> int:
    """Return the number of locked keys of all throttles."""
    locked = select(func.count()).select_from(Throttle).where(_is_locked())
    return db.session.scalar(locked) or 0


def release(name: str, digest: str) -> None:
    """Forget the uses of a throttle by the key with a digest; raise ModelNotFound."""
    row = Throttle.name == name, Throttle.digest == digest
    with recording():
        if not affected_rows(delete(Throttle).where(*row)):
            raise ModelNotFound("throttle", f"{name}/{digest}")
        record(Action.THROTTLE_RELEASED, throttle=name, key=digest)


def _is_locked() -> ColumnElement[bool]:
    """Return the condition that a row is locked now, as `_counting` decides."""
    moment, rates = now(), current_app.config["THROTTLES"]
    full = (and_(ROWS.name == name, ROWS.count >= rate["limit"]) for name, rate in rates.items())
    return and_(ROWS.expires_at > moment, ROWS.blocked_until > moment, or_(*full))


def _moments(rate: Mapping[str, int]) -> tuple[dict[str, datetime], int]:
    """Return the times that `_counting` compares with or sets, and the number of locks."""
    moment, window = now(), timedelta(seconds=rate["seconds"])
    moments = {"moment": moment, "window_end": moment + window}
    locks = list(_locks(rate["lock"], rate["max_lock"])) if "lock" in rate else []
    for step, seconds in enumerate(locks):
        moments[f"lock_end_{step}"] = moment + timedelta(seconds=seconds)
        moments[f"lock_expires_{step}"] = moments[f"lock_end_{step}"] + window
    return moments, len(locks)


def _locks(seconds: int, longest: int) -> Iterator[int]:
    """Yield the seconds of the first lock, of the second and so on; the last one repeats."""
    while seconds < longest:
        yield seconds
        seconds *= 2
    yield longest


@cache
def _counting(dialect: str, locks: int) -> PreparedStatement:
    """Return the statement that counts: it returns a row if the uses are allowed.

    A single statement, so that concurrent uses cannot exceed the limit.
    """
    moment, window_end = _moment("moment"), _moment("window_end")
    uses = bindparam("uses", type_=Integer)
    total = ROWS.count + uses
    insert = insert_for(dialect)(Throttle).values(
        name=bindparam("row_name"),
        digest=bindparam("row_digest"),
        count=uses,
        started=moment,
        blocked_until=_by_lock(locks, uses, window_end, "lock_end"),
        expires_at=_by_lock(locks, uses, window_end, "lock_expires"),
    )
    continued = {
        "count": total,
        "started": ROWS.started,
        "blocked_until": _by_lock(locks, total, ROWS.blocked_until, "lock_end"),
        "expires_at": _by_lock(locks, total, ROWS.expires_at, "lock_expires"),
    }
    # A window that starts after the current one ends is from before a clock was set back.
    is_over = or_(ROWS.expires_at <= moment, ROWS.started > window_end)
    return PreparedStatement(
        insert.on_conflict_do_update(
            index_elements=[ROWS.name, ROWS.digest],
            set_={
                column: case((is_over, insert.excluded[column]), else_=value)
                for column, value in continued.items()
            },
            where=or_(is_over, total <= LIMIT, ROWS.blocked_until <= moment),
        ).returning(ROWS.started, ROWS.blocked_until)
    )


def _by_lock(locks: int, total: object, window_end: object, name: str) -> object:
    """Return the end of the window below the limit, and above it that of each lock in turn."""
    if not locks:
        return window_end
    ends = [_moment(f"{name}_{step}") for step in range(locks)]
    steps = [(total == LIMIT + step, end) for step, end in enumerate(ends)]
    return case((total < LIMIT, window_end), *steps, else_=ends[-1])


def _moment(name: str) -> BindParameter[datetime]:
    return bindparam(name, type_=UtcDateTime)


def _seconds_blocked(row_key: Mapping[str, str]) -> int:
    """Return the whole seconds until a use may be allowed, at least 1."""
    row = BLOCKED_UNTIL.first(row_key)
    seconds = (row.blocked_until - now()).total_seconds() if row else 0
    return max(1, math.ceil(seconds))


def _give_back(use: Use) -> None:
    """Undo a use if its window is still open; if that fails, the use stays counted."""
    changes: dict[str, Any] = {"count": ROWS.count - 1}
    if "lock" in current_app.config["THROTTLES"][use.name]:
        # The lock that this use has set, unless another one has set a later one.
        is_own = ROWS.blocked_until == use.blocked_until
        changes["blocked_until"] = case((is_own, now()), else_=ROWS.blocked_until)
    is_open = ROWS.started == use.started
    statement = update(Throttle).where(*THE_ROW, is_open).values(changes)
    try:
        with connection() as connected:
            connected.execute(statement, {"row_name": use.name, "row_digest": use.digest})
    except SQLAlchemyError as error:
        current_app.logger.warning("a use was not given back: %s", type(error).__name__)


def purge_batch() -> int:
    """Delete expired rows, at most PURGE_BATCH; return their number."""
    expired = select(ROWS.name, ROWS.digest).where(ROWS.expires_at <= now())
    return delete_batch(expired)
