"""Changing and setting the password of a user."""

from sqlalchemy import update

from app.audit.entries import Action
from app.database.session import affected_rows, transaction
from app.errors import InvalidPassword, ValidationError
from app.ids import Id
from app.users.app_model import user_model
from app.users.passwords.attempts import check_password, forget_failures
from app.users.passwords.hashing import hash_password, hashing
from app.users.passwords.policy import validate_password
from app.users.passwords.stored_hashes import replace_hash
from app.users.sessions.tokens import delete_sessions, delete_tokens

from .credentials import record_credential_change
from .lookup import get_user


def change_password(
    user_id: Id, old_password: str, new_password: str, keep: str | None = None
) -> None:
    """Change a user's password; end all sessions of the user except the one with digest `keep`.

    The digest of the caller's token is `current_identity().require_session().digest`. Personal
    tokens are kept. Raises ModelNotFound, InvalidPassword if the old password is wrong,
    ValidationError for a weak new one, TooManyRequests or TooManyHashes.
    """
    user = get_user(user_id)
    with hashing():
        check_password(user.id, user.password_hash, old_password)
        validate_password(new_password, user.email, user.username, field="newPassword")
        new_hash = hash_password(new_password)
    with transaction():
        if not replace_hash(user_id, user.password_hash, new_hash):
            raise InvalidPassword()
        delete_sessions([user_id], keep)
        record_credential_change(Action.PASSWORD_CHANGED, user_id)


def set_password(user_id: Id, new_password: str) -> None:
    """Set a user's password without the old one; delete all tokens of the user.

    Raises ModelNotFound, or ValidationError for a weak password and for a service account.
    """
    user = get_user(user_id)
    if user.service_account:
        raise ValidationError({"password": ["cannot be set: it is a service account"]})
    validate_password(new_password, user.email, user.username)
    new_hash = hash_password(new_password)
    with transaction():
        store_password(user.id, new_hash)
        record_credential_change(Action.PASSWORD_CHANGED, user.id)
    forget_failures(user)


def store_password(user_id: Id, password_hash: str) -> None:
    """Replace a user's password hash and delete all tokens of the user."""
    model = user_model()
    with transaction():
        affected_rows(update(model).where(model.id == user_id).values(password_hash=password_hash))
        delete_tokens([user_id])
