"""Addresses that users confirm by mailed links: their own, and a new one that replaces it."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy import and_, false, or_, select, update
from sqlalchemy.exc import IntegrityError

from app import outbox
from app.audit.entries import Action, record
from app.database.session import affected_rows, db, transaction
from app.errors import TAKEN, InvalidConfirmation, InvalidPassword, ValidationError
from app.ids import Id
from app.observability.origin import current_network
from app.settings import Settings, is_compatible
from app.signals import EMAIL_CHANGE_NOTICE, email_change_request, verification_request
from app.throttles import VERIFICATION_ADDRESS, VERIFICATION_USER, allows, count
from app.users.mailed import mail_token
from app.users.models import CHANGE_SCOPE, VERIFY_SCOPE, AccessToken, User, token_digest, user_model
from app.users.names import NOT_AN_EMAIL, stored_email
from app.users.passwords.hashing import check_password
from app.users.sessions import login_methods
from app.users.sessions.login import type_of_user
from app.users.sessions.tokens import delete_scoped, delete_sessions, lock, use_up
from app.users.user_models import settings_of

from .address_proofs import check_new_address
from .credentials import NOTICE_LIFETIME, confirm_own, record_email_change, record_verified
from .lookup import get_user


class Confirmation(NamedTuple):
    """An address that a token confirms, the user's own or a new one, and the resulting changes."""

    user: User
    email: str
    # The token's scope: VERIFY_SCOPE or CHANGE_SCOPE.
    scope: str
    # Login methods that were removed, and whether all sessions were ended.
    removed: int = 0
    ends_sessions: bool = False

    @property
    def is_new(self) -> bool:
        """Whether the address is a new one for the user."""
        return self.scope == CHANGE_SCOPE


def asks_for_verification(settings: Settings) -> bool:
    """Return True if users are asked to confirm their address."""
    return settings["EMAIL_VERIFICATION"] is not None


def serves_verification(settings: Settings) -> bool:
    """Return True if the endpoints for it are served, as always in LoopBack 3."""
    return asks_for_verification(settings) or is_compatible(settings)


def confirms_changes(settings: Settings) -> bool:
    """Return True if users change their address only by confirming the new one."""
    return bool(settings["EMAIL_CHANGE"] == "confirmed")


def request_verification(user_id: Id | None, principal_type: str | None = None) -> None:
    """Ask a user, of any model unless one is given, to confirm the address.

    It is done by verificationRequest. Does nothing, in the same time, if the user does not exist,
    has a verified address or is disabled; None is the id of no user. Does nothing at all without
    EMAIL_VERIFICATION, or after too many requests for the id, which anybody may make. Raises
    TooManyRequests for a client with too many requests.
    """
    count(VERIFICATION_ADDRESS, current_network())
    if principal_type is None:
        principal_type = type_of_user(user_id)
    settings = settings_of(principal_type)
    if not asks_for_verification(settings) or not allows(VERIFICATION_USER, user_id or 0):
        return
    model = user_model()
    unverified = model.email_verified == false(), model.disabled_at.is_(None)
    of_model = model.id == user_id, model.principal_type == principal_type
    user = db.session.scalar(
        select(model).where(*of_model, *unverified),
        execution_options={"populate_existing": True},
    )
    mail_token(verification_request, VERIFY_SCOPE, user, user.email if user else "")


def count_change(user_id: Id | None) -> None:
    """Count a change of a user's address that must be confirmed; raise TooManyRequests.

    The key differs from that of `request_verification`, whose budget anybody can use up.
    """
    count(VERIFICATION_ADDRESS, current_network())
    count(VERIFICATION_USER, "change", user_id)


