"""Changes of credentials, about which the user is notified by mail."""

from app import outbox
from app.audit.entries import record
from app.ids import Id
from app.signals import credential_changed, emit_after_commit

from .addresses import NOTICE_LIFETIME
from .lookup import get_user


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
