"""Endpoints for logins by mail; without EMAIL_LOGIN they are declared but not served."""

from flask import Response, jsonify
from marshmallow import EXCLUDE

from app import errors
from app.access.rules import EXECUTE
from app.fields.base import Schema, Text
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.models import TOKEN_LENGTH
from app.users.resource import permit_everyone, users
from app.users.schemas import AccessTokenSchema, ResetRequestSchema
from app.users.sessions.cookies import set_cookie

from . import service
from .pages import set_ticket_cookie

#: Maximum characters of an entered code, with spaces.
MAX_TYPED_CODE = 32

permit_everyone("requestLoginCode", "loginByCode")


class TicketSchema(Schema):
    """The ticket of a login by mail."""

    ticket = Text(TOKEN_LENGTH, required=True, metadata={"examples": ["0123456789abcdef" * 4]})


class MailedCodeSchema(TicketSchema):
    """The body of a login by mail: the ticket and the mailed code."""

    class Meta:
        """Ignore unknown keys, as logins do."""

        unknown = EXCLUDE

    code = Text(MAX_TYPED_CODE, required=True, metadata={"examples": ["01234567"]})


def _is_served(settings: Settings) -> bool:
    return bool(settings["EMAIL_LOGIN"])


@users.endpoint(
    "requestLoginCode",
    EXECUTE,
    "POST /login/mail",
    body=ResetRequestSchema,
    answer=TicketSchema,
    errors=(
        errors.EmailRequired(),
        errors.InvalidEmail(),
        errors.InvalidRealm(),
        errors.TooManyRequests(60),
    ),
    is_served=_is_served,
)
def request_code(body: Body) -> Response:
    """Mail a code to log in; the response is the same for unknown emails."""
    ticket = service.request_code(**body)
    response = jsonify(TicketSchema().dump({"ticket": ticket}))
    set_ticket_cookie(response, ticket)
    return response


@users.endpoint(
    "loginByCode",
    EXECUTE,
    "POST /login/mail/confirm",
    body=MailedCodeSchema,
    answer=AccessTokenSchema,
    errors=(errors.LoginFailed(), errors.TooManyRequests(60)),
    is_served=_is_served,
)
def log_in(body: Body) -> Response:
    """Log in with a mailed code; the email counts as verified from then on."""
    token = service.log_in(**body)
    response = jsonify(AccessTokenSchema().dump(token))
    set_cookie(response, token.id, token.ttl, token.remember_me)
    return response
