"""A change of a user's address that takes effect when the new address is confirmed."""

from sqlalchemy import select

from app import outbox
from app.database.session import db, transaction
from app.errors import InvalidPassword, ValidationError
from app.ids import Id
from app.settings import Settings
from app.signals import EMAIL_CHANGE_NOTICE, email_change_request
from app.users.mailed.tokens import mail_token
from app.users.mailed.verification import count_change
from app.users.models import CHANGE_SCOPE, User
from app.users.names import NOT_AN_EMAIL, stored_email
from app.users.passwords.hashing import check_password
from app.users.sessions import login_methods
from app.users.sessions.tokens import delete_scoped, lock

from .address_proofs import check_new_address
from .addresses import NOTICE_LIFETIME
from .confirmation import change_address
from .lookup import get_user


def is_enabled(settings: Settings) -> bool:
    """Return True if users change their address only by confirming the new one."""
    return bool(settings["EMAIL_CHANGE"] == "confirmed")


def request_email_change(
    user_id: Id, new_email: str, password: str, keep: str | None = None
) -> None:
    """Issue a token for the new address and emit emailChangeRequest; invalidate older requests.

    If another user has the address, only the page of the mailed link says so. An address proved by
    a code becomes the user's at once, which ends all sessions except the one with digest `keep`.
    Raises the errors of `check_password`, `count_change` and `check_new_address`, and
    ValidationError for an address that is invalid, the user's own, or proved and another user's.
    """
    user = get_user(user_id)
    check_password(user.id, user.password_hash, password)
    email = _new_address(user, new_email)
    count_change(user_id)
    with transaction():
        lock(User.id == user_id)
        _check_unchanged(user)
        if check_new_address(user_id, email):
            change_address(user, email, keep)
            login_methods.keep_all(user, email)
            return
        delete_scoped(user_id, CHANGE_SCOPE)
        mail_token(email_change_request, CHANGE_SCOPE, user, email)
        notice = {"user_id": user_id, "email": user.email, "verified": user.email_verified}
        outbox.record(EMAIL_CHANGE_NOTICE, notice, NOTICE_LIFETIME)


def _check_unchanged(user: User) -> None:
    """Raise InvalidPassword if the password that was just verified has been changed since."""
    same = select(User.id).where(User.id == user.id, User.password_hash == user.password_hash)
    if db.session.scalar(same) is None:
        raise InvalidPassword()


def _new_address(user: User, new_email: str) -> str:
    """Return a new address in its stored form; raise ValidationError."""
    try:
        email = stored_email(new_email)
    except ValidationError:
        raise ValidationError({"newEmail": [NOT_AN_EMAIL]}) from None
    if email == user.email:
        raise ValidationError({"newEmail": ["is the address of the account already"]})
    return email
