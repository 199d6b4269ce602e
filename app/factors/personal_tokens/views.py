"""Endpoints of personal tokens; without PERSONAL_TOKENS they are declared but not served."""

from collections.abc import Sequence

from app import errors
from app.access.identity import current_identity
from app.access.rules import OWNER, READ, WRITE
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.accounts import lookup, registration
from app.users.models import AccessToken, User
from app.users.resource import users
from app.users.schemas import ServiceAccountSchema, UserSchema
from app.users.sessions.assurance import NOT_RECENT, require_recent

from . import service
from .schemas import NewPersonalTokenSchema, PersonalTokenSchema

BAD_SCOPES = errors.ValidationError({"scopes": ['has no method "purge" of Todo']})
TAKEN = errors.ValidationError({"email": ["already exists"]})
UNKNOWN_TOKEN = errors.ModelNotFound("personalToken", "0123456789abcdef")


def _is_served(settings: Settings) -> bool:
    return bool(settings["PERSONAL_TOKENS"])


@users.endpoint(
    "__create__personalTokens",
    WRITE,
    "POST /<id>/personalTokens",
    permits=OWNER,
    body=NewPersonalTokenSchema,
    answer=NewPersonalTokenSchema,
    errors=(NOT_RECENT, errors.EmailProofRequired(), BAD_SCOPES, errors.TooManyRequests(60)),
    is_served=_is_served,
    summary="Create a personal token; requires a recent login. Only this response has its value",
    description="The account's address must be proved, unless it is a service account.",
)
def create(user: User, body: Body) -> service.NewPersonalToken:
    """Create a personal token; requires a recent login. Only this response has its value."""
    session, account = current_identity().require_session(), lookup.get_user(user.id)
    # The rules permit only admins to use somebody else's id here.
    if account.id != session.user_id and not account.service_account:
        raise errors.AccessDenied("Only the user makes personal tokens of the account.")
    require_recent(session)
    end = service.end_of_life(body.get("ttl"), body.get("expires_at"))
    return service.create_token(account, session, body["name"], body["scopes"], end)


@users.endpoint(
    "createServiceAccount",
    WRITE,
    "POST /serviceAccounts",
    body=ServiceAccountSchema,
    answer=UserSchema,
    errors=(TAKEN,),
    is_served=_is_served,
    summary="Create a service account, which cannot log in; admins create its personal tokens",
)
def create_service_account(body: Body) -> User:
    """Create a service account, which cannot log in; admins create its personal tokens."""
    return registration.create_service_account(**body)


@users.endpoint(
    "findServiceAccounts",
    READ,
    "GET /serviceAccounts",
    answer=[UserSchema],
    is_served=_is_served,
    summary="List the service accounts, oldest first",
)
def service_accounts() -> Sequence[User]:
    """List the service accounts, oldest first."""
    return lookup.list_service_accounts()


@users.endpoint(
    "__get__personalTokens",
    READ,
    "GET /<id>/personalTokens",
    permits=OWNER,
    answer=[PersonalTokenSchema],
    is_served=_is_served,
    summary="List a user's personal tokens, newest first",
)
def list_(user: User) -> Sequence[AccessToken]:
    """List a user's personal tokens, newest first."""
    return service.list_tokens(user.id)


@users.endpoint(
    "__findById__personalTokens",
    READ,
    "GET /<id>/personalTokens/<handle>",
    permits=OWNER,
    answer=PersonalTokenSchema,
    errors=(UNKNOWN_TOKEN,),
    is_served=_is_served,
    summary="Show one of a user's personal tokens by its handle",
)
def find(user: User, handle: str) -> AccessToken:
    """Show one of a user's personal tokens by its handle."""
    return service.find_token(user.id, handle)


@users.endpoint(
    "__destroyById__personalTokens",
    WRITE,
    "DELETE /<id>/personalTokens/<handle>",
    permits=OWNER,
    errors=(UNKNOWN_TOKEN,),
    is_served=_is_served,
    summary="Revoke one of a user's personal tokens",
)
def revoke(user: User, handle: str) -> None:
    """Revoke one of a user's personal tokens."""
    service.revoke_token(user.id, handle)
