"""The endpoints by which a user proves an address, which what is added to the account takes."""

from flask import request

from app import errors
from app.access.identity import current_identity
from app.access.rules import EXECUTE
from app.ids import Id
from app.rest.fields.base import Schema, Text
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.accounts import address_proofs
from app.users.names import MAX_EMAIL_LENGTH
from app.users.resource import users
from app.users.schemas import check_email
from app.users.sessions.cookies import SECOND_STEP_COOKIE

from . import steps
from .schemas import ticket_field
from .views import THROTTLED, ticket_of

#: Characters of a code as it is typed, with dashes and spaces.
MAX_TYPED_CODE = 64
IN_A_SESSION = {"email": ["is taken in a session only"]}
WRONG_CODE = errors.ValidationError(address_proofs.WRONG_CODE)
# Of a caller who has neither a session nor a ticket.
NOBODY = errors.AuthorizationRequired(), errors.InvalidToken(), errors.InvalidTicket()


class EmailCodeRequestSchema(Schema):
    """The body by which a code is mailed that proves the address of the account, or a new one."""

    email = Text(
        MAX_EMAIL_LENGTH,
        validate=check_email,
        metadata={
            "description": "The new address that the account is to have, if it is to be proved.",
            "format": "email",
        },
    )
    # Without an example: most callers have a session.
    ticket = ticket_field()


class EmailCodeSchema(Schema):
    """The body by which a user proves the address to which the code was mailed."""

    code = Text(MAX_TYPED_CODE, required=True, metadata={"examples": ["abcd-efgh-ijkl"]})
    ticket = ticket_field()


def _is_served(settings: Settings) -> bool:
    return any(settings[name] for name in ("SECOND_FACTOR", "PASSKEYS", "PERSONAL_TOKENS"))


@users.endpoint(
    "requestEmailCode",
    EXECUTE,
    "POST /email-code",
    body=EmailCodeRequestSchema,
    token_optional=True,
    errors=(*NOBODY, errors.ValidationError(IN_A_SESSION), THROTTLED),
    is_served=_is_served,
)
def request_code(body: Body) -> None:
    """Mail a code that proves an address; nothing, if it is that of the account and verified.

    The caller has a session, or the ticket of a login that adds a second factor.
    """
    user_id, in_session = _caller(body)
    if "email" in body and not in_session:
        raise errors.ValidationError(IN_A_SESSION)
    address_proofs.request_code(user_id, body.get("email"))


@users.endpoint(
    "confirmEmailCode",
    EXECUTE,
    "POST /email-code/confirm",
    body=EmailCodeSchema,
    token_optional=True,
    errors=(*NOBODY, WRONG_CODE),
    is_served=_is_served,
)
def confirm_code(body: Body) -> None:
    """Prove an address with the code that was mailed to it.

    That of the account is verified from then on; the account may get a new one for ten minutes.
    """
    user_id, _ = _caller(body)
    address_proofs.confirm_code(user_id, body["code"])


def _caller(body: Body) -> tuple[Id, bool]:
    """Return the user whose session it is, or who logs in with a ticket, and which of them."""
    identity = current_identity()
    has_cookie = identity.session is None and SECOND_STEP_COOKIE in request.cookies
    if "ticket" in body or has_cookie:
        return steps.find_enrolling(ticket_of(body)), False
    return identity.require_session().user_id, True
