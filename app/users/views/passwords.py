"""The endpoints that change passwords."""

from app import errors
from app.access.identity import current_identity
from app.access.rules import EXECUTE
from app.rest.requests.bodies import Body
from app.users.accounts import passwords
from app.users.models import RESET_SCOPE
from app.users.resource import users
from app.users.schemas import ChangePasswordSchema, NewPasswordSchema, ResetRequestSchema

BAD_NEW_PASSWORD = errors.ValidationError({"newPassword": [errors.TOO_COMMON]})


@users.endpoint(
    "resetPassword",
    EXECUTE,
    "POST /reset",
    body=ResetRequestSchema,
    answer={"type": "object", "additionalProperties": False},
    errors=(
        errors.EmailRequired(),
        errors.InvalidEmail(),
        errors.InvalidRealm(),
        errors.TooManyRequests(60),
    ),
)
def request_password_reset(body: Body) -> dict[str, object]:
    """Request a password reset; the response is the same for unknown emails."""
    passwords.request_password_reset(**body)
    return {}


@users.endpoint(
    "setPassword",
    EXECUTE,
    "POST /reset-password",
    body=NewPasswordSchema,
    scope=RESET_SCOPE,
    errors=(BAD_NEW_PASSWORD, errors.TooManyRequests(60)),
    hashes=True,
)
def reset_password(body: Body) -> None:
    """Set a new password with a reset token."""
    digest = current_identity().require_scope(RESET_SCOPE).digest
    passwords.use_reset_token(digest, **body)


@users.endpoint(
    "changePassword",
    EXECUTE,
    "POST /change-password",
    body=ChangePasswordSchema,
    errors=(
        errors.AuthorizationRequired(),
        errors.InvalidPassword(),
        BAD_NEW_PASSWORD,
        errors.TooManyRequests(60),
    ),
    hashes=True,
)
def change_password(body: Body) -> None:
    """Change the password with the old one; ends the user's other sessions."""
    session = current_identity().require_session()
    passwords.change_password(session.user_id, keep=session.digest, **body)