def verify_new_addresses(users: Iterable[User]) -> None:
    """Ask users with a new address to confirm it, by verificationRequest.

    Call it in the transaction that stores the address. Does nothing without EMAIL_VERIFICATION, or
    for an address that is verified.
    """
    for user in users:
        if asks_for_verification(settings_of(user.principal_type)) and not user.email_verified:
            mail_token(verification_request, VERIFY_SCOPE, user, user.email)


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
        _check_password_unchanged(user)
        if check_new_address(user_id, email):
            change_address(user, email, keep)
            login_methods.keep_all(user, email)
            return
        delete_scoped(user_id, CHANGE_SCOPE)
        mail_token(email_change_request, CHANGE_SCOPE, user, email)
        notice = {"user_id": user_id, "email": user.email, "verified": user.email_verified}
        outbox.record(EMAIL_CHANGE_NOTICE, notice, NOTICE_LIFETIME)


def find_confirmation(digest: str) -> Confirmation:
    """Return the confirmation of the token with this digest; raise InvalidConfirmation."""
    model = user_model()
    own = and_(AccessToken.is_live(VERIFY_SCOPE), AccessToken.email == model.email)
    live = or_(own, AccessToken.is_live(CHANGE_SCOPE))
    row = db.session.execute(
        select(model, AccessToken.email, AccessToken.scope)
        .join(AccessToken, AccessToken.user_id == model.id)
        .where(AccessToken.digest == digest, live, model.disabled_at.is_(None)),
        execution_options={"populate_existing": True},
    ).first()
    if row is None:
        raise InvalidConfirmation()
    user, email, scope = row
    return Confirmation(user, email or "", scope or "")


def confirm_email(
    token: str, kept: Collection[str] | None = None, end_sessions: bool = False
) -> Confirmation:
    """Verify the address that a token proves, or change the user's address to it.

    `kept` are the keys of the login methods (`login_methods`) that the owner recognizes: others
    added before are removed, and all sessions are ended with them. By default the owner was not
    asked, and all of them stay until a password reset removes them. Raises InvalidConfirmation, or
    ValidationError for a new address that another user has.
    """
    digest = token_digest(token)
    return _confirm(digest, find_confirmation(digest), kept, end_sessions)


def confirm_own_address(user_id: str, digest: str, principal_type: str) -> None:
    """Verify the address of the user of a model with this id; raise InvalidConfirmation.

    A token for a new address is invalid here.
    """
    confirmation = find_confirmation(digest)
    user = confirmation.user
    is_own = str(user.id) == user_id and user.principal_type == principal_type
    if not is_own or confirmation.is_new:
        raise InvalidConfirmation()
    _confirm(digest, confirmation)


def change_address(user: User, email: str, keep: str | None = None) -> None:
    """Give a user a proved address; end all sessions except the one with digest `keep`.

    Call it in a transaction, with the user locked. Raises ValidationError for an address that is
    another user's.
    """
    old_email, was_verified, model = user.email, user.email_verified, user_model()
    delete_sessions([user.id], keep)
    new = update(model).where(model.id == user.id).values(email=email, email_verified=True)
    try:
        affected_rows(new)
    except IntegrityError:
        # The rollback keeps the token valid: the address may become free again.
        raise ValidationError({"email": [TAKEN]}) from None
    record_email_change(user, old_email, was_verified, actor_id=user.id)
    record_verified(user)


def _confirm(
    digest: str,
    confirmation: Confirmation,
    kept: Collection[str] | None = None,
    end_sessions: bool = False,
) -> Confirmation:
    user, email, is_new = confirmation.user, confirmation.email, confirmation.is_new
    with transaction():
        lock(User.id == user.id)
        if not use_up(digest, confirmation.scope):
            raise InvalidConfirmation()
        if is_new:
            change_address(user, email)
        else:
            confirm_own(user)
        removed = 0 if kept is None else login_methods.remove_unproven(user, email, kept)
        # A session may belong to somebody whose login method was removed.
        ends_sessions = is_new or end_sessions or bool(removed)
        if ends_sessions and (deleted := delete_sessions([user.id])):
            record(Action.SESSION_REVOKED, user.id, user.id, tokens=deleted)
    return confirmation._replace(removed=removed, ends_sessions=ends_sessions)


def _check_password_unchanged(user: User) -> None:
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
