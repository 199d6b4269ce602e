"""The service for the factors of users who are logged in, and for those who have lost them."""

from collections.abc import Mapping

from app.access.identity import LiveToken
from app.audit.entries import Action, record_attempt
from app.database.session import transaction
from app.errors import SecondFactorFailed
from app.ids import Id
from app.throttles.throttles import FACTOR_CHECK, count_failure
from app.users.accounts.credentials import record_credential_change
from app.users.models import User
from app.users.sessions.assurance import REAUTHENTICATION, note_authentication
from app.users.sessions.tokens import delete_sessions, lock

from . import kinds, recovery, steps
from .models import Factor
from .totp import service as totp


def confirm(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Confirm the factor that a user has made; the session is a strong one from then on.

    Raises SecondFactorFailed, and TooManyRequests after too many failures.
    """
    methods = _check(session.user_id, proof, enrols=True)
    note_authentication(session, [*methods, steps.MULTIPLE])


def reauthenticate(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Note that the user of a session has shown a second factor now.

    Raises what `confirm` does, and ValidationError for an unknown kind.
    """
    methods = _check(session.user_id, proof)
    note_authentication(session, [*methods, steps.MULTIPLE])


def remove(row: Factor, proof: Mapping[str, object]) -> None:
    """Delete a factor by a code of any factor of the user; recovery codes go with the last one.

    Raises what `reauthenticate` does.
    """
    _check(row.user_id, proof)
    with transaction():
        lock(User.id == row.user_id)
        totp.remove(row)
        if not kinds.suffice(kinds.look_up(row.user_id)[0]):
            recovery.reset(row.user_id)


def reset(user_id: Id) -> None:
    """Delete all factors of a user who has lost them, and end the sessions.

    Whoever calls it has made sure who asks for it.
    """
    with transaction():
        lock(User.id == user_id)
        for kind in kinds.all_kinds():
            kind.reset(user_id)
        delete_sessions([user_id])
        record_credential_change(Action.FACTORS_RESET, user_id)


def _check(user_id: Id, proof: Mapping[str, object], enrols: bool = False) -> tuple[str, ...]:
    """Return the methods that a proof shows; raise SecondFactorFailed for a wrong one."""
    with count_failure(FACTOR_CHECK, user_id):
        with transaction():
            methods = steps.check(user_id, proof, enrols)
        if methods is None:
            record_attempt(Action.LOGIN_FAILED, user_id, reason=REAUTHENTICATION)
            raise SecondFactorFailed()
    return methods
