"""Confirmation of an address, the user's own or a new one, by a mailed token."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import and_, or_, select, update
from sqlalchemy.exc import IntegrityError

from app.audit.entries import Action, record
from app.database.session import affected_rows, db, transaction
from app.errors import TAKEN, InvalidConfirmation, ValidationError
from app.users.models import CHANGE_SCOPE, VERIFY_SCOPE, AccessToken, User, token_digest, user_model
from app.users.sessions import login_methods
from app.users.sessions.tokens import delete_sessions, lock, use_up

from .addresses import confirm_own, record_email_change, record_verified


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


def confirm_own_address(user_id: str, digest: str) -> None:
    """Verify the address of the user with this id; raise InvalidConfirmation.

    A token for a new address is invalid here.
    """
    confirmation = find_confirmation(digest)
    if str(confirmation.user.id) != user_id or confirmation.is_new:
        raise InvalidConfirmation()
    _confirm(digest, confirmation)


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
