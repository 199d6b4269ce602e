"""Endpoints of passkeys; without PASSKEYS they are declared but not served."""

from collections.abc import Sequence
from typing import Any

from flask import Response

from app import errors, ids
from app.access.rules import EVERYONE, EXECUTE, OWNER, READ, WRITE
from app.factors.schemas import ProofSchema
from app.factors.views import NOT_PROVED, THROTTLED, UNKNOWN_KIND, own_session
from app.rest.collection import Collection
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.models import User
from app.users.resource import principal_type_of, users
from app.users.schemas import AccessTokenSchema
from app.users.sessions.assurance import NOT_RECENT, require_recent
from app.users.views.sessions import respond_with_token

from . import service
from .models import Passkey
from .schemas import (
    CreationOptionsSchema,
    NewPasskeySchema,
    PasskeyLoginSchema,
    PasskeyNameSchema,
    PasskeySchema,
    RequestOptionsSchema,
)

TOO_MANY_PASSKEYS = errors.ValidationError(service.held.too_many)
UNKNOWN_CHALLENGE = errors.ValidationError(service.UNKNOWN_CHALLENGE)
MALFORMED = errors.ValidationError({"credential": ["is missing"]})
BLANK_NAME = errors.ValidationError({"name": [errors.BLANK]})
UNKNOWN_PASSKEY = errors.ModelNotFound("passkey", 1)


def _is_served(settings: Settings) -> bool:
    return bool(settings["PASSKEYS"])


@users.endpoint(
    "passkeyLoginOptions",
    EXECUTE,
    "POST /login/passkey/options",
    permits=EVERYONE,
    answer=RequestOptionsSchema,
    errors=(THROTTLED,),
    is_served=_is_served,
    summary="Return the options with which a browser logs in, or proves the user again",
    gets_collection=True,
)
def login_options(collection: Collection) -> dict[str, Any]:
    """Return the options with which a browser logs in, or proves the user again."""
    return service.begin_login()


@users.endpoint(
    "loginByPasskey",
    EXECUTE,
    "POST /login/passkey",
    permits=EVERYONE,
    body=PasskeyLoginSchema,
    answer=AccessTokenSchema,
    errors=(errors.LoginFailed(), errors.EmailNotVerified(1), MALFORMED, THROTTLED),
    is_served=_is_served,
    summary="Log in with a passkey; the session counts as one with several factors",
    gets_collection=True,
)
def log_in(body: Body, collection: Collection) -> Response:
    """Log in with a passkey; the session counts as one with several factors."""
    token = service.log_in(body["credential"], principal_type_of(collection))
    return respond_with_token(token, collection)


@users.endpoint(
    "passkeyOptions",
    EXECUTE,
    "POST /<id>/passkeys/options",
    permits=OWNER,
    answer=CreationOptionsSchema,
    errors=(NOT_RECENT, NOT_PROVED, TOO_MANY_PASSKEYS),
    is_served=_is_served,
    summary="Return the options with which a browser creates a passkey; requires a recent login",
    description="The account's address must be proved.",
)
def options(user: User) -> dict[str, Any]:
    """Return the options with which a browser creates a passkey; requires a recent login."""
    require_recent(own_session(user))
    return service.begin(user.id)


@users.endpoint(
    "__create__passkeys",
    WRITE,
    "POST /<id>/passkeys",
    permits=OWNER,
    body=NewPasskeySchema,
    answer=PasskeySchema,
    errors=(NOT_RECENT, NOT_PROVED, UNKNOWN_CHALLENGE, THROTTLED),
    is_served=_is_served,
    summary="Add a browser's new passkey",
)
def add(user: User, body: Body) -> Passkey:
    """Add a browser's new passkey."""
    session = own_session(user)
    require_recent(session)
    return service.add(session, body["credential"], body.get("name"))


@users.endpoint(
    "__get__passkeys",
    READ,
    "GET /<id>/passkeys",
    permits=OWNER,
    answer=[PasskeySchema],
    is_served=_is_served,
    summary="List a user's passkeys",
)
def list_(user: User) -> Sequence[Passkey]:
    """List a user's passkeys."""
    return service.held.find_all(user.id)


@users.endpoint(
    "__updateById__passkeys",
    WRITE,
    "PATCH /<id>/passkeys/<fk>",
    permits=OWNER,
    body=PasskeyNameSchema,
    answer=PasskeySchema,
    errors=(UNKNOWN_PASSKEY, BLANK_NAME),
    is_served=_is_served,
    summary="Rename one of a user's passkeys",
)
def rename(user: User, fk: str, body: Body) -> Passkey:
    """Rename one of a user's passkeys."""
    return service.rename(_find(user, fk), body["name"])


@users.endpoint(
    "__destroyById__passkeys",
    WRITE,
    "DELETE /<id>/passkeys/<fk>",
    permits=OWNER,
    body=ProofSchema,
    errors=(
        errors.SecondFactorFailed(),
        errors.LastCredential(),
        UNKNOWN_PASSKEY,
        UNKNOWN_KIND,
        NOT_RECENT,
        THROTTLED,
    ),
    is_served=_is_served,
    summary="Remove a passkey; requires a recent login, and a second factor if logins take one",
)
def remove(user: User, fk: str, body: Body) -> None:
    """Remove a passkey; requires a recent login, and a second factor if logins take one."""
    require_recent(own_session(user))
    service.remove(_find(user, fk), body)


def _find(user: User, fk: str) -> Passkey:
    return service.held.find(user.id, ids.INTEGER.parse(fk), fk)
