"""Changing, setting and resetting the password of a user."""

from sqlalchemy import select, update

from app import throttles
from app.audit.entries import Action, record
from app.database.session import affected_rows, db, transaction
from app.errors import InvalidPassword, InvalidToken, ValidationError
from app.ids import Id
from app.observability.origin import current_network
from app.signals import emit, password_reset, reset_password_request
from app.users.mailed import (
    find_enabled_account,
    is_within_budget,
    mail_token,
    read_address,
    recipient_key,
)
from app.users.models import RESET_SCOPE, AccessToken, User, token_digest, user_model
from app.users.passwords.hashing import (
    check_password,
    forget_failures,
    hash_password,
    hashing,
    replace_hash,
)
from app.users.passwords.policy import validate_password
from app.users.sessions import login_methods
from app.users.sessions.tokens import delete_sessions, delete_tokens, lock, use_up
from app.users.user_models import FIRST, key_prefix

from .credentials import mark_verified, record_credential_change
from .lookup import get_user

# Reasons why a user gets no link to set a password.
DISABLED, SERVICE = "is that of a disabled user", "is that of a service account"


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


def request_password_reset(
    email: object, realm: object = None, principal_type: str = FIRST
) -> None:
    """Issue a reset token and emit resetPasswordRequest if an enabled user has this email.

    Returns nothing in either case, nor after too many requests for the email: only the mail shows
    whether there is such a user. Raises EmailRequired, InvalidEmail or InvalidRealm, and
    TooManyRequests for a client with too many requests.
    """
    address, within = read_address(email, realm)
    network = current_network()
    throttles.count(throttles.RESET_ADDRESS, network)
    account = find_enabled_account(address, within, principal_type)
    by_client = throttles.RESET_EMAIL, [network, *key_prefix(principal_type)]
    if is_within_budget(by_client, throttles.RESET_RECIPIENT, address, within, account):
        mail_token(reset_password_request, RESET_SCOPE, account, address)


def send_reset(user_id: Id) -> None:
    """Issue a reset token for a user on behalf of somebody else, and emit resetPasswordRequest.

    Raises ModelNotFound, ValidationError for a user who cannot log in by a password, and
    TooManyRequests if too many were mailed to the address.
    """
    user = get_user(user_id)
    if user.disabled_at or user.service_account:
        raise ValidationError({"id": [SERVICE if user.service_account else DISABLED]})
    throttles.count(throttles.RESET_RECIPIENT, *recipient_key(user, user.email, user.realm))
    with transaction():
        # Keeps the user from being deleted meanwhile.
        lock(User.id == user_id)
        if find_enabled_account(user.email, user.realm, user.principal_type):
            record(Action.RESET_SENT, user_id)
            mail_token(reset_password_request, RESET_SCOPE, user, user.email)


def check_reset_token(digest: str) -> User:
    """Return the enabled user of a reset token; raise InvalidToken.

    The user must still have the address to which the token was mailed: a concurrent change of the
    address deletes only the tokens that it finds.
    """
    live = AccessToken.digest == digest, AccessToken.is_live(RESET_SCOPE)
    model = user_model()
    is_valid = *live, AccessToken.email == model.email, model.disabled_at.is_(None)
    of_token = select(model).join(AccessToken, AccessToken.user_id == model.id)
    user = db.session.scalar(of_token.where(*is_valid))
    if user is None:
        raise InvalidToken()
    return user


def reset_password(token: str, new_password: str) -> None:
    """Set a new password with a reset token; raise the errors of `use_reset_token`."""
    use_reset_token(token_digest(token), new_password)


def use_reset_token(digest: str, new_password: str, principal_type: str | None = None) -> None:
    """Set a new password with the token of this digest; delete all tokens of the user.

    With a `principal_type` it must be the token of a user of this model. Raises InvalidToken, or
    ValidationError for a weak password, TooManyRequests or TooManyHashes, all of which keep the
    token valid.
    """
    with hashing():
        throttles.count(throttles.RESET_CONFIRMATION, current_network())
        user = check_reset_token(digest)
        if principal_type not in (None, user.principal_type):
            raise InvalidToken()
        validate_password(new_password, user.email, user.username, field="newPassword")
        new_hash = hash_password(new_password)
    with transaction():
        lock(User.id == user.id)
        if not use_up(digest, RESET_SCOPE):
            raise InvalidToken()
        store_password(user.id, new_hash)
        # The token was mailed to the address, so the user owns it.
        verified = mark_verified(user)
        record_credential_change(Action.PASSWORD_RESET, user.id, user.id)
        login_methods.remove_unproven(user, user.email)
        emit(password_reset, info={"user": user, "verified": verified})
    forget_failures(user)
