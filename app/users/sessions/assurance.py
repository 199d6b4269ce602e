"""Assurance of a session: how, and how recently, its user authenticated."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sqlalchemy import func, select, update

from app.access.identity import LiveToken, is_strong
from app.access.policy import strong_kinds
from app.audit.entries import Action, record, record_attempt
from app.database.session import affected_rows, db, transaction
from app.errors import InvalidPassword, InvalidToken, StrongerLoginRequired, ValidationError
from app.ids import Id
from app.times import now
from app.users.models import AccessToken, User
from app.users.passwords.hashing import check_password

from .login import second_step, takes_second_step

#: Seconds after a login or reauthentication in which credentials may be changed.
RECENT_SESSION = 300
# The kind of authentication that is available to everybody.
PASSWORD = "password"  # noqa: S105 a name
# The error of `require_recent`, for the declarations of endpoints.
NOT_RECENT = StrongerLoginRequired([PASSWORD], RECENT_SESSION)
# The `reason` of a failed login of a logged-in user.
REAUTHENTICATION = "reauthentication"


def is_recent(digest: str) -> bool:
    """Return True if the user authenticated in the session with this digest recently.

    Raises InvalidToken if the session has ended meanwhile.
    """
    time = func.coalesce(AccessToken.authenticated_at, AccessToken.created)
    latest = db.session.scalar(select(time).where(AccessToken.digest == digest))
    if latest is None:
        raise InvalidToken()
    return latest > now() - timedelta(seconds=RECENT_SESSION)


def require_recent(session: LiveToken) -> None:
    """Require a recent authentication: a stolen token must not suffice to take over an account.

    Raises the errors of `require_factor`, too, and InvalidToken if the session has ended meanwhile.
    Call it for every change of credentials.
    """
    require_factor(session)
    if not is_recent(session.digest):
        raise StrongerLoginRequired(_kinds(session.user_id), RECENT_SESSION)


def require_factor(session: LiveToken) -> None:
    """Require a strong session of a user with a factor, if logins require one.

    The password and an older token must not suffice to bypass the factor. Raises
    StrongerLoginRequired. Call it for every change of credentials or the address.
    """
    if is_strong(session) or not takes_second_step(session.user_id, ()):
        return
    if kinds := strong_kinds(session.user_id):
        raise StrongerLoginRequired(kinds)


def require_recent_of_strong(session: LiveToken) -> None:
    """Require a recent authentication of a user with a second factor, as `require_recent` does.

    For credentials that would bypass the factor, and that other users may add at any time.
    """
    if strong_kinds(session.user_id):
        require_recent(session)


def require_recent_or_password(session: LiveToken, password: str | None) -> None:
    """Require the password, unless the user authenticated recently; for a new email.

    Raises ValidationError for a missing password, the errors of `require_factor` and
    `check_password`, and InvalidToken if the session has ended meanwhile.
    """
    require_factor(session)
    if is_recent(session.digest):
        return
    if password is None:
        raise ValidationError({"password": ["is needed for a new email"]})
    check_password(session.user_id, _password_hash(session.user_id), password)


def reauthenticate_by_password(session: LiveToken, password: str) -> None:
    """Record that the user of a session has just authenticated with the password.

    Raises the errors of `check_password`, and InvalidToken if the session has ended meanwhile.
    """
    try:
        check_password(session.user_id, _password_hash(session.user_id), password)
    except InvalidPassword:
        record_attempt(Action.LOGIN_FAILED, session.user_id, reason=REAUTHENTICATION)
        raise
    note_authentication(session, ["pwd"])


def reauthenticate_by_factor(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Record that the user of a session has just proved a second factor.

    Raises ValidationError for an empty proof, and if logins take no second step, and the errors of
    SecondStep.reauthenticate.
    """
    step = second_step.current
    if step is None or not proof:
        raise ValidationError({"password": ["is missing"]})
    step.reauthenticate(session, proof)


def note_authentication(session: LiveToken, methods: Iterable[str]) -> None:
    """Record that the user of a session has just authenticated by these methods, too.

    Raises InvalidToken if the session has ended meanwhile.
    """
    known = (session.methods or "").split(",") if session.methods else []
    both = dict.fromkeys([*known, *methods])
    live = AccessToken.digest == session.digest, AccessToken.is_live()
    new = {"methods": ",".join(both), "authenticated_at": now()}
    with transaction():
        if not affected_rows(update(AccessToken).where(*live).values(new)):
            raise InvalidToken()
        record(Action.REAUTHENTICATED, session.user_id, session.user_id, methods=list(both))


def _kinds(user_id: Id) -> list[str]:
    """Return the ways in which a user may authenticate again."""
    return [*([PASSWORD] if _password_hash(user_id) else []), *strong_kinds(user_id)]


def _password_hash(user_id: Id) -> str | None:
    return db.session.scalar(select(User.password_hash).where(User.id == user_id))
