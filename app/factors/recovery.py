"""Recovery codes for users who have lost their second factor, each for one login."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, delete, exists, func, insert, select

from app import throttles
from app.audit.entries import Action
from app.database.session import affected_rows, db, transaction
from app.errors import ValidationError
from app.ids import Id
from app.users.accounts.credentials import record_credential_change
from app.users.models import User, grouped, new_code, token_digest, typed
from app.users.sessions.tokens import lock

from . import kinds
from .models import RecoveryCode

#: Recovery codes of a user; other services (GitHub, django-allauth) issue as many.
CODES = 10
#: Characters of a code: 120 bits, so that a fast digest is sufficient (OWASP ASVS 6.5.2: 112).
LENGTH = 24
# The error of a user without a factor.
NO_FACTOR = {"kind": ["is for users with another factor"]}
# Characters between dashes.
GROUP = 6
#: Maximum characters of an entered code, with dashes and spaces.
MAX_CODE = 64

# Recovery codes alone do not cause a second step at login.
suffices = False


def is_had(user_id: object) -> ColumnElement[bool]:
    """Return the condition that a user has an unused code."""
    return exists().where(RecoveryCode.user_id == user_id)


def renew(user_id: Id) -> list[str]:
    """Replace the codes of a user; return the new ones, which cannot be shown again.

    Raises TooManyRequests, and ValidationError for a user without a factor, so that codes are
    removed together with the factors of the person who created them.
    """
    throttles.count(throttles.CREDENTIAL, user_id)
    codes = [grouped(new_code(LENGTH), GROUP) for _ in range(CODES)]
    rows = [{"digest": _digest(code), "user_id": user_id} for code in codes]
    with transaction():
        lock(User.id == user_id)
        if not kinds.suffice(kinds.look_up(user_id)[0]):
            raise ValidationError(NO_FACTOR)
        reset(user_id)
        db.session.execute(insert(RecoveryCode), rows)
        record_credential_change(Action.RECOVERY_CODES_RENEWED, user_id)
    return codes


def count_codes(user_id: Id) -> int:
    """Return the number of a user's unused codes."""
    own = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.user_id == user_id)
    return db.session.scalar(own) or 0


def reset(user_id: Id) -> None:
    """Delete the codes of a user. Call it in a transaction."""
    affected_rows(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))


def verify(user_id: Id, proof: Mapping[str, object]) -> tuple[str, ...] | None:
    """Use up a code; return the methods that it shows, None for an invalid one.

    Call it in a transaction.
    """
    code = str(proof.get("code", ""))[:MAX_CODE]
    named = RecoveryCode.user_id == user_id, RecoveryCode.digest == _digest(code)
    if not affected_rows(delete(RecoveryCode).where(*named)):
        return None
    record_credential_change(Action.RECOVERY_CODE_USED, user_id, user_id)
    return ("recovery",)


def _digest(code: str) -> str:
    return token_digest(typed(code))
