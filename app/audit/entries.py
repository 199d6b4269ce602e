"""The audit log: who did what to whom, and from where; written in the transaction of the action."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Self

from flask import Flask, current_app
from sqlalchemy import Integer, bindparam, func, insert, inspect, or_, select

from app.database.purging import delete_batch, purge_all, purger
from app.database.session import connection, db, transaction
from app.database.statements import PreparedStatement
from app.ids import Id
from app.observability.origin import current_origin
from app.signals import audited, emit_after_commit
from app.state import AppState
from app.times import now

from .models import MAX_ACTION, AuditRecord

#: Records per hour of failed logins, of throttled requests, and of anonymous calls of data sources,
#: each: nothing else limits their number.
MAX_ATTEMPTS = 1000
ACTION_NAME = re.compile(rf"[A-Za-z0-9-]{{1,{MAX_ACTION}}}", re.ASCII)
# The `reason` of a failed login by a user whose email is not verified.
UNVERIFIED_EMAIL = "unverified email"
COLUMNS = inspect(AuditRecord).columns
# What is called in the transaction of each recorded action with its name and the users concerned,
# also if AUDIT_DAYS is None.
followers = AppState[list[Callable[[str, Sequence[Id | None]], None]]](
    "followers of recorded actions", factory=lambda _app: []
)
# Inserts one record, as most actions do.
INSERT = PreparedStatement(
    insert(AuditRecord)
    .values({name: bindparam(name) for name, column in COLUMNS.items() if column is not COLUMNS.id})
    .returning(COLUMNS.id)
)
# Counts up to `most` records of an action since a time.
RECENT = PreparedStatement(
    select(func.count().label("number")).select_from(
        select(COLUMNS.id)
        .where(COLUMNS.action == bindparam("action"), COLUMNS.time > bindparam("since"))
        .limit(bindparam("most", type_=Integer))
        .subquery()
    )
)


class Action(StrEnum):
    """An action that the service records in the audit log, with a description."""

    description: str

    def __new__(cls, value: str, description: str) -> Self:
        """Make a member from its name in the log and its description."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    REGISTERED = "registered", "The user was created, by registration or by the actor."
    LOGIN = (
        "login",
        "The user logged in; `session` is the handle of the session and `methods` are the methods"
        " of authentication: names of RFC 8176, `email` for a mailed code and `fed` for an identity"
        " provider."
        " `provider` is that provider, `passkey` the id of the passkey, if it was one.",
    )
    LOGIN_FAILED = (
        "login-failed",
        "A login failed. `identity` is a digest of the submitted name; the user is the one with"
        " this name. `reason` says that the password was right and the email not verified, or the"
        " `second factor` wrong, or that it was a `mailed code`, a `passkey` or a"
        " `reauthentication`. Of a login by an identity provider, or of adding an identity, the"
        " details are `provider` and `reason`.",
    )
    THROTTLED = (
        "throttled",
        "A request was refused by the throttle `throttle`. `key` is a digest of the throttled key;"
        " for `login_identity` it is the `identity` of the failed logins.",
    )
    REAUTHENTICATED = (
        "reauthenticated",
        "The user authenticated again in a session; `methods` are all of its methods, by the"
        " names of RFC 8176.",
    )
    LOGOUT = "logout", "The user ended the session with the handle `session`."
    SESSION_REVOKED = (
        "session-revoked",
        "The session with the handle `session` was ended from elsewhere, or `tokens`, all"
        " sessions.",
    )
    TOKEN_CREATED = (
        "token-created",
        "A personal token was created, with the handle `token` and the name `name`.",
    )
    TOKEN_REVOKED = "token-revoked", "The personal token with the handle `token` was revoked."
    FACTOR_ADDED = "factor-added", "The second factor `factor` of the kind `kind` was confirmed."
    FACTOR_REMOVED = "factor-removed", "The second factor `factor` of the kind `kind` was removed."
    FACTORS_RESET = (
        "factors-reset",
        "All second factors and recovery codes of the user were removed, and all sessions.",
    )
    PASSKEY_ADDED = "passkey-added", "The user can log in by the passkey `passkey`."
    PASSKEY_REMOVED = "passkey-removed", "The passkey `passkey` was removed."
    RECOVERY_CODES_RENEWED = "recovery-codes-renewed", "The user got new recovery codes."
    RECOVERY_CODE_USED = "recovery-code-used", "The user logged in with a recovery code."
    PASSWORD_CHANGED = "password-changed", "The password was changed."
    PASSWORD_RESET = "password-reset", "The password was set with a reset token."
    EMAIL_CHANGED = "email-changed", "The email was changed from `oldEmail` to `newEmail`."
    EMAIL_VERIFIED = "email-verified", "The email was confirmed with a mailed link or code."
    EMAIL_VOUCHED = (
        "email-vouched",
        "The email was marked as verified by the actor, without a mail.",
    )
    RESET_SENT = "reset-sent", "The actor had a link mailed to the user to set a password."
    IDENTITY_LINKED = (
        "identity-linked",
        "The user can log in by `provider`, with the identity `identity`.",
    )
    IDENTITY_UNLINKED = (
        "identity-unlinked",
        "The identity `identity` of `provider` was removed from the user.",
    )
    ACCOUNT_CLAIMED = (
        "account-claimed",
        "The user's email had never been verified, and `provider`, or without one a mailed code,"
        " proved its owner, who got the account. The password, all sessions and all identities"
        " were deleted.",
    )
    ROLE_GRANTED = "role-granted", "The user got the role `role`."
    ROLE_REVOKED = "role-revoked", "The user lost the role `role`."
    ROLE_CREATED = "role-created", "The role `role` was created, without members."
    ROLE_DELETED = (
        "role-deleted",
        "The role `role` was deleted, and revoked from its `members` members.",
    )
    USER_DISABLED = "user-disabled", "The user was disabled."
    USER_ENABLED = "user-enabled", "The user was enabled again."
    USER_DELETED = "user-deleted", "The user was deleted."
    DATA_SOURCE_CALLED = (
        "data-source-called",
        "The user, or an anonymous client, called `function` of the data source `dataSource`.",
    )
    DELIVERY_RETRIED = (
        "delivery-retried",
        "The delivery `delivery` of the outbox was retried.",
    )
    DELIVERY_GIVEN_UP = (
        "delivery-given-up",
        "The delivery `delivery` of the outbox was cancelled.",
    )
    WEBHOOK_CREATED = "webhook-created", "The webhook `webhook` was created, for `host`."
    WEBHOOK_CHANGED = (
        "webhook-changed",
        "The webhook `webhook` was changed; `change` says what: `settings`, `secret`, `enabled` or"
        " `disabled`.",
    )
    WEBHOOK_DELETED = "webhook-deleted", "The webhook `webhook` was deleted."
    WEBHOOK_GIVEN_UP = (
        "webhook-given-up",
        "The service disabled the webhook `webhook`, for the `reason`.",
    )
    JOB_REQUESTED = "job-requested", "The actor let the job `job` run now."
    THROTTLE_RELEASED = (
        "throttle-released",
        "The counter of the throttle `throttle` was reset; `key` is the digest of its key.",
    )


