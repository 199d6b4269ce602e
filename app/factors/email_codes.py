"""Endpoints by which users prove their email address, which additions to the account require."""

from flask import request

from app import errors
from app.access.identity import current_identity
from app.access.rules import EVERYONE, EXECUTE
from app.fields.base import Schema, Text
from app.ids import Id
from app.rest.collection import Collection
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.accounts import address_proofs
from app.users.names import MAX_EMAIL_LENGTH
from app.users.resource import principal_type_of, session_of, users
from app.users.schemas import check_email
from app.users.sessions.cookies import SECOND_STEP_COOKIE

from . import steps
from .schemas import ticket_field
from .views import THROTTLED, ticket_of

#: Maximum characters of an entered code, with dashes and spaces.
MAX_TYPED_CODE = 64
IN_A_SESSION = {"email": ["is taken in a session only"]}
WRONG_CODE = errors.ValidationError(address_proofs.WRONG_CODE)
# The error of a caller with neither a session nor a ticket.
NOBODY = errors.AuthorizationRequired(), errors.InvalidToken(), errors.InvalidTicket()


class EmailCodeRequestSchema(Schema):
    """The body that requests a mailed code to prove the account's address, or a new one."""

    email = Text(
        MAX_EMAIL_LENGTH,
        validate=check_email,
        metadata={
            "description": "The new address that the account is to have, if it is to be proved.",
            "format": "email",
        },
    )
    # No example, because most callers have a session.
    ticket = ticket_field()


class EmailCodeSchema(Schema):
    """The body that proves an address with the mailed code."""

    code = Text(MAX_TYPED_CODE, required=True, metadata={"examples": ["abcd-efgh-ijkl"]})
    ticket = ticket_field()


def _is_served(settings: Settings) -> bool:
    return any(settings[name] for name in ("SECOND_FACTOR", "PASSKEYS", "PERSONAL_TOKENS"))


@users.endpoint(
    "requestEmailCode",
    EXECUTE,
    "POST /email-code",
    permits=EVERYONE,
    body=EmailCodeRequestSchema,
    token_optional=True,
    errors=(*NOBODY, errors.ValidationError(IN_A_SESSION), THROTTLED),
    is_served=_is_served,
    summary=(
        "Mail a code that proves an address; nothing if it is the account's and already verified"
    ),
    description="The caller has a session, or the ticket of a login that enrols a second factor.",
    gets_collection=True,
)
def request_code(body: Body, collection: Collection) -> None:
    """Mail a code that proves an address; nothing if it is the account's and already verified."""
    user_id, in_session = _caller(body, collection)
    if "email" in body and not in_session:
        raise errors.ValidationError(IN_A_SESSION)
    address_proofs.request_code(user_id, body.get("email"))


@users.endpoint(
    "confirmEmailCode",
    EXECUTE,
    "POST /email-code/confirm",
    permits=EVERYONE,
    body=EmailCodeSchema,
    token_optional=True,
    errors=(*NOBODY, WRONG_CODE),
    is_served=_is_served,
    summary="Prove an address with the mailed code",
    description=(
        "The account's own address becomes verified; for ten minutes, the account may "
        "change to a new one."
    ),
    gets_collection=True,
)
def confirm_code(body: Body, collection: Collection) -> None:
    """Prove an address with the mailed code."""
    user_id, _ = _caller(body, collection)
    address_proofs.confirm_code(user_id, body["code"])


def _caller(body: Body, collection: Collection) -> tuple[Id, bool]:
    """Return the user of the session or of the login's ticket, and which of them it is."""
    identity = current_identity()
    has_cookie = identity.session is None and SECOND_STEP_COOKIE in request.cookies
    if "ticket" in body or has_cookie:
        return steps.find_enrolling(ticket_of(body), principal_type_of(collection)), False
    return session_of(collection).user_id, True
