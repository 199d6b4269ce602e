"""Endpoints to log in and out, and of a user's sessions."""

from typing import cast

from flask import Response, jsonify, request
from marshmallow import fields

from app import errors
from app.access.identity import current_identity
from app.access.rules import EVERYONE, EXECUTE, OWNER, READ, WRITE
from app.errors import AccessTokenRequired, TooDeep
from app.rest.collection import Collection
from app.rest.requests.bodies import Body, parse_json
from app.rest.requests.parameters import is_given
from app.settings import is_compatible
from app.users import schemas
from app.users.models import User, token_digest
from app.users.resource import principal_type_of, users, users_collection
from app.users.sessions import assurance, tokens
from app.users.sessions import login as login_service
from app.users.sessions.cookies import clear_cookie, set_cookie
from app.users.user_models import has_several, user_models

INCLUDE = {
    "name": "include",
    "in": "query",
    "description": "`user` adds the user to the response.",
    "schema": {"type": "string", "enum": ["user"]},
}
EXAMPLE_TICKET = "0123456789abcdef" * 4
# The rules may let anybody call endpoints for the caller's own session.
NO_SESSION = (errors.AuthorizationRequired(),)
UNKNOWN_SESSION = errors.ModelNotFound("accessToken", "0123456789abcdef")


class LoginSchema(schemas.AccessTokenSchema):
    """A new access token with its user, who may have additional properties."""

    user = fields.Nested(lambda: users_collection().schema)


def login_schema(principal_type: str) -> type[LoginSchema]:
    """Return the schema of a new access token with its user, who is of a further model."""
    user = fields.Nested(lambda: users_collection(principal_type).schema)
    schema = LoginSchema.from_dict({"user": user}, name=f"{principal_type}LoginSchema")
    return cast("type[LoginSchema]", schema)


@users.endpoint(
    "login",
    EXECUTE,
    "POST /login",
    permits=EVERYONE,
    body=schemas.CredentialsSchema,
    answer=LoginSchema,
    parameters=(INCLUDE,),
    errors=(
        errors.LoginFailed(),
        errors.SecondFactorRequired(EXAMPLE_TICKET, ["totp", "recovery"]),
        errors.SecondFactorFailed(),
        errors.ValidationError(login_service.UNKNOWN_KIND),
        errors.EmailNotVerified(1),
        errors.UsernameOrEmailRequired(),
        errors.RealmRequired(),
        errors.InvalidEmail(),
        errors.InvalidUsername(),
        errors.InvalidRealm(),
        errors.InvalidTtl(),
        errors.TooManyRequests(60),
    ),
    hashes=True,
    summary="Log in: exchange credentials for an access token",
    gets_collection=True,
)
def login(body: Body, collection: Collection) -> Response:
    """Log in: exchange credentials for an access token."""
    principal_type = principal_type_of(collection)
    token = login_service.login(body, _requested_includes(), principal_type)
    return respond_with_token(token, collection)


def respond_with_token(token: tokens.IssuedToken, collection: Collection) -> Response:
    """Return the response of a login to users of a collection, with the cookie if there is one."""
    answer = schemas.AccessTokenSchema().dump(token)
    if has_several():
        answer["principalType"] = user_models.current[principal_type_of(collection)].name
    if token.user is not None:
        dumped = collection.schema.dump(token.user)
        answer["user"] = collection.show_included(token.user, dumped)
    response = jsonify(answer)
    set_cookie(response, token.id, token.ttl, token.remember_me)
    return response


@users.endpoint(
    "logout",
    EXECUTE,
    *(f"{verb} /logout" for verb in ("POST", "GET", "PUT", "PATCH", "DELETE")),
    permits=EVERYONE,
    body=schemas.LogoutSchema,
    token_optional=True,
    errors=(errors.AccessTokenRequired(), errors.InvalidToken()),
    summary="Log out: delete the presented access token, or the one sent as sid",
    gets_collection=True,
)
def logout(body: Body, collection: Collection) -> Response:
    """Log out: delete the presented access token, or the one sent as `sid`, of whichever model."""
    tokens.delete_session(_token_to_end(body))
    response = Response(status=204)
    clear_cookie(response)
    return response


