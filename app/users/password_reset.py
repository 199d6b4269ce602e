"""Password reset: a short-lived token is issued and announced, and sets a new password once."""

from email_validator import EmailNotValidError
from flask import current_app
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError

from app.errors import EmailRequired, InvalidEmail, InvalidRealm, InvalidToken
from app.extensions import affected_rows, db, transaction
from app.signals import emit, reset_password_request

from .accounts import find_user, lock, store_password
from .models import RESET_SCOPE, AccessToken, User
from .names import normal_email
from .passwords import hash_password, validate_password
from .tokens import IssuedToken, issue


def request_password_reset(email: object, realm: object = None) -> None:
    """Issue a reset token and emit resetPasswordRequest, if the email is a user's.

    Says nothing either way. Raises EmailRequired, InvalidEmail or InvalidRealm for what is none.
    """
    if not isinstance(email, str) or not email:
        raise EmailRequired()
    if realm is not None and not isinstance(realm, str):
        raise InvalidRealm()
    try:
        normal_email(email, case_sensitive=True)
    except EmailNotValidError:
        raise InvalidEmail() from None
    user = find_user(email, realm)
    token = _issue_reset(user)
    if user is not None and token is not None:
        info = {"accessToken": token, "email": user.email, "user": user}
        emit(reset_password_request, info=info)


def check_reset_token(digest: str) -> User:
    """Return the user whose password this reset token may set; raise InvalidToken."""
    live = AccessToken.digest == digest, AccessToken.is_live(RESET_SCOPE)
    user = db.session.scalar(select(User).join(AccessToken).where(*live))
    if user is None:
        raise InvalidToken()
    return user


def reset_password(digest: str, new_password: str) -> None:
    """Set a new password with a reset token, which that uses up; all the user's tokens end.

    Raises ValidationError, which leaves the token usable, or InvalidToken.
    """
    user = check_reset_token(digest)
    validate_password(new_password, user.email, user.username, field="newPassword")
    new_hash = hash_password(new_password)
    live = AccessToken.digest == digest, AccessToken.is_live(RESET_SCOPE)
    with transaction():
        lock(User.id == user.id)
        # The one statement that decides which of several callers at once may go on.
        if not affected_rows(delete(AccessToken).where(*live)):
            raise InvalidToken()
        store_password(user.id, new_hash)


def _issue_reset(user: User | None) -> IssuedToken | None:
    """Store a reset token; for nobody, store one of no use and take it back, which costs the same.

    Otherwise the time of the answer would tell which addresses are known.
    """
    ttl = current_app.config["RESET_TOKEN_TTL"]
    anybody = select(func.min(User.id)).scalar_subquery()
    try:
        with transaction():
            value, row = issue(user.id if user else anybody, ttl, RESET_SCOPE)
            unused = "" if user else row.digest
            affected_rows(delete(AccessToken).where(AccessToken.digest == unused))
    except IntegrityError:
        # The user was deleted meanwhile, or there are no users at all.
        return None
    return IssuedToken(value, ttl, row.created, user.id) if user else None
