"""Deleting and disabling users."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, delete, inspect, update

from app.audit.entries import Action, record, record_all, recording
from app.database.session import affected_rows, db, transaction
from app.ids import Id
from app.rest.rows.dependents import released_dependents
from app.times import now
from app.users.app_model import user_model
from app.users.sessions.tokens import delete_tokens


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
