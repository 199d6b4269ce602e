"""Changes of addresses and other credentials: recorded, and announced by mails and signals."""

from sqlalchemy import false, update

from app import outbox
from app.audit.entries import Action, record
from app.database.session import affected_rows, transaction
from app.ids import Id
from app.signals import (
    account_claimed,
    credential_changed,
    email_changed,
    email_verified,
    emit_after_commit,
)
from app.users.models import CHANGE_SCOPE, CODE_SCOPE, TICKET_SCOPE, VERIFY_SCOPE, User, user_model
from app.users.sessions.tokens import delete_scoped, delete_tokens, lock

from .lookup import get_user

#: Seconds for which delivery of a notice about a changed credential is tried.
NOTICE_LIFETIME = 86400.0


def record_credential_change(
    action: str, user_id: Id, actor_id: Id | None = None, **details: object
) -> None:
    """Record a change of a credential in the open transaction, and notify the user by mail.

    `action` and `details` are for the audit log; `actor_id` is by default the caller of the
    request.
    """
    record(action, user_id, actor_id, **details)
    user = get_user(user_id)
    info = {"change": str(action), "email": user.email}
    data = {**info, "user_id": user_id, "verified": user.email_verified}
    outbox.record(credential_changed.name, data, NOTICE_LIFETIME)
    emit_after_commit(credential_changed, info={**info, "user": user})


def record_email_change(
    user: User, old_email: str, was_verified: bool, actor_id: Id | None = None
) -> None:
    """Record a user's new email in the open transaction, and announce it by emailChanged.

    `was_verified` is True if the old one was verified.
    """
    details = {"oldEmail": old_email, "newEmail": user.email}
    record(Action.EMAIL_CHANGED, user.id, actor_id, **details)
    # A pending login by a mail to the old address must not succeed any more.
    delete_scoped(user.id, TICKET_SCOPE)
    data = {"user_id": user.id, "old_email": old_email, "verified": was_verified}
    outbox.record(email_changed.name, data, NOTICE_LIFETIME)
    emit_after_commit(email_changed, info={"oldEmail": old_email, "user": user})


def claim_account(user: User, label: str | None = None, **details: object) -> bool:
    """Give an account whose address was never verified to the proven owner of the address.

    Somebody else may have registered it: the password and all tokens are deleted, and
    accountClaimed announces that a password was removed. `label` is that of the identity provider
    that proved the owner; without it, a mailed code did. `details` are for the audit log. Returns
    False if the user has another address meanwhile, or was verified, disabled or deleted. Call it
    in a transaction.
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
        data = {**info, "user_id": user.id, "verified": True}
        outbox.record(account_claimed.name, data, NOTICE_LIFETIME)
        emit_after_commit(account_claimed, info={**info, "user": user})
    return bool(claimed)


def confirm_own(user: User) -> None:
    """Mark a user's address as verified, and invalidate other requests to confirm an address.

    Somebody other than the owner of this address may have requested another one before. Call it in
    a transaction.
    """
    delete_scoped(user.id, VERIFY_SCOPE, CHANGE_SCOPE, CODE_SCOPE)
    mark_verified(user)


def mark_verified(user: User) -> bool:
    """Mark a user's address as verified, by emailVerified; return False if it already was.

    Call it in a transaction.
    """
    if changed := _store_verified(user):
        record_verified(user)
    return changed


def record_verified(user: User) -> None:
    """Record in the open transaction that a user's address is verified, and emit emailVerified."""
    record(Action.EMAIL_VERIFIED, user.id, user.id)
    announce_verified(user)


def vouch_for(user: User) -> bool:
    """Mark a user's address as verified because the caller vouches for it, by emailVerified.

    Returns False if it already was.
    """
    with transaction():
        if changed := _store_verified(user):
            record(Action.EMAIL_VOUCHED, user.id)
            announce_verified(user)
    return changed


def _store_verified(user: User) -> bool:
    """Store that the address is verified; return False if it already was."""
    model = user_model()
    unverified = model.id == user.id, model.email_verified == false()
    return bool(affected_rows(update(model).where(*unverified).values(email_verified=True)))


def announce_verified(user: User) -> None:
    """Emit emailVerified after the commit."""
    emit_after_commit(email_verified, info={"email": user.email, "user": user})
