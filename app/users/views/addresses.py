"""The endpoints that verify and change addresses."""

from flask import Response, current_app, request

from app import errors
from app.access.identity import current_identity
from app.access.rules import EXECUTE, READ
from app.database.ids import app_id_form
from app.rest.requests.bodies import Body
from app.users.accounts import confirmation
from app.users.models import token_digest
from app.users.names import NOT_AN_EMAIL
from app.users.resource import users
from app.users.schemas import ChangeEmailSchema
from app.users.sessions.assurance import require_factor

BAD_NEW_EMAIL = errors.ValidationError({"newEmail": [NOT_AN_EMAIL]})
CONFIRMATION = (
    {"name": "uid", "in": "query", "required": True, "schema": {"type": "string"}},
    {"name": "token", "in": "query", "required": True, "schema": {"type": "string"}},
    {
        "name": "redirect",
        "in": "query",
        "description": "One of `REDIRECT_URLS`; without it the answer is 204.",
        "schema": {"type": "string"},
    },
)


@users.endpoint(
    "verify",
    EXECUTE,
    "POST /<id>/verify",
    finds_row=False,
    errors=(errors.TooManyRequests(60),),
    is_served=confirmation.serves_verification,
)
def verify(id: str) -> None:
    """Mail a user a link that confirms the address.

    The response is the same for unknown ids, and for users with a confirmed address.
    """
    confirmation.request_verification(app_id_form().parse(id))


@users.endpoint(
    "confirm",
    READ,
    "GET /confirm",
    parameters=CONFIRMATION,
    redirects=True,
    errors=(errors.InvalidConfirmation(), errors.InvalidRedirect()),
    is_served=confirmation.serves_verification,
)
def confirm() -> Response:
    """Confirm the address of a user with a mailed token."""
    target = request.args.get("redirect")
    if target and target not in current_app.config["REDIRECT_URLS"]:
        raise errors.InvalidRedirect()
    digest = token_digest(request.args.get("token", ""))
    confirmation.confirm_own_address(request.args.get("uid", ""), digest)
    return Response(status=302, headers={"Location": target}) if target else Response(status=204)


@users.endpoint(
    "changeEmail",
    EXECUTE,
    "POST /change-email",
    body=ChangeEmailSchema,
    errors=(
        errors.InvalidPassword(),
        errors.StrongerLoginRequired(["totp"]),
        errors.EmailProofRequired("renamed@example.com"),
        BAD_NEW_EMAIL,
        errors.TooManyRequests(60),
    ),
    hashes=True,
    is_served=confirmation.confirms_changes,
)
def change_email(body: Body) -> None:
    """Mail a link to a new address, which becomes the user's when confirmed.

    The old address is notified. The response is the same for an address that another user has. An
    address that was proved by a code is changed at once.
    """
    session = current_identity().require_session()
    require_factor(session)
    confirmation.request_email_change(session.user_id, **body, keep=session.digest)
