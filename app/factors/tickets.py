"""Tickets of logins between their two steps."""

from dataclasses import asdict

from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.database.session import affected_rows, db, transaction
from app.errors import InvalidTicket, LoginFailed
from app.observability.origin import current_origin
from app.users.models import TICKET_SCOPE, AccessToken, User, token_digest
from app.users.sessions.login import MAY_LOG_IN, require_user
from app.users.sessions.second_step import FirstStep
from app.users.sessions.tokens import issue

from .models import LoginTicket

#: Seconds for the second step of a login.
TICKET_LIFETIME = 300
#: Maximum attempts with a ticket (OWASP ASVS 6.3.1 requires a limit; a throttle also counts by
#: user).
MAX_ATTEMPTS = 5


def open_ticket(first: FirstStep, enrols: bool, *conditions: ColumnElement[bool]) -> str:
    """Store a login after its first step; return its ticket.

    Raises LoginFailed if the user does not exist, is disabled or does not meet the conditions.
    """
    origin = current_origin()
    columns = {"user_agent": origin.user_agent, "address": origin.address}
    try:
        with transaction():
            value, _ = issue(first.user_id, TICKET_LIFETIME, scope=TICKET_SCOPE, **columns)
            require_user(User.id == first.user_id, *MAY_LOG_IN, *conditions)
            values = {
                "digest": token_digest(value),
                "first_step": _to_json(first),
                "enrols": enrols,
            }
            db.session.execute(insert(LoginTicket).values(values))
    except IntegrityError:
        raise LoginFailed() from None
    return value


def find_ticket(value: str) -> tuple[str, FirstStep, bool]:
    """Return a ticket's digest and login, and whether it enrols a factor; raise InvalidTicket."""
    digest = token_digest(value)
    live = AccessToken.digest == digest, AccessToken.is_live(TICKET_SCOPE)
    row = db.session.execute(
        select(LoginTicket.first_step, LoginTicket.enrols, AccessToken.user_id)
        .join(AccessToken, AccessToken.digest == LoginTicket.digest)
        .where(*live)
    ).first()
    if row is None:
        raise InvalidTicket()
    return digest, _from_json(row.first_step, row.user_id), row.enrols


def count_attempt(digest: str) -> None:
    """Count an attempt with a ticket; delete it and raise InvalidTicket after the last one."""
    left = LoginTicket.digest == digest, LoginTicket.attempts < MAX_ATTEMPTS
    counted = update(LoginTicket).where(*left).values(attempts=LoginTicket.attempts + 1)
    if not affected_rows(counted):
        affected_rows(delete(AccessToken).where(AccessToken.digest == digest))
        raise InvalidTicket()


def _to_json(first: FirstStep) -> dict[str, object]:
    values = asdict(first)
    # The token has the id in its own type.
    del values["user_id"]
    return values


def _from_json(values: dict[str, object], user_id: object) -> FirstStep:
    return FirstStep(user_id, **{**values, "methods": tuple(values["methods"])})  # type: ignore[arg-type]