@users.endpoint(
    "reauthenticate",
    EXECUTE,
    "POST /<id>/reauthenticate",
    permits=OWNER,
    body=schemas.ReauthenticationSchema,
    errors=(
        errors.InvalidPassword(),
        errors.SecondFactorFailed(),
        errors.ValidationError({"password": ["is missing"]}),
        errors.TooManyRequests(60),
    ),
    hashes=True,
    summary="Authenticate again in the caller's session, to change credentials afterwards",
)
def reauthenticate(user: User, body: Body) -> None:
    """Authenticate again in the caller's session, to change credentials afterwards."""
    session = current_identity().require_session()
    if user.id != session.user_id:
        raise errors.AccessDenied("This is about the caller's own session.")
    if password := body.get("password"):
        assurance.reauthenticate_by_password(session, password)
    else:
        assurance.reauthenticate_by_factor(session, body)


@users.endpoint(
    "__get__accessTokens",
    READ,
    "GET /<id>/accessTokens",
    permits=OWNER,
    answer=[schemas.LoopBackSessionSchema],
    errors=NO_SESSION,
    is_served=is_compatible,
    summary="List a user's sessions",
)
@users.endpoint(
    "__get__accessTokens",
    READ,
    "GET /<id>/accessTokens",
    permits=OWNER,
    answer=[schemas.SessionSchema],
    errors=NO_SESSION,
    is_served=lambda settings: not is_compatible(settings),
    summary="List a user's sessions",
)
def sessions(user: User) -> list[tokens.Session]:
    """List a user's sessions."""
    return tokens.list_sessions(user.id, current_identity().require_session().digest)


@users.endpoint(
    "__count__accessTokens",
    READ,
    "GET /<id>/accessTokens/count",
    permits=OWNER,
    answer="Count",
    errors=(errors.InvalidFilter("where cannot be used here."),),
    is_served=is_compatible,
    summary="Count a user's sessions",
)
def count_sessions(user: User) -> dict[str, int]:
    """Count a user's sessions."""
    if is_given("where"):
        raise errors.InvalidFilter("where cannot be used here.")
    return {"count": tokens.count_sessions(user.id)}


@users.endpoint(
    "__findById__accessTokens",
    READ,
    "GET /<id>/accessTokens/<handle>",
    permits=OWNER,
    answer=schemas.LoopBackSessionSchema,
    errors=(*NO_SESSION, UNKNOWN_SESSION),
    is_served=is_compatible,
    summary="Show one of a user's sessions by its handle",
)
def session(user: User, handle: str) -> tokens.Session:
    """Show one of a user's sessions by its handle."""
    return tokens.find_session(user.id, handle, current_identity().require_session().digest)


@users.endpoint(
    "__destroyById__accessTokens",
    WRITE,
    "DELETE /<id>/accessTokens/<handle>",
    permits=OWNER,
    errors=(UNKNOWN_SESSION,),
    summary="End one of a user's sessions",
)
def revoke(user: User, handle: str) -> None:
    """End one of a user's sessions."""
    tokens.revoke_session(user.id, handle)


@users.endpoint(
    "__delete__accessTokens",
    WRITE,
    "DELETE /<id>/accessTokens",
    permits=OWNER,
    summary="End all of a user's sessions; personal tokens are kept",
)
def revoke_all(user: User) -> None:
    """End all of a user's sessions; personal tokens are kept."""
    tokens.revoke_sessions(user.id)


def _requested_includes() -> list[object]:
    """Return the values of `?include=`, which may be repeated or a JSON list."""
    names: list[object] = []
    for value in request.args.getlist("include"):
        try:
            parsed = parse_json(value)
        except (ValueError, TooDeep):
            parsed = value
        names.extend(parsed if isinstance(parsed, list) else [parsed])
    return names


def _token_to_end(body: Body) -> str:
    """Return the digest of the body's `sid`, or else of the presented token."""
    sid = body.get("sid")
    if isinstance(sid, str) and sid:
        return token_digest(sid)
    identity = current_identity()
    if identity.session is None:
        raise identity.error or AccessTokenRequired()
    return identity.session.digest
