"""Endpoints by which others, by default admins, manage a user's account."""

from app import errors
from app.access.identity import current_identity
from app.access.rules import WRITE
from app.settings import Settings
from app.users.accounts import credentials, lookup, passwords, removal
from app.users.accounts.removal import keeping_admin
from app.users.models import User
from app.users.resource import users
from app.users.sessions.assurance import NOT_RECENT, require_recent

NO_RESET = errors.ValidationError({"id": [passwords.DISABLED]})


def _is_served(settings: Settings) -> bool:
    return bool(settings["ADMIN_ENABLED"])


@users.endpoint(
    "disable",
    WRITE,
    "POST /<id>/disable",
    errors=(NOT_RECENT, errors.LastAdmin()),
    is_served=_is_served,
)
def disable(user: User) -> None:
    """Bar a user from logging in and end all sessions; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    with keeping_admin():
        removal.disable_user(user.id)


@users.endpoint("enable", WRITE, "POST /<id>/enable", errors=(NOT_RECENT,), is_served=_is_served)
def enable(user: User) -> None:
    """Let a disabled user log in again; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    removal.enable_user(user.id)


@users.endpoint(
    "sendReset",
    WRITE,
    "POST /<id>/sendReset",
    errors=(NO_RESET, errors.TooManyRequests(60)),
    is_served=_is_served,
)
def send_reset(user: User) -> None:
    """Mail a user a link to set a new password."""
    passwords.send_reset(user.id)


@users.endpoint(
    "markVerified", WRITE, "POST /<id>/markVerified", errors=(NOT_RECENT,), is_served=_is_served
)
def mark_verified(user: User) -> None:
    """Mark a user's email as verified without a mail; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    credentials.vouch_for(lookup.get_user(user.id))
