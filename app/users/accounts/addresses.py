"""Addresses of users: verified, changed, or claimed by who owns them."""

from functools import partial

from sqlalchemy import false, update

from app import outbox
from app.audit.entries import Action, record, recording
from app.database.session import affected_rows, after_commit
from app.ids import Id
from app.signals import account_claimed, email_changed, emit
from app.users.app_model import user_model
from app.users.models import User
from app.users.sessions.tokens import delete_tokens, lock

#: Seconds for which a notice of a new email is tried.
NOTICE_LIFETIME = 86400.0


def record_email_change(
    user_id: Id, old_email: str, email: str, actor_id: Id | None = None
) -> None:
    """Record the new email of a user in the open transaction: for a mail, and who did it."""
    record(Action.EMAIL_CHANGED, user_id, actor_id, oldEmail=old_email, newEmail=email)
    data = {"user_id": user_id, "old_email": old_email}
    outbox.record(email_changed.name, data, NOTICE_LIFETIME)


def claim_account(user: User, label: str, **details: object) -> bool:
    """Give a user whose address was never verified to who has proven to have this address.

    Whoever registered it may be somebody else: the password and all tokens are deleted, and who had
    a password is told by accountClaimed. `label` is the identity provider's, and `details` are
    those of the record in the audit log. Returns False if the user has another address meanwhile,
    or has been verified, disabled or deleted. Call it in a transaction.
    """
    lock(User.id == user.id)
    model, had_password = user_model(), user.password_hash is not None
    same = model.id == user.id, model.email == user.email
    unverified = *same, model.email_verified == false(), model.disabled_at.is_(None)
    new = {"email_verified": True, "password_hash": None}
    claimed = affected_rows(update(model).where(*unverified).values(new))
    if claimed:
        delete_tokens([user.id])
        record(Action.ACCOUNT_CLAIMED, user.id, user.id, **details)
    if claimed and had_password:
        info = {"provider": label, "email": user.email}
        outbox.record(account_claimed.name, {**info, "user_id": user.id}, NOTICE_LIFETIME)
        after_commit(partial(emit, account_claimed, info={**info, "user": user}))
    return bool(claimed)


def mark_verified(user_id: Id) -> int:
    """Mark a user's address as verified; return 0 if it was verified before."""
    model = user_model()
    unverified = model.id == user_id, model.email_verified == false()
    with recording():
        changed = affected_rows(update(model).where(*unverified).values(email_verified=True))
        if changed:
            record(Action.EMAIL_VERIFIED, user_id, user_id)
    return changed
