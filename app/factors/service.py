"""The service for factors of logged-in users, and of users who have lost them."""

from collections.abc import Mapping

from app.access.identity import MULTI_FACTOR, LiveToken
from app.audit.entries import Action
from app.database.session import transaction
from app.ids import Id
from app.throttles.throttles import CREDENTIAL, count
from app.users.accounts.credentials import record_credential_change
from app.users.models import User
from app.users.sessions.assurance import note_authentication
from app.users.sessions.tokens import delete_sessions, lock

from . import kinds, steps


def confirm(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Confirm the factor that a user has created; the session becomes a strong one.

    Raises SecondFactorFailed, and TooManyRequests after too many failures or factors.
    """
    count(CREDENTIAL, session.user_id)
    methods = steps.prove(session.user_id, proof, enrols=True)
    note_authentication(session, [*methods, MULTI_FACTOR])


def reset(user_id: Id) -> None:
    """Delete all factors of a user who has lost them, and end the sessions.

    The caller is responsible for verifying who requests it.
    """
    with transaction():
        lock(User.id == user_id)
        kinds.reset(user_id)
        delete_sessions([user_id])
        record_credential_change(Action.FACTORS_RESET, user_id)
