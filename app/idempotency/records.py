"""The table of calls with a key: claims of those that run, and the answers that were kept.

A call is claimed by one statement that commits by itself. Its answer is stored in the transaction
of its writes, if the claim is still this request's: a process that dies before the commit leaves a
claim that ends by itself, and no rows; one that dies afterwards leaves both rows and answer.
"""

import json
import math
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from flask import current_app
from sqlalchemy import (
    BindParameter,
    ForeignKey,
    String,
    Text,
    and_,
    bindparam,
    delete,
    inspect,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.dialects import insert_for
from app.database.purging import delete_batch
from app.database.session import Model, engines
from app.database.statements import PreparedStatement
from app.ids import Id
from app.settings import Settings
from app.times import now

from .errors import IdempotencyKeyInUse, IdempotencyKeyReused
from .keys import Call

#: Statements at `STATEMENT_TIMEOUT` that a call may take, after waiting for a password hash, before
#: another request with the same key runs it instead. The first one then stores nothing.
LEASE_STATEMENTS = 4
# Claims are tried again if the record that prevented one is gone.
ATTEMPTS = 3


class IdempotentCall(Model):
    """A call with a key: claimed while `status` is None, then with its answer."""

    __tablename__ = "idempotent_calls"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # The records of a user are deleted with the user.
    user_id: Mapped[Id | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    content: Mapped[str] = mapped_column(String(64))
    # A random text that only the request knows which has claimed the call.
    claim: Mapped[str] = mapped_column(String(32))
    started: Mapped[datetime] = mapped_column(UtcDateTime)
    claimed_until: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    status: Mapped[int | None]
    # JSON of the headers that were kept.
    headers: Mapped[str | None] = mapped_column(Text)
    body: Mapped[str | None] = mapped_column(Text)


ROWS = inspect(IdempotentCall).columns
THE_ROW = ROWS.digest == bindparam("row_digest")
IS_CLAIMED = ROWS.claim == bindparam("row_claim"), ROWS.status.is_(None)
FIND = PreparedStatement(
    select(
        *(ROWS.content, ROWS.started, ROWS.claimed_until),
        *(ROWS.status, ROWS.headers, ROWS.body),
    ).where(THE_ROW)
)
STORE = PreparedStatement(
    update(IdempotentCall)
    .where(THE_ROW, *IS_CLAIMED)
    .values({name: bindparam(f"new_{name}") for name in ("status", "headers", "body")})
    .returning(ROWS.digest)
)
REMOVE = PreparedStatement(
    delete(IdempotentCall).where(THE_ROW, *IS_CLAIMED).returning(ROWS.digest)
)


class Claim(NamedTuple):
    """A call that this request has claimed."""

    call: Call
    secret: str

    @property
    def row(self) -> dict[str, object]:
        """The parameters that select the row of the claim."""
        return {"row_digest": self.call.digest, "row_claim": self.secret}


class Answer(NamedTuple):
    """A kept answer."""

    status: int
    headers: Mapping[str, str]
    body: str


def claim(call: Call) -> Claim | Answer:
    """Claim a call, or return its answer.

    Raises IdempotencyKeyReused if its content was another one, and IdempotencyKeyInUse.
    """
    claimed = Claim(call, secrets.token_hex(16))
    for _ in range(ATTEMPTS):
        if _claiming(engines.current.dialect.name).first(_values(claimed)):
            return claimed
        # None if the call has failed meanwhile.
        if found := FIND.first({"row_digest": call.digest}):
            return _answer(found, call)
    raise IdempotencyKeyInUse(1)


def keep(claimed: Claim, answer: Answer) -> None:
    """Store an answer in the transaction of its call.

    Raises IdempotencyKeyInUse if another request has taken the claim over. If it is gone, it was
    deleted with its user, who cannot send the call again.
    """
    stored = {"status": answer.status, "headers": json.dumps(answer.headers), "body": answer.body}
    values = {f"new_{name}": value for name, value in stored.items()}
    if STORE.first({**claimed.row, **values}):
        return
    if claimed.call.user_id is None or FIND.first({"row_digest": claimed.call.digest}):
        raise IdempotencyKeyInUse(1)


def release(claimed: Claim) -> None:
    """Give up a claim, unless its answer was stored; if that fails, it ends by itself."""
    try:
        REMOVE.first(claimed.row)
    except SQLAlchemyError as error:
        current_app.logger.warning("a claim was not given up: %s", type(error).__name__)


def purge_batch() -> int:
    """Delete expired records, at most PURGE_BATCH; return their number."""
    expired = select(ROWS.digest).where(ROWS.expires_at <= now()).order_by(ROWS.expires_at)
    return delete_batch(expired)


def _answer(found: Any, call: Call) -> Answer:
    """Return the answer in a record of this call; raise the errors of `claim`."""
    if found.content != call.content:
        raise IdempotencyKeyReused()
    if found.status is None:
        raise IdempotencyKeyInUse(_seconds_left(found))
    return Answer(found.status, json.loads(found.headers), found.body)


def _seconds_left(claimed: Any) -> int:
    """Return when to ask again for a call that runs: after as long as it has run already.

    At least a second, and no later than the end of the claim.
    """
    moment = now()
    wait: timedelta = min(moment - claimed.started, claimed.claimed_until - moment)
    return max(1, math.ceil(wait.total_seconds()))


def _lease(settings: Settings) -> timedelta:
    seconds = LEASE_STATEMENTS * settings["STATEMENT_TIMEOUT"] + settings["PASSWORD_HASH_WAIT"]
    return timedelta(seconds=seconds)


def _values(claimed: Claim) -> dict[str, object]:
    """Return the parameters of `_claiming`."""
    settings, moment = current_app.config, now()
    lease = _lease(settings)
    return {
        "digest": claimed.call.digest,
        "user_id": claimed.call.user_id,
        "content": claimed.call.content,
        "claim": claimed.secret,
        "moment": moment,
        "lease_end": moment + lease,
        # Concurrent requests and other hosts may have read a later time.
        "latest_end": moment + 2 * lease,
        # A running call is not purged.
        "expiry": moment + max(timedelta(seconds=settings["IDEMPOTENCY_TTL"]), 2 * lease),
    }


@cache
def _claiming(dialect: str) -> PreparedStatement:
    """Return the statement that claims a call: it returns a row unless the call has a record.

    An expired record is replaced, and so is a claim that has ended, or that is from before a clock
    was set back. A single statement, so that one of several concurrent requests gets the claim.
    """
    names = ("moment", "lease_end", "latest_end", "expiry")
    moment, lease_end, latest_end, expiry = map(_time, names)
    insert = insert_for(dialect)(IdempotentCall).values(
        **{name: bindparam(name) for name in ("digest", "user_id", "content", "claim")},
        started=moment,
        claimed_until=lease_end,
        expires_at=expiry,
        **dict.fromkeys(("status", "headers", "body"), null()),
    )
    has_ended = or_(ROWS.claimed_until <= moment, ROWS.claimed_until > latest_end)
    return PreparedStatement(
        insert.on_conflict_do_update(
            index_elements=[ROWS.digest],
            set_={column.key: insert.excluded[column.key] for column in ROWS},
            where=or_(ROWS.expires_at <= moment, and_(ROWS.status.is_(None), has_ended)),
        ).returning(ROWS.digest)
    )


def _time(name: str) -> BindParameter[datetime]:
    return bindparam(name, type_=UtcDateTime)