def init_app(app: Flask) -> None:
    """Purge the table if records are written."""
    if (days := app.config["AUDIT_DAYS"]) is not None:
        purger.of(app).add(AuditRecord.__tablename__, partial(purge_batch, days))


def record(
    action: str, user_id: Id | None = None, actor_id: Id | None = None, **details: object
) -> None:
    """Write a record in the transaction of the recorded action, unless AUDIT_DAYS is None.

    `action` is an Action, or the name of an action of the application, such as `book-lent`.
    `user_id` is the user concerned and `actor_id` the acting one, by default the caller of the
    request. `details` are stored as JSON, and must not have a secret. Raises ValueError for a
    malformed name.
    """
    if not ACTION_NAME.fullmatch(action):
        raise ValueError(f"an action has at most {MAX_ACTION} letters, digits and -: {action!r}")
    record_all(action, [(user_id, details)], actor_id)


def record_all(
    action: str,
    about: Iterable[tuple[Id | None, Mapping[str, object]]],
    actor_id: Id | None = None,
) -> None:
    """Write records as `record` does, in one statement; `about` has users and their details."""
    found = list(about)
    for _, details in found:
        _announce(action, details)
    for follow in followers.current:
        follow(action, [user_id for user_id, _ in found])
    _insert(action, found, actor_id)


def _insert(
    action: str, about: Iterable[tuple[Id | None, Mapping[str, object]]], actor_id: Id | None = None
) -> None:
    if not _is_enabled():
        return
    origin = current_origin()
    common = {
        "action": action,
        "actor_id": origin.user_id if actor_id is None else actor_id,
        "address": origin.address,
        "request_id": origin.request_id,
    }
    rows = [{**common, "user_id": user_id, "details": details} for user_id, details in about]
    if len(rows) == 1:
        INSERT.first({**rows[0], "time": now()})
    elif rows:
        with connection() as database:
            database.execute(insert(AuditRecord), rows)


def record_attempt(action: str, user_id: Id | None = None, **details: object) -> None:
    """Write a record outside of a transaction, at most about MAX_ATTEMPTS an hour.

    Otherwise repeated attempts could fill the disk. The last record has `limitReached`.
    """
    _announce(action, details)
    if not _is_enabled():
        return
    since = now() - timedelta(hours=1)
    count = RECENT.first({"action": action, "since": since, "most": MAX_ATTEMPTS}).number
    if count == MAX_ATTEMPTS - 1:
        details["limitReached"] = True
    if count < MAX_ATTEMPTS:
        _insert(action, [(user_id, details)])


@contextmanager
def recording() -> Iterator[None]:
    """Run one statement, its record and what follows it in a transaction."""
    if _is_enabled() or followers.current:
        with transaction():
            yield
    else:
        yield


def find_records(
    limit: int,
    user_id: Id | None = None,
    action: str | None = None,
    since: datetime | None = None,
) -> list[AuditRecord]:
    """Return the newest `limit` records, the newest first.

    Select those with this `user_id` as the user or the actor, of this action, or `since` a time.
    """
    query = select(AuditRecord).order_by(AuditRecord.id.desc()).limit(limit)
    if user_id is not None:
        query = query.where(or_(AuditRecord.user_id == user_id, AuditRecord.actor_id == user_id))
    if action is not None:
        query = query.where(AuditRecord.action == action)
    if since is not None:
        query = query.where(AuditRecord.time >= since)
    return list(db.session.scalars(query))


def purge(days: float) -> int:
    """Delete older records in batches; return their number."""
    return purge_all(partial(purge_batch, days))


def purge_batch(days: float) -> int:
    """Delete at most PURGE_BATCH of the oldest records if they are older; return their number."""
    is_old = AuditRecord.time < now() - timedelta(days=days)
    return delete_batch(select(AuditRecord.id).order_by(AuditRecord.id), is_old)


def _announce(action: str, details: Mapping[str, object]) -> None:
    """Send the signal of a record after its transaction has committed."""
    if audited.receivers:
        emit_after_commit(audited, action=action, details=details)


def _is_enabled() -> bool:
    return current_app.config["AUDIT_DAYS"] is not None
