"""Deleting and disabling users, but not the last admin who can log in."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, delete, false, inspect, select, update

from app.access.admins import is_admin
from app.access.roles import ADMIN, Role
from app.audit.entries import Action, record, record_all, recording
from app.database.session import affected_rows, db, transaction
from app.errors import LastAdmin
from app.ids import Id
from app.rest.rows.dependents import released_dependents
from app.times import now
from app.users.models import User, user_model
from app.users.sessions.tokens import delete_tokens


@contextmanager
def keeping_admin() -> Iterator[None]:
    """Run a block that may disable or delete users, or revoke roles, in a transaction.

    Raises LastAdmin, and rolls back the block, if no admin would be left who can log in. Only one
    block runs at a time: of two admins who disable each other, one succeeds. It is a context
    manager.
    """
    with transaction():
        _lock()
        had_admin = has_admin()
        yield
        if had_admin and not has_admin():
            raise LastAdmin()


def has_admin() -> bool:
    """Return True if there is a user with the role ADMIN who can log in."""
    can_log_in = User.disabled_at.is_(None), User.service_account == false()
    admins = select(User.id).where(is_admin(User.id), *can_log_in)
    return db.session.scalar(admins.limit(1)) is not None


def _lock() -> None:
    """Lock the role of admins until the end of the transaction; granting it needs no lock.

    SQLite allows one writer at a time and ignores the lock.
    """
    role = select(Role.id).where(Role.name == ADMIN)
    db.session.scalars(role.with_for_update(key_share=True)).all()


def delete_user(user_id: Id) -> int:
    """Delete a user with all tokens and owned rows; return 1, or 0 if there is no such user.

    The user's records in the audit log are kept.
    """
    return delete_users([user_model().id == user_id])


def delete_users(conditions: Iterable[ColumnElement[bool]]) -> int:
    """Delete the users selected by the conditions with all tokens and owned rows.

    Their records in the audit log are kept. Returns the number of users; raises TooManyDependents.
    """
    model = user_model()
    conditions, key = list(conditions), inspect(model).columns["id"]
    with recording(), released_dependents(key, conditions):
        user_ids = db.session.scalars(delete(model).where(*conditions).returning(model.id)).all()
        record_all(Action.USER_DELETED, ((user_id, {}) for user_id in user_ids))
    return len(user_ids)


def disable_user(user_id: Id) -> bool:
    """Disable a user and delete all tokens; return False if already disabled.

    A concurrent login either fails or leaves a token that is deleted here (`login.open_session`).
    """
    model = user_model()
    enabled = model.id == user_id, model.disabled_at.is_(None)
    with transaction():
        changed = affected_rows(update(model).where(*enabled).values(disabled_at=now()))
        delete_tokens([user_id])
        if changed:
            record(Action.USER_DISABLED, user_id)
    return bool(changed)


def enable_user(user_id: Id) -> bool:
    """Enable a disabled user; return False for a user who is not disabled.

    Tokens issued before the user was disabled, or while disabled, remain invalid.
    """
    model = user_model()
    disabled = model.id == user_id, model.disabled_at.is_not(None)
    with transaction():
        changed = affected_rows(update(model).where(*disabled).values(disabled_at=None))
        if changed:
            delete_tokens([user_id])
            record(Action.USER_ENABLED, user_id)
    return bool(changed)
