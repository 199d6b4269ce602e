"""Changes of users: their names, emails and properties."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, and_, or_, select, update

from app.database.session import db, in_transaction
from app.ids import Id
from app.rest.rows.values import Values
from app.users.models import User, user_model
from app.users.names import stored_email, username_columns
from app.users.sessions import login_methods
from app.users.sessions.tokens import delete_sessions, lock

from .address_proofs import check_new_address
from .confirmation import verify_new_addresses
from .credentials import record_email_change, record_verified
from .registration import raise_taken, unique_transaction


def changes_email(conditions: Iterable[ColumnElement[bool]], email: str) -> bool:
    """Return True if the email of a user selected by the conditions would change."""
    model = user_model()
    other = select(model.id).where(*conditions, model.email != stored_email(email))
    return db.session.scalar(other.limit(1)) is not None


def update_users(
    conditions: Iterable[ColumnElement[bool]],
    changes: Mapping[str, object],
    keep: str | None = None,
    reauthenticated: bool = True,
    caller_id: Id | None = None,
) -> Sequence[User]:
    """Change the users selected by the conditions; return the changed users.

    A new email is unverified, ends all sessions except the one with digest `keep`, and is announced
    by emailChanged, and by verificationRequest if EMAIL_VERIFICATION is set. Unless the caller is
    `reauthenticated`, only users that already have the email are changed. The caller's own new
    email is verified if it was proved. Raises ValidationError for a name that is taken, and for the
    caller the errors of `check_new_address`.
    """
    chosen, values, model = list(conditions), Values(changes), user_model()
    if "username" in values:
        values |= username_columns(values["username"])
    if "email" in values:
        values["email"] = stored_email(values["email"])

    def check() -> None:
        raise_taken(db.session.scalars(select(model).where(*chosen)).all(), values)

    if in_transaction():
        # It cannot be queried after the statement has failed, as `unique_transaction` does.
        check()
    with unique_transaction(check):
        old = _prepare_email(chosen, values, reauthenticated)
        if caller_id in old and check_new_address(caller_id, values["email"]):
            values["email_verified"] = or_(values["email_verified"], model.id == caller_id)
        if old:
            delete_sessions(list(old), keep)
        changed = update(model).where(*chosen).values(values).returning(model)
        refreshed = {"populate_existing": True}
        users = db.session.scalars(changed, execution_options=refreshed).all()
        renamed = [user for user in users if user.id in old]
        for user in renamed:
            _record_new_email(user, *old[user.id])
        verify_new_addresses(renamed)
    return users


def _prepare_email(
    chosen: list[ColumnElement[bool]],
    values: Values,
    reauthenticated: bool,
) -> dict[Id, tuple[str, bool]]:
    """Complete the conditions and values of a change with a new email.

    Returns the old emails of the users whose email changes, and whether each was verified; these
    users are locked.
    """
    if "email" not in values:
        return {}
    model, email = user_model(), values["email"]
    values["email_verified"] = and_(model.email == email, model.email_verified)
    if not reauthenticated:
        # Part of the statement: a concurrent request may have changed the email.
        chosen.append(model.email == email)
    others = [*chosen, model.email != email]
    lock(*others, model=model)
    columns = model.id, model.email, model.email_verified
    rows = db.session.execute(select(*columns).where(*others))
    return {row.id: (row.email, row.email_verified) for row in rows}


def _record_new_email(user: User, old_email: str, was_verified: bool) -> None:
    """Record a user's new email, which is verified if the user has proved it."""
    record_email_change(user, old_email, was_verified)
    if user.email_verified:
        record_verified(user)
        login_methods.keep_all(user, user.email)
